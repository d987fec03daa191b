"""Error against compute: a line for each method, a point for each budget, references as levels.

What a point costs is read from its records: seconds of the processor and floating-point operations of its fit. A method
that is fitted to each test trajectory has the seconds of one trajectory. `curve_text` is the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmark.leaderboard.entries import MISSING, NO_RECORD, Entry, Samples, majority, pool
from benchmark.leaderboard.names import ordered
from benchmark.leaderboard.traits import traits
from benchmark.records.compare import Basis, machine_difference
from benchmark.records.cost import cost, runs_on_cpu
from benchmark.records.record import Record

OTHER_MACHINE = "the data was generated on another kind of machine"
OTHER_SECONDS = "fits of different hardware or numbers of threads: compare their FLOP, not their seconds"


@dataclass(frozen=True)
class Point:
    """One budget of one method. Costs are medians over seeds, None where they are not known."""

    budget: float  # as a multiple of the profile's own
    entry: Entry
    steps: float | None = None
    seconds: float | None = None  # of one fit
    flop: float | None = None  # of one fit
    predict_seconds: float | None = None  # of one sample of one trajectory


@dataclass(frozen=True)
class Line:
    method: str
    points: tuple[Point, ...]  # by budget
    per_trajectory: bool = False  # nothing is fitted but each test trajectory


@dataclass(frozen=True)
class Curve:
    profile: str
    dataset: str
    task: str
    lines: tuple[Line, ...]
    references: tuple[Entry, ...] = ()
    samples: Samples = "one"
    notes: tuple[str, ...] = ()
    on_cpu: bool = True  # seconds are the processor's

    @property
    def seeds(self) -> set[int]:
        """How many there are in a number."""
        return {len(point.entry.seeds) for line in self.lines for point in line.points if point.entry.seeds}


Points = Mapping[tuple[str, float], Sequence[Record]]  # (method, budget) -> one record a seed, or none


def build_curve(
    profile: str,
    dataset: str,
    task: str,
    points: Points,
    references: Sequence[Record] = (),
    samples: Samples = "one",
) -> Curve:
    """References that cannot be compared with the points are left out, which a note says."""
    records = [record for own in points.values() for record in own]
    shared = majority([record for record in records if not record.changes]) or majority(records)
    names = ordered((name for name, _ in points), "methods")
    lines = [_line(Entry(name, task, dataset, MISSING), points, shared, samples) for name in names]
    levels, notes = _levels(references, records, shared, samples)
    said = (*traits(records, {record.cell.method for record in records}), *_notes(lines), *notes, *_machines(records))
    on_cpu = all(runs_on_cpu(record) for record in records if record.state == "done")
    return Curve(profile, dataset, task, tuple(lines), tuple(levels), samples, said, on_cpu)


def _line(missing: Entry, points: Points, shared: Basis | None, samples: Samples) -> Line:
    own = sorted((budget, records) for (name, budget), records in points.items() if name == missing.method)
    scopes = {record.about.scope for _, records in own for record in records if record.about}
    made = (_point(budget, pool(records, shared, samples) if records else missing, records) for budget, records in own)
    return Line(missing.method, tuple(made), per_trajectory=scopes == {"instance"})


def _point(budget: float, entry: Entry, records: Sequence[Record]) -> Point:
    used = [record for record in records if record.cell.seed in entry.seeds]

    def middle(name: str) -> float | None:
        values = [value for record in used if (value := cost(name, record)) is not None]
        return median(values) if values else None

    is_fitted = any(record.about is None or record.about.scope != "instance" for record in used)
    seconds, predict = middle("fit_seconds"), middle("predict_seconds")
    return Point(budget, entry, middle("steps"), seconds if is_fitted else predict, middle("fit_flop"), predict)


def _levels(
    references: Sequence[Record], records: Sequence[Record], shared: Basis | None, samples: Samples
) -> tuple[list[Entry], list[str]]:
    """An entry for each reference, in the order of tables, and what must be said."""
    anchor = next((record for record in records if record.state == "done" and record.basis == shared), None)
    levels, notes = [], []
    for record in references if anchor else ():
        assert anchor is not None
        name, (reason, other_machine) = record.cell.label, machine_difference(record, anchor)
        if reason is None:
            levels.append(pool([record], record.basis, samples))
            notes += [f"{name}: {note}" for note in (*levels[-1].notes, *[OTHER_MACHINE] * other_machine)]
        else:
            notes.append(f"{name} left out: {reason}")
    return levels, notes


def _notes(lines: Sequence[Line]) -> Iterator[str]:
    """What must be known beside the numbers; what is said of all points of a line is said once."""
    for line in lines:
        by_point = [point.entry.notes or (NO_RECORD,) * (point.entry.state == MISSING) for point in line.points]
        common = [note for note in by_point[0] if all(note in notes for notes in by_point)]
        yield from (f"{line.method}: {note}" for note in common)
        for point, notes in zip(line.points, by_point, strict=True):
            yield from (f"{line.method}, budget {point.budget:g}: {note}" for note in notes if note not in common)
        if any(point.flop is None for point in line.points if point.entry.mean is not None):
            yield f"{line.method}: FLOP not counted"


def _machines(records: Sequence[Record]) -> list[str]:
    found = {json.dumps(_machine(record), sort_keys=True) for record in records if record.state == "done"}
    return [OTHER_SECONDS] if len(found) > 1 else []


def _machine(record: Record) -> list[Any]:
    return [record.provenance.get(name) for name in ("device", "hardware", "threads")]
