"""One registry for methods, tasks and datasets: tables of `name -> "module:attribute"`, imported on first use.

Names come from three places: the tables in `methods`, `tasks` and `datasets`; entry points of installed packages
(groups `benchmark.methods`, `benchmark.tasks`, `benchmark.datasets`); and files given with `--plugin`. A name is
registered once; a plugin that cannot be loaded is reported in `broken` and takes nothing else down. The suite's own
names are known by their version, all others by their source as well (`source`).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmark.errors import UserError
from benchmark.planning.sources import file_source, module_source
from benchmark.records.cell import NAME

KINDS = ("methods", "tasks", "datasets")
SUITE = "the suite"  # the origin of built-in names


class UnknownName(UserError):
    """A name that is not registered; the message has the nearest ones."""


class PluginError(UserError):
    """A plugin that cannot be loaded or clashes with a registered name."""


def near(name: str, known: Iterable[str]) -> str:
    """' (did you mean a, b?)' or, with nothing near, the whole list."""
    import difflib

    known = sorted(known)
    matches = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f" (did you mean {', '.join(matches)}?)" if matches else f" (known: {', '.join(known)})"


class Registry:
    """`tables[kind][name]` is a "module:attribute" string or the object itself; `origin` says where it came from."""

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        self.origin: dict[tuple[str, str], str] = {}
        self.files: dict[str, str] = {}  # origin of a plugin file -> its sha256 when it was read
        self.broken: dict[str, str] = {}  # plugin -> what went wrong

    def add(self, kind: str, name: str, target: Any, origin: str) -> None:
        if not NAME.fullmatch(str(name)):  # it becomes a part of file names
            raise PluginError(
                f"{kind[:-1]} {name!r} of {origin}: expected a name of letters, digits, '_', '.', '+' and '-'"
            )
        if name in self.tables[kind]:
            taken = self.origin[kind, name]
            raise PluginError(f"{kind[:-1]} {name!r} of {origin} is registered already by {taken}; choose another name")
        self.tables[kind][name] = target
        self.origin[kind, name] = origin

    def names(self, kind: str) -> list[str]:
        return list(self.tables[kind])

    def check(self, kind: str, name: str) -> str:
        if name not in self.tables[kind]:
            own = "" if self.files else f"; a {kind[:-1]} in a file of your own needs --plugin FILE"
            raise UnknownName(f"unknown {kind[:-1]} {name!r}{near(name, self.tables[kind])}{own}")
        return name

    def source(self, kind: str, name: str) -> str | None:
        """sha256 of the source of a name that is not the suite's own; None for the suite's own."""
        origin, target = self.origin[kind, name], self.tables[kind][name]
        if origin == SUITE:
            return None
        if origin in self.files:
            return self.files[origin]
        return module_source(target.partition(":")[0] if isinstance(target, str) else target.__module__)

    def load(self, kind: str, name: str) -> Any:
        target = self._import(kind, name)
        is_foreign = kind == "datasets" and self.origin[kind, name] != SUITE and isinstance(target, type)
        if is_foreign and target.__module__.partition(".")[0] != "datasets":
            target.code = self.source(kind, name)
        return target

    def _import(self, kind: str, name: str) -> Any:
        target = self.tables[kind][self.check(kind, name)]
        if not isinstance(target, str):
            return target
        module, _, attribute = target.partition(":")
        try:
            return getattr(importlib.import_module(module), attribute)
        except Exception as error:  # whatever a stranger's module raises; the suite's own keep their traceback
            if self.origin[kind, name] == SUITE and not isinstance(error, (ImportError, AttributeError)):
                raise
            origin, reason = self.origin[kind, name], f"{type(error).__name__}: {error}"
            raise PluginError(f"{kind[:-1]} {name!r} ({target}, from {origin}): {reason}") from error

    def add_entry_points(self) -> None:
        if not _any_entry_points():
            return
        from importlib.metadata import entry_points

        for kind in KINDS:
            for point in entry_points(group=f"benchmark.{kind}"):
                origin = f"package {point.dist.name}" if point.dist else "an entry point"
                try:
                    self.add(kind, point.name, point.value, origin)
                except PluginError as error:
                    self.broken[f"{origin}:{point.name}"] = str(error)

    def add_file(self, path: Path) -> list[tuple[str, str]]:
        """Register what a plugin file lists in METHODS, TASKS and DATASETS (dicts of name -> class)."""
        if not path.is_file():
            raise PluginError(f"plugin {path}: no such file")
        origin = f"plugin {path}"
        self.files[origin] = file_source(path)
        module = _import_file(path)
        found = [(kind, name, target) for kind in KINDS for name, target in _table(module, kind, path).items()]
        if not found:
            raise PluginError(f"plugin {path}: expected a dict METHODS, TASKS or DATASETS of name -> class, found none")
        for kind, name, target in found:
            self.add(kind, name, target, origin)
        return [(kind, name) for kind, name, _ in found]


def suite_files() -> list[Path]:
    """The suites that come with the package."""
    return sorted((Path(__file__).parent.parent / "suites").glob("*.yaml"))


def _any_entry_points() -> bool:
    """Whether an installed package registers anything: `importlib.metadata` would take longer than `list` may."""
    groups = tuple(f"[benchmark.{kind}]".encode() for kind in KINDS)
    for folder in map(Path, sys.path):
        for path in folder.glob("*.*-info/entry_points.txt") if folder.is_dir() else ():
            content = path.read_bytes()
            if any(group in content for group in groups):
                return True
    return False


def _table(module: Any, kind: str, path: Path) -> Mapping[str, Any]:
    table = getattr(module, kind.upper(), {})
    if not isinstance(table, Mapping):
        raise PluginError(f"plugin {path}: {kind.upper()} must be a dict of name -> class, got {type(table).__name__}")
    return table


def _import_file(path: Path) -> Any:
    name = f"benchmark_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError(f"plugin {path}: expected a Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:  # from its text: cached bytecode may be older than what the key says
        exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:  # whatever a stranger's file raises
        raise PluginError(f"plugin {path}: {type(error).__name__}: {error}") from error
    return module


def registry(plugins: Iterable[Path] = ()) -> Registry:
    """The built-in names, those of installed packages, and those of the given plugin files."""
    import datasets
    import methods
    import tasks

    result = Registry()
    for kind, table in (("methods", methods.METHODS), ("tasks", tasks.TASKS), ("datasets", datasets.DATASETS)):
        for name, target in table.items():
            result.add(kind, name, target, SUITE)
    result.add_entry_points()
    for path in plugins:
        result.add_file(Path(path))
    return result
