"""One line per method: what is done, how it ranks against whom it met, and what it costs.

Learned methods are compared with each other, each in its own columns, pair by pair; references do not compete:

    rank  = 1 + C / |met| sum over competitors c met of the share of the columns shared with c in which c is better
    ratio = exp(mean over columns of ln(error / lowest error of a learned method))

C is the number of competitors with a ranked number, `met` are those that share a column; equal errors count one half.
Where all methods have all columns this is the mean rank. A method with few columns changes nobody else's set of columns
but its own: nobody is judged by columns that only others lack. A column in which a method is alone says nothing and is
left out; so is, from the ratio, a column whose lowest error is NEGLIGIBLE, as a ratio to that says nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import median

from benchmark.leaderboard.columns import Column
from benchmark.leaderboard.entries import MISSING
from benchmark.leaderboard.measure import ERROR, Measure
from benchmark.records.cost import cost
from benchmark.records.record import Record
from benchmark.scoring.metric_table import NEGLIGIBLE

COSTS = ("parameters", "fit_seconds", "predict_seconds", "evaluations", "peak_memory_mb")


@dataclass(frozen=True)
class Spread:
    """A cost over the done cells of a method."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Ranking:
    """Where a learned method stands among those that it met."""

    rank: float
    cells: int  # columns with a competitor
    met: int  # competitors that share a column
    competitors: int  # learned methods with a ranked number
    ratio: float | None  # None: the lowest error is rounding in every column
    exact: int  # columns left out of the ratio for that


@dataclass(frozen=True)
class Summary:
    method: str
    reference: bool
    states: Mapping[str, int]  # number of columns in each state; failed includes timeout and oom
    seeds: tuple[int, int] | None  # fewest and most seeds in a number
    ranking: Ranking | None  # None: a reference, or it met nobody
    costs: Mapping[str, Spread | None]


@dataclass(frozen=True)
class Overview:
    summaries: tuple[Summary, ...]


def build_overview(
    methods: Sequence[str],
    references: Set[str],
    columns: Sequence[Column],
    records: Iterable[Record],
    measure: Measure = ERROR,
) -> Overview:
    own: dict[str, list[Record]] = {method: [] for method in methods}
    for record in records:
        own[record.cell.method].append(record)
    competitors = [method for method in methods if method not in references]
    rankings = _rankings(competitors, columns) if measure.is_error else {}
    return Overview(tuple(_summary(method, columns, own[method], rankings.get(method)) for method in methods))


def _rankings(members: Sequence[str], columns: Sequence[Column]) -> dict[str, Ranking]:
    """Of each learned method that met another one."""
    errors = [_ranked_errors(members, column) for column in columns]
    compared = [method for method in members if any(method in column for column in errors)]
    found = {method: _ranking(method, [c for c in errors if method in c], len(compared) - 1) for method in compared}
    return {method: ranking for method, ranking in found.items() if ranking is not None}


def _ranked_errors(members: Sequence[str], column: Column) -> dict[str, float]:
    """Of the members that are ranked in a column; negligible ones are alike."""
    entries = (column.entries[method] for method in members)
    return {e.method: max(e.mean, NEGLIGIBLE) for e in entries if e.ranked and e.mean is not None}


def _ranking(method: str, own: Sequence[Mapping[str, float]], competitors: int) -> Ranking | None:
    """`own`: the errors of learned methods in each column that the method has."""
    contested = [column for column in own if len(column) > 1]
    if not contested:
        return None
    lost: dict[str, list[float]] = {}  # competitor -> how much of each shared column it won
    for column in contested:
        for other in column.keys() - {method}:
            lost.setdefault(other, []).append(_won(column[other], column[method]))
    places = math.fsum(math.fsum(shares) / len(shares) for shares in lost.values())
    lowest = [(column[method], min(column.values())) for column in contested]
    logs = [math.log(error / least) for error, least in lowest if least > NEGLIGIBLE]
    return Ranking(
        rank=1 + places * competitors / len(lost),
        cells=len(contested),
        met=len(lost),
        competitors=competitors,
        ratio=math.exp(math.fsum(logs) / len(logs)) if logs else None,
        exact=len(lowest) - len(logs),
    )


def _won(error: float, other: float) -> float:
    return 1.0 if error < other else 0.5 if error == other else 0.0


def _summary(method: str, columns: Sequence[Column], records: Sequence[Record], ranking: Ranking | None) -> Summary:
    entries = [column.entries[method] for column in columns]
    found = Counter(entry.state for entry in entries)
    seeds = [len(entry.seeds) for entry in entries if entry.seeds]
    return Summary(
        method=method,
        reference=any(record.is_reference for record in records),
        states={
            "done": found["done"],
            "failed": found["failed"] + found["timeout"] + found["oom"],
            "unsupported": found["unsupported"],
            "missing": found[MISSING],
        },
        seeds=(min(seeds), max(seeds)) if seeds else None,
        ranking=ranking,
        costs={name: _spread(name, records) for name in COSTS},
    )


def _spread(name: str, records: Sequence[Record]) -> Spread | None:
    costs = [value for record in records if record.state == "done" and (value := cost(name, record)) is not None]
    return Spread(median(costs), min(costs), max(costs)) if costs else None
