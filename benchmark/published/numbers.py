"""The numbers that the VideoPDE paper prints, each with the cell of this suite that it belongs to.

`videopde.csv` has one row a number. `metric` is ours: `rel_l2` in percent, or `predict_seconds` in seconds. `fields`
says of a steady problem which field the error is of, `study` and `variant` name the suite whose records belong to a
number with settings of its own. `assumed` says what the paper leaves open and the row takes for granted. A number that
is printed as X has no value.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import NamedTuple

PAPER = "videopde"
ERROR, SECONDS = "rel_l2", "predict_seconds"
DATASETS = ("wave_layer", "navier_stokes", "kolmogorov", "allen_cahn", "helmholtz")
TASKS = ("cont_05", "cont_1", "cont_3", "fwd_full", "inv_full", "fwd_partial", "inv_partial")
OURS = ("videopde", "videopde_unified")  # the paper's own methods; whatever else it prints is a baseline or a rung
RUNGS = "ablation_"


class Place(NamedTuple):
    """What a number is of, here and in the paper."""

    method: str
    dataset: str
    task: str
    metric: str = ERROR
    study: str = ""
    variant: str = ""

    def __str__(self) -> str:
        study = f" ({self.study}/{self.variant})" if self.study else ""
        metric = "" if self.metric == ERROR else f" {self.metric}"
        return f"{self.method} {self.dataset} {self.task}{metric}{study}"


@dataclass(frozen=True)
class Number:
    """`printed` keeps the paper's digits; `mark` is its emphasis: best (bold), second (underlined) or nothing."""

    source: str  # the label in the paper's LaTeX
    table: str
    place: Place
    printed: str
    unit: str
    fields: str
    setting: str  # of a study: frames and their distance
    mark: str
    assumed: str
    note: str

    @property
    def value(self) -> float | None:
        return float(self.printed) if self.printed else None

    @property
    def half_digit(self) -> float:
        """Half of the last printed place: what rounding hides."""
        return 0.5 * 10.0 ** -len(self.printed.partition(".")[2])

    def agrees(self, other: Number) -> bool:
        """Whether both may be roundings of one value."""
        if self.value is None or other.value is None:
            return self.value == other.value
        if self.half_digit == other.half_digit:
            return self.value == other.value
        return abs(self.value - other.value) <= max(self.half_digit, other.half_digit) * (1 + 1e-9)


class Pair(NamedTuple):
    """Two methods of one column of the paper, the one with the lower printed error first."""

    dataset: str
    task: str
    lower: str
    higher: str
    printed: tuple[float, float]


@cache
def read_numbers() -> tuple[Number, ...]:
    """All of them, in the paper's order."""
    text = files("benchmark.published").joinpath(f"{PAPER}.csv").read_text(encoding="utf-8")
    return tuple(map(_number, csv.DictReader(text.splitlines())))


def _number(row: Mapping[str, str]) -> Number:
    place = Place(*(row[name] for name in Place._fields))
    plain = {name: row[name] for name in ("source", "unit", "fields", "setting", "mark", "assumed", "note")}
    return Number(table=row["place"], place=place, printed=row["value"], **plain)


def by_place(numbers: Sequence[Number]) -> dict[Place, list[Number]]:
    """Those with a value; some are printed in two places."""
    found: dict[Place, list[Number]] = defaultdict(list)
    for number in numbers:
        if number.printed:
            found[number.place].append(number)
    return dict(found)


def columns(numbers: Sequence[Number]) -> dict[tuple[str, str], dict[str, list[float]]]:
    """(dataset, task) -> method -> its printed errors, over all tables; studies have settings of their own."""
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(dict)
    for place, printed in by_place(numbers).items():
        if place.metric == ERROR and not place.study:
            found[place.dataset, place.task][place.method] = [number.value for number in printed if number.value]
    return dict(found)


def orderings(numbers: Sequence[Number]) -> list[Pair]:
    """Every pair of methods with an error of the same task and dataset, whichever tables print them.

    A method printed twice with different errors is ordered only where both say the same; all pairs of the paper are.
    """
    found = []
    members = columns(numbers)
    for dataset, task in sorted(members, key=lambda column: (DATASETS.index(column[0]), TASKS.index(column[1]))):
        errors = members[dataset, task]
        for a, b in combinations(errors, 2):
            lower, higher = (a, b) if max(errors[a]) < min(errors[b]) else (b, a)
            if max(errors[lower]) < min(errors[higher]):
                found.append(Pair(dataset, task, lower, higher, (errors[lower][-1], errors[higher][-1])))
    return found


def is_baseline(method: str) -> bool:
    """Whether the paper compares itself with it."""
    return method not in OURS and not method.startswith(RUNGS)
