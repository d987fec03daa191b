"""The curve of error against compute out of the records that `curve` left: no fit, no plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from benchmark.errors import UserError
from benchmark.figures.curve import make
from benchmark.figures.reading import Place
from benchmark.figures.style import styled
from benchmark.leaderboard.curve import Curve, build_curve
from benchmark.leaderboard.entries import Samples
from benchmark.records.cell import Cell
from benchmark.records.files import read_record
from benchmark.records.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BUDGET = "budget_"  # variants of `curve`: `budget_5`, of another variant `wide+budget_5`


@styled()
def compute(
    records: Mapping[str, Sequence[Record]], references: Sequence[Record] = (), samples: Samples = "one"
) -> Figure:
    """`records`: those of each method, of all its budgets and seeds, on one task of one dataset."""
    return make(curve_of(records, references, samples))


def curve_of(
    records: Mapping[str, Sequence[Record]], references: Sequence[Record] = (), samples: Samples = "one"
) -> Curve:
    points: dict[tuple[str, float], list[Record]] = {}
    for name, own in records.items():
        for record in own:
            points.setdefault((name, budget_of(record.cell)), []).append(record)
    if not points:
        raise UserError("compute: no records; `curve` makes them")
    cell = next(record.cell for own in points.values() for record in own)
    return build_curve(cell.profile, cell.dataset, cell.task, points, references, samples)


def budget_of(cell: Cell) -> float:
    """As a multiple of the profile's own, by the name of the variant."""
    _, found, budget = cell.variant.rpartition(BUDGET)
    return float(budget) if found else 1.0


def budgets_of(methods: Sequence[str], place: Place, seeds: Sequence[int]) -> dict[str, list[Record]]:
    """The records of each method at all budgets that are there."""
    found: dict[str, list[Record]] = {}
    for label in methods:
        plain = place.cell(label)
        cells = [place.cell(label, seed) for seed in seeds]
        pattern = f"{plain.method}@{f'{plain.variant}+' if plain.variant else ''}{BUDGET}*-s*.json"
        stored = (Cell.from_path(path) for path in sorted(plain.path(place.results).parent.glob(pattern)))
        cells += [cell for cell in stored if cell is not None and cell.seed in seeds]
        own = [read_record(path) for cell in cells if (path := cell.path(place.results)).exists()]
        found[plain.label] = [record for record in own if record.state == "done"]
    return found
