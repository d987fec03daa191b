"""csv and json: everything, for other programs. Metrics keep the units of the record; pooled errors are in percent:
low and high are the interval over test trajectories, seed_sd the standard deviation of the seeds' means, total_low and
total_high the interval over both.

The csv has one row for each record and metric, one row without a metric where a record has no numbers, and one row
without a seed where there is no record.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from functools import lru_cache
from typing import Any

from benchmark.leaderboard import text
from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.capabilities import CAN, CANNOT
from benchmark.leaderboard.columns import Column
from benchmark.leaderboard.entries import MISSING, Entry
from benchmark.records.record import HEADLINE, About, MetricScore, Record

COST = ("parameters", "steps", "fit_flop", "fit_seconds", "predict_seconds", "evaluations", "peak_memory_mb")
PROVENANCE = (
    "data_source",
    "data_fingerprint",
    "mask_hash",
    "scorer_version",
    "method_version",
    "device",
    "commit",
    "dirty",
)
CELL = ("method", "task", "dataset", "profile", "seed", "state")
ABOUT = tuple(field.name for field in fields(About))
METRIC = ("metric", "unit", "mean", "low", "high")
POOLED = (
    "pooled_percent",
    "pooled_low",
    "pooled_high",
    "pooled_seed_sd",
    "pooled_total_low",
    "pooled_total_high",
    "pooled_seeds",
    "ranked",
    "place",
    "alike",
    "notes",
)
TICKS = ("type", "partial_observation", "flexible_inference", "dense_temporal")
SPELLED = {CAN: "yes", CANNOT: "no"}
CSV_HEADER = (*CELL, *METRIC, "n", "frames", "reason", *POOLED, *COST, *PROVENANCE, *ABOUT, *TICKS)


def render_csv(board: Leaderboard) -> str:
    lines = [_csv(CSV_HEADER)]
    columns = {(column.dataset, column.task): column for column in board.columns}
    ticks = _ticks(board)
    for record in board.records:
        column = columns[record.cell.dataset, record.cell.task]
        lines += _record_lines(record, column, ticks[record.cell.method])
    lines += [_missing_line(entry, board.profile) for entry in missing_entries(board)]
    return "\n".join([*lines, ""])


def _record_lines(record: Record, column: Column, ticks: Mapping[str, str]) -> Iterator[str]:
    """The parts shared by all metrics of a record are written out once and reused."""
    cell = record.cell
    head = _csv([cell.method, cell.task, cell.dataset, cell.profile, cell.seed, record.state])
    tail = _csv(
        [
            record.basis.trajectories if record.state == "done" else "",
            "" if record.frames is None else " ".join(map(str, record.frames)),
            record.reason,
            *_pooled(column, cell.method),
            *(record.cost.get(name) for name in COST),
            *_provenance(record).values(),
            *(getattr(record.about, name, None) for name in ABOUT),
            *ticks.values(),
        ]
    )
    if not record.metrics:
        yield f"{head},,,,,,{tail}"
    for name, score in sorted(record.metrics.items()):
        yield f"{head},{_label(name, score.unit)},{_bounds(score)},{tail}"


def _ticks(board: Leaderboard) -> dict[str, dict[str, str]]:
    """What each method that has a record can do; empty where it is not known."""
    found = {method: known for method, known in board.capabilities.items() if method in board.methods}
    return {
        method: dict(zip(TICKS, (SPELLED.get(tick, tick) for tick in known.ticks), strict=True))
        for method, known in found.items()
    }


def _score(score: MetricScore) -> dict[str, Any]:
    return {"unit": score.unit, "mean": score.mean, "low": score.low, "high": score.high}


def _provenance(record: Record) -> dict[str, Any]:
    return {name: record.provenance.get(name) for name in PROVENANCE}


def _bounds(score: MetricScore) -> str:
    """Mean, low and high as csv; those of a curve are lists over frames, which take no commas."""
    if isinstance(score.mean, list):
        return ",".join(" ".join(map(str, numbers)) for numbers in (score.mean, score.low, score.high))
    return f"{score.mean},{score.low},{score.high}"


@lru_cache(maxsize=1024)
def _label(name: str, unit: str) -> str:
    return _csv([name, unit])


def _missing_line(entry: Entry, profile: str) -> str:
    cell = [entry.method, entry.task, entry.dataset, profile, "", entry.state]
    blanks = len(CSV_HEADER) - len(cell)
    return _csv([*cell, *[""] * blanks])


def missing_entries(board: Leaderboard) -> list[Entry]:
    return [entry for column in board.columns for entry in column.entries.values() if entry.state == MISSING]


def _pooled(column: Column, method: str) -> list[Any]:
    entry = column.entries[method]
    seeds = " ".join(map(str, entry.seeds))
    place, alike = _place(column, method), method in column.alike
    numbers = (entry.mean, entry.low, entry.high, entry.seed_sd, entry.total_low, entry.total_high)
    return [*numbers, seeds, entry.ranked, place, alike, "; ".join(entry.notes)]


def _place(column: Column, method: str) -> str:
    return column.place(method).replace("reference", "best reference")


def _csv(fields: Iterable[Any]) -> str:
    """One line. The writer quotes what has a character of its line end in it, so that end must be both of them."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\r\n").writerow(fields)
    return buffer.getvalue().removesuffix("\r\n")


def render_json(board: Leaderboard) -> str:
    """One document; cells are one a line, so that two versions can be compared by eye."""
    head = {
        "title": text.title(board),
        "profile": board.profile,
        "headline": HEADLINE,
        "metric": board.shape.measure.name,
        "samples": board.samples,
        "notes": [
            *text.heading(board),
            *text.legend(board),
            text.caption(board.samples),
            *text.overview_notes(board.overview),
        ],
        "data_sources": text.sources(board),
        "problems": board.problems,
        "families": [
            {"title": title, "columns": [_json_column(column) for column in columns]}
            for title, columns in board.families.items()
        ],
        "overview": asdict(board.overview),
        "capabilities": _ticks(board),
    }
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    cells = [_json_cell(record) for record in board.records]
    lines.append('"cells": [\n' + ",\n".join(cells) + "\n]" if cells else '"cells": []')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _json_column(column: Column) -> dict[str, Any]:
    return {
        "dataset": column.dataset,
        "task": column.task,
        "basis": column.basis._asdict() if column.basis else None,
        "best": sorted(column.best),
        "second": sorted(column.second),
        "not_distinguishable": sorted(column.alike),
        "best_reference": sorted(column.best_reference),
        "entries": [_json_entry(entry) for entry in column.entries.values()],
    }


def _json_entry(entry: Entry) -> dict[str, Any]:
    spread = ("seed_sd", "total_low", "total_high")
    names = ("method", "state", "mean", "low", "high", *spread, "seeds", "ranked", "notes")
    return {name: getattr(entry, name) for name in names}


def _json_cell(record: Record) -> str:
    cell = {
        **record.cell.to_json(),
        "state": record.state,
        "reason": record.reason,
        "frames": record.frames,
        "n": record.basis.trajectories if record.state == "done" else None,
        "metrics": {name: _score(score) for name, score in sorted(record.metrics.items())},
        "about": record.about and record.about.to_json(),
        "cost": {name: value for name, value in record.cost.items() if value is not None},
        "provenance": _provenance(record),
    }
    return json.dumps(cell)
