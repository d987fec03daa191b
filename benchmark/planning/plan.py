"""Which cells a request names, what state each is in, and what it will cost.

done         the record is there and its key is current
stale        the record is there, but settings, data or versions have changed since
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
from benchmark.planning.estimate import NOTHING, Estimate, estimate
from benchmark.planning.registry import PluginError, near
from benchmark.planning.request import Request
from benchmark.planning.resolve import NoProfile, Resolved, Resolver, about
from benchmark.records.cell import PROFILES, Cell
from benchmark.records.digest import digest
from benchmark.records.files import read_record
from benchmark.records.record import About, RecordError

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
    about: About | None = None  # what the method declares of itself; None where it cannot be loaded

    @property
    def key(self) -> str:
        return digest(self.settings)


def plan(request: Request) -> list[PlannedCell]:
    """Every cell of the request, once. Names, overrides and plugins are checked before anything else."""
    resolver = Resolver.of(request)
    cells = cells_of(request, resolver)
    if "all" not in request.methods:
        for name in resolver.names("methods"):
            resolver.method(name)
    resolver.check_changes()
    counted = _Counted()
    return [_plan_cell(cell, request, resolver, counted) for cell in cells]


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


def _plan_cell(cell: Cell, request: Request, resolver: Resolver, counted: _Counted) -> PlannedCell:
    try:
        resolved = resolver.resolve(cell)
    except NoProfile as error:
        return PlannedCell(cell, "unsupported", "write", str(error), about=about(resolver.method(cell.method)))
    except PluginError as error:  # asked through `all`: one broken method takes nothing else down
        return PlannedCell(cell, "failed", "refuse", str(error))
    known: dict[str, Any] = {"settings": resolved.identity, "about": resolved.about}
    if resolved.unsupported:
        return PlannedCell(cell, "unsupported", "write", resolved.unsupported, **known)
    try:
        state, reason = state_of(resolved, request.results)
    except RecordError as error:
        state, reason = "failed", str(error)
        if not request.overwrite:
            return PlannedCell(cell, state, "refuse", reason)
    fit = "" if resolved.method.scope == "instance" else str(resolved.fit_folder(request.runs))
    if state == "done" and not request.overwrite:
        return PlannedCell(cell, state, "skip", fit=fit, **known)
    missing: list[Split] = [split for split in resolved.splits if resolver.stored(cell.dataset)[split] == "missing"]
    to_generate: list[Split] = [split for split in missing if (cell.dataset, split) not in counted.data]
    cost = estimate(resolved, request, to_generate, fit_counted=fit in counted.fits)
    counted.data |= {(cell.dataset, split) for split in missing}
    counted.fits.add(fit)
    return PlannedCell(cell, state, "run", reason, cost, fit, **known)


def state_of(resolved: Resolved, results: Path) -> tuple[str, str]:
    """The state of a cell's record against what would be run now, and the reason."""
    path = resolved.cell.path(results)
    if not path.exists():
        return "missing", ""
    record = read_record(path)
    if record.key != resolved.key:
        return "stale", "; ".join(changes(record.settings or None, resolved.identity)) or "made another way"
    return record.state, record.reason


def changes(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """Where two nested dicts differ: 'method.width: 32 -> 64'."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            yield from changes(old.get(name), new.get(name), f"{where}.{name}" if where else name)
    elif old != new:
        yield f"{where}: {old} -> {new}" if where else "recorded without its settings"
