"""Variants: cells that depart from the profile's own settings or evaluation, stored under a name of their own.

    run --method fno --set width=64                 fno@width=64-s0.json, shown as fno @ width=64
    run --method fno --set width=64 --name wide     fno@wide-s0.json, shown as fno @ wide
    curve --method fno --budgets 1,5                fno-s0.json and fno@budget_5-s0.json

Whether a cell departs is decided by what its numbers follow from: an override that repeats the profile's value, or that
does not concern the method, changes nothing. One name stands for one set of changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import UserError
from benchmark.records.cell import Cell, digest
from benchmark.records.files import read_record
from benchmark.records.record import Record, RecordError

if TYPE_CHECKING:
    from benchmark.planning.plan import PlannedCell
    from benchmark.planning.request import Request

LONGEST = 60  # of a name made from changes
OPTIONS = {"samples": "--samples", "trajectories": "--limit", "mask_seed": "--mask-seed"}  # by part of the evaluation


def differences(old: Any, new: Any, where: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Where two nested dicts differ: path, old and new value."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys([*old, *new]):
            yield from differences(old.get(name), new.get(name), (*where, name))
    elif old != new:
        yield where, old, new


def departure(plain: Mapping[str, Any], own: Mapping[str, Any], limit: int | None) -> dict[str, Any]:
    """What a cell changes of the plain one, as `run` takes it: {"architecture.width": 64, "--limit": 4}.

    How many trajectories are scored may also follow from another setting, and is named only if a limit was given.
    """
    found = {path: value for path, _, value in differences(plain, own)}
    named = {name: value for path, value in found.items() if (name := _as_typed(path, limit))}
    return named or {".".join(path): value for path, value in found.items()}


def _as_typed(path: tuple[str, ...], limit: int | None) -> str:
    """The key of `--set`, or the option; nothing for what follows from another change."""
    part, *rest = path
    if part == "evaluation":
        return "" if rest == ["trajectories"] and limit is None else OPTIONS[rest[0]]
    if part in ("dataset", "task"):
        return ".".join(path)
    return ".".join(rest) if part == "method" else ""


def name_of(changes: Mapping[str, Any], unscaled: Mapping[str, Any], request: Request) -> str:
    """Of a variant: `wide`, `architecture.width=64`, and at five times the budget `budget_5`, `wide+budget_5`.

    `unscaled`: the changes that would be left at the budget that the settings have.
    """
    own = [request.name or variant_name(unscaled)] if unscaled else []
    return "+".join([*own, *([budget_name(request.budget)] if changes != unscaled else [])])


def budget_name(budget: float) -> str:
    return f"budget_{budget:g}"


def variant_name(changes: Mapping[str, Any]) -> str:
    """Short and safe in a file name; where that loses something, a digest tells it apart."""
    text = "+".join(f"{key.lstrip('-').replace('-', '_')}={_value(value)}" for key, value in changes.items())
    safe = re.sub(r"[^A-Za-z0-9_.=+-]+", "-", text)
    return safe if safe == text and len(text) <= LONGEST else f"{safe[:LONGEST].rstrip('-')}-{digest(changes)[:8]}"


def _value(value: Any) -> str:
    """64, 0.1, null, gelu, 8x8."""
    if isinstance(value, list):
        return "x".join(map(_value, value))
    return value if isinstance(value, str) else json.dumps(value)


def as_options(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a Request that make these changes."""
    fields = {option: option.lstrip("-").replace("-", "_") for option in OPTIONS.values()}
    options = {fields[key]: value for key, value in changes.items() if key in fields}
    overrides = tuple(f"{key}={json.dumps(value)}" for key, value in changes.items() if key not in fields)
    return {**options, "overrides": overrides}


def check_names(request: Request, planned: Iterable[PlannedCell]) -> None:
    """One name, one set of changes: refuse what would mix two under a name, and a name that names nothing."""
    variants = {p.cell.path(request.results): p for p in planned if p.cell.variant}
    if request.name and not variants:
        raise UserError(f"--name {request.name}: nothing departs from the profile's own settings; leave --name out")
    names = {(p.cell.method, p.cell.variant) for p in variants.values()}
    stored = {name: list(_under_the_name(*name, request)) for name in names}
    for path, p in variants.items():
        for stored_path, record in stored[p.cell.method, p.cell.variant]:
            same_cell = stored_path == path
            if request.overwrite and stored_path in variants:
                continue
            if _learns(record.changes) != _learns(p.changes) or (same_cell and record.changes != p.changes):
                raise UserError(_refusal(p, record, same_cell))


def _under_the_name(method: str, variant: str, request: Request) -> Iterator[tuple[Path, Record]]:
    for path in sorted(request.results.glob(f"{request.profile}/*/*/{method}@{variant}-s*.json")):
        cell = Cell.from_path(path)
        if cell is None or (cell.method, cell.variant) != (method, variant):
            continue  # `wide-small` under `wide`
        try:
            yield path, read_record(path)
        except (OSError, RecordError):
            continue  # the plan, or the leaderboard, says so


def _learns(changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of the method: the same on every task and dataset."""
    return {key: value for key, value in changes.items() if not key.startswith(("--", "task.", "dataset."))}


def _refusal(planned: PlannedCell, record: Record, same_cell: bool) -> str:
    remedy = (
        "replace it with --overwrite" if same_cell else f"remove it (records remove --variant {record.cell.variant})"
    )
    return (
        f"variant {record.cell.label!r} is taken: the record of {record.cell} has {spell(record.changes)}, this run "
        f"{spell(planned.changes)}; choose another --name, or {remedy}"
    )


def spell(changes: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={_value(value)}" for key, value in changes.items()) or "no changes"
