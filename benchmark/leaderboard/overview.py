"""One line per method: what is done, how it ranks where a ranking is fair, and what it costs.

Ranks and ratios of a block (references, learned methods) use only the columns in which every method of the block that
has any ranked number has one:

    mean rank = mean over columns of the rank (equal errors share the mean of their ranks)
    ratio     = exp(mean over columns of ln(error / lowest error of the block))
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import median

from benchmark.leaderboard.columns import Column
from benchmark.leaderboard.entries import MISSING
from benchmark.records.record import Record

COSTS = ("parameters", "fit_seconds", "predict_seconds", "evaluations", "peak_memory_mb")
TINY = 1e-12  # errors below it (percent) count as equal to it, so that a ratio exists


@dataclass(frozen=True)
class Spread:
    """A cost over the done cells of a method."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Summary:
    method: str
    reference: bool
    uses_equation: bool  # beside the data
    states: Mapping[str, int]  # number of columns in each state; failed includes timeout and oom
    seeds: tuple[int, int] | None  # fewest and most seeds in a number
    mean_rank: float | None
    ratio: float | None
    costs: Mapping[str, Spread | None]


@dataclass(frozen=True)
class Overview:
    summaries: tuple[Summary, ...]
    shared: Mapping[str, tuple[int, int]]  # block -> number of ranked methods, of columns that all of them have


def build_overview(
    methods: Sequence[str], references: Set[str], columns: Sequence[Column], records: Iterable[Record]
) -> Overview:
    own: dict[str, list[Record]] = {method: [] for method in methods}
    for record in records:
        own[record.cell.method].append(record)
    ranking: dict[str, tuple[float, float]] = {}
    shared = {}
    for block, wanted in (("references", True), ("learned methods", False)):
        members = [method for method in methods if (method in references) == wanted]
        compared, errors = _shared_errors(members, columns)
        shared[block] = (len(compared), len(errors))
        ranking |= _ranking(compared, errors)
    summaries = tuple(_summary(method, columns, own[method], ranking.get(method)) for method in methods)
    return Overview(summaries, shared)


def _shared_errors(members: Sequence[str], columns: Sequence[Column]) -> tuple[list[str], list[dict[str, float]]]:
    """Who is compared, and their errors in each column that has them all."""
    ranked = [
        {method: entry.mean for method, entry in column.entries.items() if entry.ranked and entry.mean is not None}
        for column in columns
    ]
    compared = [method for method in members if any(method in errors for errors in ranked)]
    complete = [errors for errors in ranked if compared and all(method in errors for method in compared)]
    return compared, [{method: max(errors[method], TINY) for method in compared} for errors in complete]


def _ranking(compared: Sequence[str], errors: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, float]]:
    """Mean rank and geometric-mean ratio of each method."""
    if not errors:
        return {}
    result = {}
    for method in compared:
        ranks = [_rank(column[method], column.values()) for column in errors]
        logs = [math.log(column[method] / min(column.values())) for column in errors]
        result[method] = (math.fsum(ranks) / len(ranks), math.exp(math.fsum(logs) / len(logs)))
    return result


def _rank(error: float, errors: Iterable[float]) -> float:
    errors = list(errors)
    below, equal = sum(other < error for other in errors), sum(other == error for other in errors)
    return below + (equal + 1) / 2


def _summary(
    method: str, columns: Sequence[Column], records: Sequence[Record], ranking: tuple[float, float] | None
) -> Summary:
    entries = [column.entries[method] for column in columns]
    found = Counter(entry.state for entry in entries)
    seeds = [len(entry.seeds) for entry in entries if entry.seeds]
    return Summary(
        method=method,
        reference=any(record.is_reference for record in records),
        uses_equation=any(record.about and record.about.uses_equation for record in records),
        states={
            "done": found["done"],
            "failed": found["failed"] + found["timeout"] + found["oom"],
            "unsupported": found["unsupported"],
            "missing": found[MISSING],
        },
        seeds=(min(seeds), max(seeds)) if seeds else None,
        mean_rank=ranking[0] if ranking else None,
        ratio=ranking[1] if ranking else None,
        costs={name: _spread(name, records) for name in COSTS},
    )


def _spread(name: str, records: Sequence[Record]) -> Spread | None:
    done = [record for record in records if record.state == "done"]
    costs = [record.cost[name] for record in done if isinstance(record.cost.get(name), (int, float))]
    return Spread(median(costs), min(costs), max(costs)) if costs else None
