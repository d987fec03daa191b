"""The table of the page: for each column and method what every format shows there, for the board's own metric with all
its marks, and the means of every other metric."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.columns import Column, leaders, place_among
from benchmark.leaderboard.display import display
from benchmark.leaderboard.entries import MISSING, Entry
from benchmark.leaderboard.measure import CURVES, Measure
from benchmark.leaderboard.overview import COSTS
from benchmark.leaderboard.page.chunks import Chunks
from benchmark.leaderboard.page.details import CURVE, field_names, short
from benchmark.records.cost import cost
from benchmark.records.record import MetricScore, Record
from benchmark.scoring.metric_table import METRIC_TABLE, metric_info

Own = Mapping[tuple[str, str, str], Sequence[tuple[int, Record]]]  # method, dataset, task -> its records, by place


def own_records(board: Leaderboard) -> Own:
    found: dict[tuple[str, str, str], list[tuple[int, Record]]] = defaultdict(list)
    for place, record in enumerate(board.records):
        found[record.cell.method, record.cell.dataset, record.cell.task].append((place, record))
    return found


def column_json(column: Column, methods: Sequence[str], own: Own, notes: dict[str, int]) -> dict[str, Any]:
    """Entries stand in the order of the methods; `notes` numbers the notes of the whole page and grows."""
    return {
        "dataset": column.dataset,
        "task": column.task,
        "datasetLabel": display(column.dataset),
        "taskLabel": display(column.task),
        "family": column.family,
        "trajectories": column.basis.trajectories if column.basis else None,
        "tooFew": column.too_few,
        "fields": next(filter(None, (field_names(r) for r in _records(column, own) if r.frames is None)), None),
        "entries": [_entry(column, column.entries[method], own, notes) for method in methods],
    }


def _records(column: Column, own: Own) -> Iterator[Record]:
    for method in column.entries:
        yield from (record for _, record in own.get((method, column.dataset, column.task), ()))


def _entry(column: Column, entry: Entry, own: Own, notes: dict[str, int]) -> dict[str, Any]:
    """What is empty is left out: there are many."""
    records = own.get((entry.method, entry.dataset, entry.task), ())
    used = [record for _, record in records if record.cell.seed in entry.seeds]
    told = entry.notes if entry.state != MISSING else ()
    parts = {
        "state": entry.state if entry.state != "done" else "",
        "score": _numbers(entry.mean, entry.low, entry.high),
        "sd": short(entry.seed_sd),
        "place": column.place(entry.method),
        "alike": entry.method in column.alike,
        "ranked": entry.ranked,
        "notes": [notes.setdefault(note, len(notes)) for note in told],
        "records": [place for place, _ in records],
        "costs": {name: short(value) for name in (*COSTS, "fit_flop") if (value := _cost(name, used)) is not None},
    }
    return {name: part for name, part in parts.items() if part not in ("", None, False, [], {})}


def _numbers(mean: Any, low: Any, high: Any) -> list[Any] | None:
    return None if mean is None else [short(mean), short(low), short(high)]


def _cost(name: str, used: Iterable[Record]) -> float | None:
    values = [value for record in used if (value := cost(name, record)) is not None]
    return median(values) if values else None


def add_metrics(board: Leaderboard, own: Own, chunks: Chunks) -> dict[str, dict[str, Any]]:
    """Every metric that a record has, in words, and the chunk with its numbers; the board's own needs none."""
    found = {name for record in board.records for name in record.metrics} - set(CURVES)
    order = [*(name for name in METRIC_TABLE if name in found), *sorted(found - METRIC_TABLE.keys())]
    return {name: _metric(name, board, own, chunks) for name in order}


def _metric(name: str, board: Leaderboard, own: Own, chunks: Chunks) -> dict[str, Any]:
    try:
        info = metric_info(name)
    except ValueError:  # of another version of the suite
        return {
            "title": name,
            "unit": "",
            "definition": "",
            "goal": "level",
            "chunk": _values(name, board, own, chunks),
        }
    words = {"title": info.title, "unit": info.unit, "definition": info.definition, "goal": info.goal}
    return words if name == board.shape.measure.name else words | {"chunk": _values(name, board, own, chunks)}


def _values(name: str, board: Leaderboard, own: Own, chunks: Chunks) -> int:
    """Column by column, method by method: [mean, low, high, place], or null.

    Differences are not tested here, and an interval is shown for one seed alone: those over several are pooled anew for
    each metric, which takes the time of as many leaderboards.
    """
    return chunks.add_json([_scored(name, column, board, own) for column in board.columns])


def _scored(name: str, column: Column, board: Leaderboard, own: Own) -> list[list[Any] | None]:
    scores = {}
    for method, entry in column.entries.items():
        records = own.get((method, column.dataset, column.task), ())
        used = [record.metrics.get(name) for _, record in records if record.cell.seed in entry.seeds]
        if used and (pooled := _pooled(used)):
            scores[method] = pooled
    places = _places(name, column, board, {method: score[0] for method, score in scores.items()})
    return [[*map(short, scores[m]), places.get(m, "")] if m in scores else None for m in board.methods]


def _pooled(scores: Sequence[MetricScore | None]) -> list[Any] | None:
    known = [score for score in scores if score is not None]
    if len(known) < len(scores) or any(isinstance(score.mean, list) for score in known):
        return None
    one = known[0]
    return [sum(s.mean for s in known) / len(known), *((one.low, one.high) if len(known) == 1 else (None, None))]


def _places(name: str, column: Column, board: Leaderboard, means: Mapping[str, float]) -> dict[str, str]:
    measure = Measure(name)
    if name not in METRIC_TABLE or not measure.is_ranked:
        return {}
    ranked = [
        Entry(m, column.task, column.dataset, "done", mean=mean)
        for m, mean in means.items()
        if column.entries[m].ranked
    ]
    found = leaders(ranked, board.references, measure)
    return {entry.method: place for entry in ranked if (place := place_among(found, entry.method))}


def add_curves(board: Leaderboard, own: Own, chunks: Chunks) -> list[int | None]:
    """Of each column the error of every frame: method by method [mean, low, high] over frames, or null."""
    curves = [[_curve(method, column, own) for method in board.methods] for column in board.columns]
    return [chunks.add_json(found) if any(found) else None for found in curves]


def _curve(method: str, column: Column, own: Own) -> list[Any] | None:
    """Of several seeds their mean."""
    seeds, records = column.entries[method].seeds, own.get((method, column.dataset, column.task), ())
    used = [record for _, record in records if record.cell.seed in seeds and CURVE in record.metrics]
    parts = [record.metrics[CURVE] for record in used]
    if not parts or len({len(part.mean) for part in parts}) > 1:
        return None
    bounds = [[sum(frame) / len(parts) for frame in zip(*(getattr(p, b) for p in parts), strict=True)] for b in BOUNDS]
    return [used[0].frames, *(short(bound, 5) for bound in (bounds if len(parts) == 1 else bounds[:1]))]


BOUNDS = ("mean", "low", "high")
