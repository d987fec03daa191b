"""What the page says of a record when its cell is opened: all of it but the values of secondary metrics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark.leaderboard.page.chunks import Chunks
from benchmark.leaderboard.page.videos import own_cell
from benchmark.records.command import run_command
from benchmark.records.record import MetricScore, Record
from benchmark.scoring.metric_table import METRIC_TABLE

AGAIN = Path("reproduced")  # elsewhere, or `run` would find the record and do nothing
LONGEST = 64  # of a list that is shown whole
ERROR, CURVE, STEADY = "rel_l2_", "rel_l2_curve", "rel_l2_fields"  # the last one is of steady problems alone


def add_details(records: Sequence[Record], chunks: Chunks) -> list[list[int]]:
    """For each record its chunk and its place in there; records of a method on a dataset share one."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, record in enumerate(records):
        groups[record.cell.method, record.cell.dataset].append(place)
    where: list[list[int]] = [[] for _ in records]
    for places in groups.values():
        chunk = chunks.add_json([detail(records[place]) for place in places])
        for i, place in enumerate(places):
            where[place] = [chunk, i]
    return where


def detail(record: Record) -> dict[str, Any]:
    parts = {
        "state": record.state,
        "reason": record.reason,
        "traceback": record.traceback,
        "remark": record.remark,
        "frames": record.frames,
        "about": record.about and record.about.to_json(),
        "metrics": {name: _score(score) for name, score in sorted(record.metrics.items()) if name != CURVE},
        "curve": _score(record.metrics[CURVE]) if CURVE in record.metrics else None,
        "fields": field_names(record),
        "errors": [short(value, 5) for value in record.headline.in_percent().values] if record.state == "done" else [],
        "cost": {name: _trimmed(value) for name, value in sorted(record.cost.items())},
        "settings": record.settings,
        "changes": record.changes,
        "provenance": _trimmed(record.provenance),
        "key": record.key,
        "command": command(record),
    }
    return {name: part for name, part in parts.items() if part not in (None, "", {}, [])}


def field_names(record: Record) -> list[str] | None:
    """Of a steady problem, the fields that its curve has where others have frames: each has an error of its own too."""
    if STEADY not in record.metrics or CURVE not in record.metrics:
        return None
    left = {
        name: s for name, s in sorted(record.metrics.items()) if name.startswith(ERROR) and name not in METRIC_TABLE
    }
    curve, names = record.metrics[CURVE], []
    for error in zip(curve.mean, curve.low, curve.high, strict=True):
        name = next((name for name, score in left.items() if (score.mean, score.low, score.high) == error), None)
        if name is None:
            return None
        left.pop(name)
        names.append(name.removeprefix(ERROR))
    return names


def command(record: Record) -> str:
    """What makes the record again. The file of a plugin is known by its name alone."""
    plugins = [word for name in record.provenance.get("plugins") or {} for word in ("--plugin", str(name))]
    return run_command(own_cell(record), record.changes, AGAIN, options=tuple(plugins))


def _score(score: MetricScore) -> list[Any]:
    return [score.unit, *(short(part) for part in (score.mean, score.low, score.high))]


def short(value: Any, digits: int = 6) -> Any:
    """A number, or a curve's numbers, to so many significant digits."""
    if isinstance(value, list):
        return [short(part, digits) for part in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def _trimmed(value: Any) -> Any:
    """Long lists, such as the state of every fit at test time, would fill the page."""
    if isinstance(value, dict):
        return {name: _trimmed(part) for name, part in value.items()}
    if isinstance(value, list) and len(value) > LONGEST:
        return [*value[:LONGEST], f"and {len(value) - LONGEST} more"]
    return short(value)
