"""Kept answers are scored again: the record's relative l2 error must lie within what their rounding leaves open.

A stored field is off by at most 1 / 131070 of its range in each trajectory and channel (`records.predictions`). With
norms over the scored frames, E = ||u - v|| and V = ||v|| of the stored fields, and d_u, d_v the norms of the two
bounds, the error lies between (E - d_u - d_v) / (V + d_v) and (E + d_u + d_v) / (V - d_v). Written without the scorer,
from the definition in `metric_table`, so that it checks that too. Of thinned answers only the errors that were noted
with them are held against the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isclose
from pathlib import Path

import numpy as np

from benchmark.records.files import read_record
from benchmark.records.folders import kept_in
from benchmark.records.predictions import STEPS, Predictions, PredictionsError, find_predictions, read_predictions
from benchmark.records.record import Record, RecordError
from benchmark.verify.check import Check, Selection

TIER = "predictions"
UNSCORED = "kept in part, as their trajectories are large: the errors noted with them were checked, not the answers"
FLOAT32 = 2.0**-23
SMALLEST = 1e-12  # of a norm, as the scorer has it


def check(selection: Selection) -> Iterator[Check]:
    for results in selection.trees:
        for path in find_predictions(kept_in(selection.runs, results)):
            selection.progress(str(path))
            if (found := _check(path, results, selection)) is not None:
                yield found


def _check(path: Path, results: Path, selection: Selection) -> Check | None:
    """None: of a record that is not asked for, or lies elsewhere."""
    try:
        kept = read_predictions(path)
        where = kept.cell.path(results)
        if not selection.matches(kept.cell) or not where.exists():
            return None
        record = read_record(where)
    except (PredictionsError, RecordError, OSError) as error:
        return Check(TIER, path, (str(error),))
    note = f"{len(kept)} trajectories of {where}"
    return Check(TIER, path, tuple(prediction_faults(kept, record)), note, UNSCORED if kept.thinned else "")


def prediction_faults(kept: Predictions, record: Record) -> list[str]:
    if record.state != "done":
        return [f"the record is {record.state}"]
    if kept.key != record.key:
        return ["belongs to another run than the record: their keys differ"]
    stored = record.headline.in_percent().values
    if len(kept) > len(stored):
        return [f"{len(kept)} trajectories, the record has {len(stored)}"]
    if kept.thinned:
        return [
            f"trajectory {i}: the record has {stored[i]:.6g} %, with the answer {noted:.6g} % was noted"
            for i, noted in enumerate(kept.thinned.errors)
            if not isclose(noted, stored[i], rel_tol=1e-6)
        ]
    return [
        f"trajectory {i}: the record has {stored[i]:.6g} %, the answer {low:.6g} to {high:.6g} %"
        for i, (low, high) in enumerate(bounds(kept))
        if not low * (1 - 1e-9) <= stored[i] <= high * (1 + 1e-9)
    ]


def bounds(kept: Predictions) -> Iterator[tuple[float, float]]:
    """Between which percentages the relative l2 error of each trajectory is."""
    frames = kept.scored
    for u, v, seen in zip(kept.prediction, kept.truth, kept.mask, strict=True):
        parts = [frames] if kept.frame_names is None else [[f] for f in _target(seen, frames)]
        found = np.array([_bounds(u, v, part) for part in parts])
        low, high = 100 * found.mean(0)
        yield float(low), float(high)


def _bounds(u: np.ndarray, v: np.ndarray, frames: Sequence[int]) -> tuple[float, float]:
    off_u, off_v = _rounding(u, len(frames)), _rounding(v, len(frames))
    error = float(np.linalg.norm(u[frames].astype(np.float64) - v[frames]))
    norm = float(np.linalg.norm(v[frames].astype(np.float64)))
    least, most = max(norm - off_v, SMALLEST), max(norm + off_v, SMALLEST)
    return max(error - off_u - off_v, 0.0) / most, (error + off_u + off_v) / least


def _rounding(field: np.ndarray, frames: int) -> float:
    """The norm of what rounding may have changed in so many frames (T, H, W, C)."""
    span = field.max((0, 1, 2)).astype(np.float64) - field.min((0, 1, 2))
    each = span / (2 * STEPS) + FLOAT32 * np.abs(field).max((0, 1, 2))  # (C,)
    return float(np.sqrt(frames * field.shape[1] * field.shape[2] * np.square(each).sum()))


def _target(seen: np.ndarray, frames: Sequence[int]) -> list[int]:
    """The fields that are asked for: those without a sensor; if none is, all that are not given in full."""
    blind = [f for f in frames if not seen[f].any()]
    return blind or [f for f in frames if not seen[f].all()] or list(frames)
