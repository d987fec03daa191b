"""A curve as a table to read, as csv and as one JSON document."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

from benchmark.leaderboard.curve import Curve, Point
from benchmark.leaderboard.entries import Entry
from benchmark.leaderboard.markdown import bullets, escape, pipe_table
from benchmark.leaderboard.text import DASH, INTERVALS, ONE_SEED, caption, number

HEADER = ("method", "budget", "error %", "steps", "fit s", "fit TFLOP", "predict s")
COSTS = ("budget", "steps", "seconds", "flop", "predict_seconds")
NUMBERS = ("mean", "low", "high", "seed_sd", "total_low", "total_high")
LEGEND = (
    "Relative l2 error of the whole video in percent. Each point is a fit of its own with a learning-rate schedule of "
    "its own; its budget is a multiple of the profile's training steps.",
    "Seconds are the processor's on a CPU, the clock's on a GPU, and include validation; FLOP are of training steps "
    "alone; predict s is for one sample of one trajectory.",
)


def title(curve: Curve) -> str:
    return f"Error against compute: {curve.dataset} {curve.task}, profile {curve.profile}"


def legend(curve: Curve) -> list[str]:
    one_seed = curve.seeds <= {1}
    spread = f"All numbers are of {ONE_SEED}." if one_seed else "Behind ±: standard deviation of the seeds' means."
    alone = [line.method for line in curve.lines if line.per_trajectory]
    fitted = f"Fitted to each test trajectory, fit s is for one: {', '.join(alone)}."
    return [*LEGEND, f"{INTERVALS} {spread}", caption(curve.samples), *([fitted] if alone else [])]


def render_markdown(curve: Curve) -> str:
    rows = [[escape(line.method), *_row(point)] for line in curve.lines for point in line.points]
    rows += [[f"*{level.method}*", DASH, _error(level), *[DASH] * 4] for level in curve.references]
    notes = [escape(" ".join(line.split())) for line in (*legend(curve), *curve.notes)]
    return "\n\n".join([f"# {title(curve)}", pipe_table(HEADER, rows), bullets(notes)]) + "\n"


def _row(point: Point) -> list[str]:
    costs = (point.seconds, None if point.flop is None else point.flop / 1e12, point.predict_seconds)
    steps = f"{point.steps:.0f}" if point.steps else DASH
    return [f"{point.budget:g}", _error(point.entry), steps, *(DASH if c is None else number(c) for c in costs)]


def _error(entry: Entry) -> str:
    if entry.mean is None or entry.low is None or entry.high is None:
        return entry.state
    spread = "" if entry.seed_sd is None else f" ± {number(entry.seed_sd)}"
    return f"{number(entry.mean)} [{number(entry.low)}, {number(entry.high)}]{spread}"


def as_json(curve: Curve) -> dict[str, Any]:
    return {
        "title": title(curve),
        "profile": curve.profile,
        "dataset": curve.dataset,
        "task": curve.task,
        "samples": curve.samples,
        "points": [{"method": line.method, **_values(point)} for line in curve.lines for point in line.points],
        "references": [{"method": level.method, **_numbers(level)} for level in curve.references],
        "notes": [*legend(curve), *curve.notes],
    }


def render_json(curve: Curve) -> str:
    return json.dumps(as_json(curve), indent=1) + "\n"


def render_csv(curve: Curve) -> str:
    """One row a point; a reference has no budget."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ["method", *COSTS, "state", *NUMBERS, "seeds"], lineterminator="\n")
    writer.writeheader()
    for row in (row for part in ("points", "references") for row in as_json(curve)[part]):
        writer.writerow({**row, "seeds": " ".join(map(str, row["seeds"]))})
    return text.getvalue()


def _values(point: Point) -> dict[str, Any]:
    return {name: getattr(point, name) for name in COSTS} | _numbers(point.entry)


def _numbers(entry: Entry) -> dict[str, Any]:
    """Errors in percent."""
    return {"state": entry.state, **{name: getattr(entry, name) for name in NUMBERS}, "seeds": list(entry.seeds)}


RENDERERS: dict[str, Callable[[Curve], str]] = {"md": render_markdown, "csv": render_csv, "json": render_json}
