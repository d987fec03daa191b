"""The paper's claims as relations between errors, read from `claims.yaml`.

A claim has checks. A check has

    order       names from the lowest error to the highest; a list within it is a level: each of it is below each of
                the next. `baselines` are those that the paper prints for the cell
    vary        what the names are of: method (default), task, dataset, metric or variant
    cell        the rest of the cell; of lists every combination is a group, and a group holds if all its relations do
    factor      so many times the lower error is still below the higher
    within      the errors differ by less than this factor, whichever is lower
    below       the error itself is below this
    over        what the errors are divided by, as a part of the cell: {task: cont_3}
    elsewhere   methods that are taken at another task

`quantifier` says how many groups must hold: all (default), most (more than half) or some (at least one). `sets` names
lists that any of these may use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise, product
from typing import Any, Literal, NamedTuple

import yaml

from benchmark.published.numbers import ERROR, Place, columns, is_baseline, read_numbers

Quantifier = Literal["all", "most", "some"]
AXES = ("dataset", "task", "method", "metric", "study", "variant")
BASELINES = "baselines"


class Side(NamedTuple):
    """An error, or one error over another."""

    place: Place
    over: Place | None = None

    def __str__(self) -> str:
        return f"{self.place} / {self.over.task}" if self.over else str(self.place)


class Relation(NamedTuple):
    """`factor` times the lower is below the higher."""

    lower: Side
    higher: Side | float
    factor: float = 1.0

    def __str__(self) -> str:
        times = "" if self.factor == 1 else f"{self.factor:g} x "
        higher = f"{self.higher:g} %" if not isinstance(self.higher, Side) else self.higher
        return f"{times}{self.lower} < {higher}"


class Group(NamedTuple):
    """Relations of one cell that hold together or not at all."""

    name: str
    relations: tuple[Relation, ...]


@dataclass(frozen=True)
class Claim:
    id: str
    text: str
    source: str
    groups: tuple[Group, ...]
    quantifier: Quantifier = "all"
    reading: str = ""  # where the paper leaves open what exactly is claimed


@dataclass(frozen=True)
class Remark:
    """What contradicts itself in the paper: a sentence, or a claim that its own numbers may not bear out."""

    id: str
    text: str
    where: str
    claim: Claim | None = None


@cache
def read_claims() -> tuple[Claim, ...]:
    document = _read("claims.yaml")
    return tuple(_claim(raw, document["sets"]) for raw in document["claims"])


@cache
def read_remarks() -> tuple[Remark, ...]:
    sets = _read("claims.yaml")["sets"]
    return tuple(
        Remark(raw["id"], raw["text"], raw["where"], _claim({**raw, "source": raw["where"]}, sets))
        if "checks" in raw
        else Remark(raw["id"], raw["text"], raw["where"])
        for raw in _read("contradictions.yaml")
    )


def _read(name: str) -> Any:
    return yaml.safe_load(files("benchmark.published").joinpath(name).read_text(encoding="utf-8"))


def _claim(raw: Mapping[str, Any], sets: Mapping[str, Sequence[str]]) -> Claim:
    groups = tuple(group for check in raw["checks"] for group in _groups(check, sets))
    words = {name: raw[name] for name in ("quantifier", "reading") if name in raw}
    return Claim(raw["id"], raw["text"], raw["source"], groups, **words)


def _groups(check: Mapping[str, Any], sets: Mapping[str, Sequence[str]]) -> Iterator[Group]:
    axes = {axis: _names(value, sets) for axis, value in check["cell"].items()}
    shared = [axis for axis in AXES if len(axes.get(axis, ())) > 1 or axis in ("dataset", "task", "variant")]
    for values in product(*axes.values()):
        fixed = dict(zip(axes, values, strict=True))
        name = " ".join([*(fixed[axis] for axis in shared if axis in fixed), *_span(check)])
        if relations := tuple(_relations(check, fixed, sets)):
            yield Group(name, relations)


def _span(check: Mapping[str, Any]) -> list[str]:
    """What a group's name has of the tasks that it compares."""
    return ["-".join(check["order"])] if check.get("vary") == "task" else []


def _relations(check: Mapping[str, Any], fixed: dict[str, str], sets: Mapping[str, Sequence[str]]) -> list[Relation]:
    if "below" in check:
        return [Relation(Side(_place(fixed)), float(check["below"]))]
    vary = check.get("vary", "method")
    levels = [[_side(check, {**fixed, vary: name}) for name in _level(level, fixed, sets)] for level in check["order"]]
    pairs = [pair for one, other in pairwise(levels) for pair in product(one, other)]
    if "within" in check:
        factor = 1 / check["within"]  # the lower times 1 / within is below the higher, both ways
        return [Relation(*sides, factor) for a, b in pairs for sides in ((a, b), (b, a))]
    return [Relation(a, b, float(check.get("factor", 1))) for a, b in pairs]


def _side(check: Mapping[str, Any], cell: Mapping[str, str]) -> Side:
    moved = check.get("elsewhere", {}).get(cell.get("method"))
    cell = {**cell, "task": moved} if moved else cell
    return Side(_place(cell), _place({**cell, **check["over"]}) if "over" in check else None)


def _place(cell: Mapping[str, str]) -> Place:
    return Place(**{"metric": ERROR, **cell})


def _level(level: Any, fixed: Mapping[str, str], sets: Mapping[str, Sequence[str]]) -> Sequence[str]:
    if level == BASELINES:
        return [m for m in columns(read_numbers())[fixed["dataset"], fixed["task"]] if is_baseline(m)]
    return _names(level, sets)


def _names(value: Any, sets: Mapping[str, Sequence[str]]) -> Sequence[str]:
    if isinstance(value, list):
        return value
    return sets.get(value, [value])
