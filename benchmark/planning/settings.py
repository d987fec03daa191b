"""Settings are frozen dataclasses; a profile names one, `--set key=value` and `--config file.yaml` change fields of it.

Overrides are a flat dict of dotted keys, `{"optimiser.lr": 0.001}`. A key that is no field is refused with the nearest
name, a value that does not fit the field's type with what was expected.

Values are matched by hand: pydantic takes `true` for an integer where it is lax, and refuses `1e-3`, which YAML reads
as text, where it is strict.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import reduce
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from benchmark.errors import UserError
from benchmark.planning.plain_yaml import load_yaml
from benchmark.planning.registry import near
from benchmark.records.cell import field_names, is_settings

T = TypeVar("T")


class SettingsError(UserError):
    """An override that cannot be applied; the message says what was expected."""


def parse_overrides(items: Iterable[str]) -> dict[str, Any]:
    """`["width=32", "dataset.alpha=3"]` as dotted keys; values are read as YAML. The last of equal keys wins."""
    result: dict[str, Any] = {}
    for item in items:
        key, equals, text = item.partition("=")
        if not equals or not key.strip():
            raise SettingsError(f"override {item!r}: expected key=value, e.g. width=32")
        try:
            result[key.strip()] = load_yaml(text)
        except yaml.YAMLError as error:
            raise SettingsError(f"override {item!r}: the value is not YAML ({_first_line(error)})") from error
    return result


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file that holds one mapping."""
    try:
        content = load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror})") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not YAML ({_first_line(error)})") from error
    if content is not None and not isinstance(content, dict):
        raise SettingsError(f"{path}: expected a mapping of key: value, got {type(content).__name__}")
    return content or {}


def read_config(path: Path) -> dict[str, Any]:
    """The overrides of a YAML file; nested mappings become dotted keys."""
    return dict(_flatten(read_yaml(path)))


def resolve(settings: T, overrides: Mapping[str, Any], owner: str = "settings") -> T:
    """`settings` with the overrides applied, all at once: settings that check each other see the final values.

    `owner` is named in messages.
    """
    if not overrides:  # a method without settings has nothing to replace
        return settings
    return _apply(settings, {tuple(key.split(".")): value for key, value in overrides.items()}, owner)


def has(settings: Any, key: str) -> bool:
    """Whether a dotted key names a field."""
    for name in key.split("."):
        if not is_settings(settings) or name not in field_names(settings):
            return False
        settings = getattr(settings, name)
    return True


def scaled(settings: T, names: Iterable[str], factor: float, owner: str = "settings") -> T:
    """The numbers named times a factor; whole ones stay whole, and are refused where nothing would be left of them."""
    if factor == 1:
        return settings
    values: dict[str, Any] = {name: reduce(getattr, name.split("."), settings) for name in names}
    changes = {name: round(factor * v) if isinstance(v, int) else factor * v for name, v in values.items()}
    for name, value in values.items():
        if value and not changes[name]:
            raise SettingsError(f"{owner}: {name}: {factor:g} times {value} is less than 1")
    return resolve(settings, changes, owner)


def covers(names: Iterable[str], key: str) -> bool:
    """Whether a dotted key is one of the names or under one."""
    return any(key == name or key.startswith(f"{name}.") for name in names)


def keys(settings: Any, prefix: str = "") -> list[str]:
    """Every dotted key that can be set."""
    result = []
    for name in field_names(settings) if is_settings(settings) else []:
        value = getattr(settings, name)
        result += keys(value, f"{prefix}{name}.") if is_settings(value) else [prefix + name]
    return result


def near_key(key: str, known: Iterable[str]) -> str:
    """' (did you mean architecture.width?)' for `width`, or for `widht`: a setting is known by its last name too."""
    known, leaf = sorted(known), key.rpartition(".")[2]
    below = [name for name in known if name.endswith(f".{key}")]
    if not below and not get_close_matches(key, known, n=1, cutoff=0.7):
        leaves = {name.rpartition(".")[2] for name in known}
        alike = get_close_matches(leaf, leaves, n=2, cutoff=0.7)
        below = [name for name in known if name.rpartition(".")[2] in alike]
    return f" (did you mean {', '.join(below[:3])}?)" if below else near(key, known)


def without(values: Any, names: Iterable[str]) -> Any:
    """Plain settings less the dotted keys named, each with all that is under it."""
    names = set(names)
    if not isinstance(values, Mapping) or not names:
        return values
    return {
        key: without(value, {name[len(key) + 1 :] for name in names if name.startswith(f"{key}.")})
        for key, value in values.items()
        if key not in names
    }


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0]


def _flatten(values: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _apply(settings: Any, changes: Mapping[tuple[str, ...], Any], owner: str, prefix: str = "") -> Any:
    """The changes, by their path below `settings`; one new value of each dataclass."""
    parts: dict[str, dict[tuple[str, ...], Any]] = {}
    for path, value in changes.items():
        parts.setdefault(path[0], {})[path[1:]] = value
    values = {name: _part(settings, name, part, owner, prefix) for name, part in parts.items()}
    try:
        return replace(settings, **values)
    except ValueError as error:  # the settings' own check
        changed = ", ".join(prefix + ".".join(path) for path in changes)
        raise SettingsError(f"{owner}: {changed}: {error}") from error


def _part(settings: Any, name: str, changes: dict[tuple[str, ...], Any], owner: str, prefix: str) -> Any:
    """The new value of one field: given whole, or with changes below it."""
    where = f"{owner}: {prefix}{'.'.join((name, *next(iter(changes))))}"
    known = field_names(settings) if is_settings(settings) else []
    if name not in known:
        hint = near(name, known) if known else " (there are none)"
        raise SettingsError(f"{where}: unknown setting {name!r}{hint}")
    value, below = getattr(settings, name), {path: change for path, change in changes.items() if path}
    if () in changes:
        value = _fit(changes[()], get_type_hints(type(settings))[name], where)
    return _apply(value, below, owner, f"{prefix}{name}.") if below else value


def _fit(value: Any, hint: Any, where: str) -> Any:
    """The value as the type `hint`, or an error."""
    matched, result = _match(value, hint)
    if not matched:
        raise SettingsError(f"{where}: expected {_spell(hint)}, got {value!r}")
    return result


def _match(value: Any, hint: Any) -> tuple[bool, Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True, value
    if origin in (Union, types.UnionType):
        return next((match for match in (_match(value, arm) for arm in arguments) if match[0]), (False, value))
    if origin is Literal:
        return any(value == a and type(value) is type(a) for a in arguments), value
    if origin in (tuple, list):
        return _match_sequence(value, origin, arguments)
    return _match_scalar(value, hint)


def _match_sequence(value: Any, origin: type, arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    if not isinstance(value, (list, tuple)):
        return False, value
    variable = origin is list or (len(arguments) == 2 and arguments[1] is Ellipsis)
    hints = (arguments[0],) * len(value) if variable else arguments
    if len(hints) != len(value):
        return False, value
    matches = [_match(v, h) for v, h in zip(value, hints, strict=True)]
    return all(m for m, _ in matches), origin(v for _, v in matches)


def _match_scalar(value: Any, hint: Any) -> tuple[bool, Any]:
    if hint is None or hint is type(None):
        return value is None, value
    if hint is float:
        return _match_float(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool), value
    if hint is Path:
        return isinstance(value, str), Path(str(value))
    return isinstance(hint, type) and isinstance(value, hint), value


def _match_float(value: Any) -> tuple[bool, Any]:
    """YAML reads 1e-3 as text, so text that is a number counts as one."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return False, value
    try:
        return True, float(value)
    except (ValueError, OverflowError):
        return False, value


def _spell(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
