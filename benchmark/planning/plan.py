"""Which cells a request names, what state each is in, and what it will cost.

done         the record is there and its key is current
stale        the record is there, but what its key is made of (`resolve.py`) has changed since: settings, evaluation,
             data, versions, the source of a plugin
failed, timeout, oom    as recorded; they are run again
unsupported  the pair makes no sense, with the reason
missing      no record
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Literal

from benchmark.core import Split
from benchmark.errors import UserError
from benchmark.planning.estimate import NOTHING, NOTHING_SPENT, Estimate, Means, estimate
from benchmark.planning.registry import PluginError, near
from benchmark.planning.request import Request
from benchmark.planning.resolve import NoProfile, Resolved, Resolver, about
from benchmark.planning.variants import check_names, differences
from benchmark.records.cell import PROFILES, Cell, digest
from benchmark.records.files import read_record
from benchmark.records.record import About, Record, RecordError

Action = Literal["run", "skip", "write", "refuse"]


@dataclass(frozen=True)
class PlannedCell:
    """`action`: run it; skip it (done); write the record without running (unsupported); refuse (reason)."""

    cell: Cell
    state: str
    action: Action
    reason: str = ""
    estimate: Estimate = NOTHING
    fit: str = ""  # cells with the same one share a fit
    settings: dict[str, Any] = field(default_factory=dict, repr=False)  # all that can move the numbers
    changes: dict[str, Any] = field(default_factory=dict)  # of a variant
    about: About | None = None  # what the method declares of itself; None where it cannot be loaded
    stored: Record | None = field(default=None, repr=False)  # the record that is there, stale or not

    @property
    def key(self) -> str:
        return digest(self.settings)


def plan(request: Request, is_part: bool = False, means: Means = NOTHING_SPENT) -> list[PlannedCell]:
    """Every cell of the request, once. Names, overrides and plugins are checked before anything else.

    `is_part`: of a larger request whose overrides and names have been checked; `means`: see `estimate`.
    """
    resolver = Resolver.of(request)
    cells = cells_of(request, resolver)
    if "all" not in request.methods:
        for name in resolver.names("methods"):
            resolver.method(name)
    if not is_part:
        resolver.check_changes()
    counted = _Counted()
    planned = [_plan_cell(cell, request, resolver, counted, means) for cell in cells]
    if not is_part:
        check_names(request, planned)
    return planned


@dataclass
class _Counted:
    """Work that several cells share and the first of them does."""

    fits: set[str] = field(default_factory=set)
    data: set[tuple[str, str]] = field(default_factory=set)  # (dataset, split)


def cells_of(request: Request, resolver: Resolver) -> list[Cell]:
    """Cells that share a fit come one after another."""
    if request.profile not in PROFILES and not _known_profile(request, resolver):
        raise UserError(f"unknown profile {request.profile!r}{near(request.profile, PROFILES)}")
    names = product(
        resolver.names("datasets"), resolver.names("methods"), dict.fromkeys(request.seeds), resolver.names("tasks")
    )
    return [Cell(method, task, dataset, request.profile, seed) for dataset, method, seed, task in names]


def _known_profile(request: Request, resolver: Resolver) -> bool:
    """A plugin may bring profiles of its own, with datasets that have them."""
    return any(request.profile in resolver.registry.load("datasets", d).profiles for d in resolver.names("datasets"))


def _plan_cell(cell: Cell, request: Request, resolver: Resolver, counted: _Counted, means: Means) -> PlannedCell:
    try:
        resolved = resolver.resolve(cell)
    except NoProfile as error:
        known = {"settings": resolver.sources(cell), "about": about(resolver.method(cell.method))}
        return PlannedCell(cell, "unsupported", "write", str(error), **known)
    except PluginError as error:  # asked through `all`: one broken method takes nothing else down
        return PlannedCell(cell, "failed", "refuse", str(error))
    cell = resolved.cell
    known: dict[str, Any] = {"settings": resolved.identity, "changes": resolved.changes, "about": resolved.about}
    if resolved.unsupported:
        return PlannedCell(cell, "unsupported", "write", resolved.unsupported, **known)
    try:
        known["stored"] = stored = _stored(cell, request.results)
        state, reason = state_of(resolved, stored)
    except RecordError as error:
        state, reason = "failed", str(error)
        if not request.overwrite:
            return PlannedCell(cell, state, "refuse", reason)
    fit = "" if resolved.method.scope == "instance" else str(resolved.fit_folder(request.runs))
    if state == "done" and not request.overwrite:
        return PlannedCell(cell, state, "skip", fit=fit, **known)
    missing: list[Split] = [split for split in resolved.splits if resolver.stored(cell.dataset)[split] == "missing"]
    to_generate: list[Split] = [split for split in missing if (cell.dataset, split) not in counted.data]
    cost = estimate(resolved, request, to_generate, fit in counted.fits, means)
    counted.data |= {(cell.dataset, split) for split in missing}
    counted.fits.add(fit)
    return PlannedCell(cell, state, "run", reason, cost, fit, **known)


def _stored(cell: Cell, results: Path) -> Record | None:
    path = cell.path(results)
    return read_record(path) if path.exists() else None


def state_of(resolved: Resolved, record: Record | None) -> tuple[str, str]:
    """The state of a cell's record against what would be run now, and the reason."""
    if record is None:
        return "missing", ""
    if record.key != resolved.key:
        return "stale", "; ".join(changes(record.settings or None, resolved.identity)) or "made another way"
    return record.state, record.reason


def changes(old: Any, new: Any) -> Iterator[str]:
    """Where two nested dicts differ: 'method.width: 32 -> 64'."""
    for where, before, after in differences(old, new):
        yield f"{'.'.join(where)}: {before} -> {after}" if where else "recorded without its settings"
