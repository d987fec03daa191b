"""What figures are made of: predictions and records of the methods asked for, or the command that makes them.

A method is named as tables name it: `fno`, or `fno @ wide` (also `fno@wide`) for a variant. `all` stands for every
method of the suite that has what the figure needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmark.errors import UserError
from benchmark.leaderboard.collect import read_records
from benchmark.leaderboard.names import known, ordered
from benchmark.leaderboard.selection import is_own
from benchmark.planning.registry import near
from benchmark.records.cell import PROFILES, Cell
from benchmark.records.command import run_command
from benchmark.records.files import read_record
from benchmark.records.folders import kept_in
from benchmark.records.predictions import Predictions, find_predictions, predictions_path, read_predictions
from benchmark.records.record import Record

BUDGETED = re.compile(r"(?:(.+)\+)?budget_([0-9.e+-]+)")  # that `curve` makes: `budget_5`, `wide+budget_5`
UNKNOWN = "--set", "KEY=VALUE"  # of a variant whose settings no record tells
KEPT = 4  # trajectories, unless `run --save-predictions` says otherwise


@dataclass(frozen=True)
class Place:
    """One task of one dataset at one profile, and the folders that hold what is known of it."""

    task: str
    dataset: str
    profile: str = "laptop"
    results: Path = Path("results")
    runs: Path = Path("runs")

    @property
    def kept(self) -> Path:
        """Where the predictions of its records lie."""
        return kept_in(self.runs, self.results)

    def cell(self, label: str, seed: int = 0) -> Cell:
        method, _, variant = (part.strip() for part in label.partition("@"))
        return Cell(method, self.task, self.dataset, self.profile, seed, variant)

    def record(self, cell: Cell) -> Record | None:
        path = cell.path(self.results)
        return read_record(path) if path.exists() else None

    def command(self, cell: Cell, *options: str) -> str:
        """What makes the cell's record, and with it its predictions."""
        plugin = ("--plugin", "FILE") if cell.method not in known("methods") else ()
        if record := self.record(cell):
            again = ("--overwrite",) if record.state == "done" else ()
            return run_command(cell, record.changes, self.results, self.runs, (*options, *plugin, *again))
        budget = BUDGETED.fullmatch(cell.variant)
        plain = replace(cell, variant=budget[1] or "") if budget else cell
        changes = self._changes(plain)
        settings = (*(UNKNOWN if changes is None else ()), *(("--budgets", budget[2]) if budget else ()))
        verb = "curve" if budget else "run"
        return run_command(plain, changes, self.results, self.runs, (*settings, *options, *plugin), verb)

    def _changes(self, cell: Cell) -> Mapping[str, Any] | None:
        """Of a variant without a record here, by one elsewhere: a name stands for one set of changes."""
        records = read_records(self.results, self.profile)[0] if cell.variant else ()
        named = (r.changes for r in records if (r.cell.method, r.cell.variant) == (cell.method, cell.variant))
        return next(named, None if cell.variant else {})


def check_place(place: Place) -> None:
    """Names of the suite, or of records that are there."""
    for kind, name, names in (
        ("profile", place.profile, PROFILES),
        ("dataset", place.dataset, known("datasets")),
        ("task", place.task, known("tasks")),
    ):
        is_stored = place.cell("x").is_named and place.cell("x").path(place.results).parent.is_dir()
        if name not in names and not is_stored:
            raise UserError(f"unknown {kind} {name!r}{near(name, names)}")


# -- predictions


def predictions_of(
    methods: Sequence[str], place: Place, seed: int = 0, trajectory: int = 0
) -> tuple[dict[str, Predictions], list[str]]:
    """By the label of each method, in the order asked for, and what must be said of them."""
    check_place(place)
    labels = _with_predictions(place, seed) if "all" in methods else methods
    if not labels:
        raise UserError(f"no predictions of {place.task} on {place.dataset} in {place.kept}/: {_any_run(place)}")
    cells = [place.cell(label, seed) for label in labels]
    lacking = [cell for cell in cells if not predictions_path(place.kept, cell).exists()]
    if lacking:
        raise UserError("\n".join(_missing(cell, place.record(cell), place, trajectory) for cell in lacking))
    shown, notes = {}, []
    for cell in cells:
        shown[cell.label] = p = _read(cell, place, trajectory)
        notes += _out_of_date(p, place)
    parts = dict.fromkeys(str(p.thinned) for p in shown.values() if p.thinned)
    return shown, [*notes, *(f"trajectories of this size are kept in part: {part}" for part in parts)]


def _with_predictions(place: Place, seed: int) -> list[str]:
    cells = (read_predictions(path).cell for path in find_predictions(place.kept, *_where(place)))
    return ordered((cell.method for cell in cells if cell.seed == seed and not cell.variant), "methods")


def _where(place: Place) -> tuple[str, str, str]:
    return place.profile, place.dataset, place.task


def _any_run(place: Place) -> str:
    return f"run a method, e.g. {place.command(place.cell('kriging'))}"


def _read(cell: Cell, place: Place, trajectory: int) -> Predictions:
    p = read_predictions(predictions_path(place.kept, cell))
    if trajectory < 0:
        raise UserError(f"--trajectory: expected 0 or more, got {trajectory}")
    if trajectory >= len(p):
        more = place.command(cell, "--save-predictions", str(trajectory + 1))
        raise UserError(f"{cell.label}: kept test trajectories 0 to {len(p) - 1}, not {trajectory}; keep more: {more}")
    return p


def _missing(cell: Cell, record: Record | None, place: Place, trajectory: int) -> str:
    if record is None and cell.method not in known("methods"):
        hint = near(cell.method, known("methods"))
        return f"no predictions of {cell.label!r}{hint}; of a plugin's method: {place.command(cell)}"
    if record is not None and record.state != "done":
        return f"{cell.label} has no predictions: its record says {record.state} ({record.reason or 'no reason'})"
    more = ("--save-predictions", str(trajectory + 1)) if trajectory >= KEPT else ()
    return f"no predictions of {cell} in {place.kept}/; make them: {place.command(cell, *more)}"


def _out_of_date(p: Predictions, place: Place) -> Iterator[str]:
    """Predictions belong to one record, by its key."""
    record = place.record(p.cell)
    if record is None:
        yield f"{p.cell.label}: no record of it in {place.results}/, drawn from its predictions alone"
    elif record.key != p.key:
        yield (
            f"{p.cell.label}: its record has moved on ({record.key[:8]}), these predictions are of an older one "
            f"({p.key[:8]}); draw again after: {place.command(p.cell)}"
        )


# -- records


def records_of(methods: Sequence[str], place: Place, seeds: Sequence[int] = (0,)) -> dict[str, list[Record]]:
    """The records of each method that are there, one a seed; a method without any has an empty list."""
    check_place(place)
    labels = _with_records(place, seeds) if "all" in methods else methods
    found = {}
    for label in labels:
        cells = [place.cell(label, seed) for seed in seeds]
        found[cells[0].label] = [record for cell in cells if (record := place.record(cell))]
    return found


def _with_records(place: Place, seeds: Sequence[int]) -> list[str]:
    folder = place.cell("x").path(place.results).parent
    cells = [Cell.from_path(path) for path in folder.glob("[!.]*-s*.json")]
    named = {cell.method for cell in cells if cell and not cell.variant and cell.seed in seeds}
    records = (place.record(place.cell(name, seed)) for name in named for seed in seeds)
    return ordered((r.cell.method for r in records if r and r.state == "done" and is_own(r)), "methods")


def all_learned(place: Place, seeds: Sequence[int]) -> list[str]:
    """The suite's methods that train and have a record."""
    found = ((label, place.record(place.cell(label, seed))) for label in _with_records(place, seeds) for seed in seeds)
    return list(dict.fromkeys(label for label, record in found if record and not record.is_reference))


def references_of(place: Place) -> list[Record]:
    """The references' records, seed 0."""
    records = (place.record(place.cell(label)) for label in _with_records(place, (0,)))
    return [record for record in records if record and record.is_reference and record.state == "done"]


def missing_records(found: dict[str, list[Record]], place: Place, seeds: Sequence[int]) -> list[str]:
    """A line for each method without a number: why, or the command that makes it."""
    notes = []
    for label, records in found.items():
        if not any(record.state == "done" for record in records):
            cell = place.cell(label, seeds[0])
            why = [f"{r.state}: {r.reason or 'no reason recorded'}" for r in records]
            hint = near(cell.method, known("methods")) if cell.method not in known("methods") else ""
            what = why[0] if why else f"no record{hint}; make it: {place.command(cell)}"
            notes.append(f"{label} left out of {place.dataset} {place.task}: {what}")
    return notes
