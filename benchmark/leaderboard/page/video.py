"""What one cell answered, encoded for the page: a video for each trajectory, at every size that the page may need.

A file of predictions is read once, and encoded at all sizes while it is there: those below the largest are few bytes,
and of one trajectory alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.leaderboard.page.chunks import Chunk
from benchmark.leaderboard.page.fields import (
    Size,
    any_plane,
    filtered,
    plain_levels,
    planes,
    seen_planes,
    signed_levels,
)
from benchmark.records.predictions import Predictions, PredictionsError, read_predictions

TRAJECTORIES = 4  # of each cell at most
SIZES = (Size(20, 64), Size(20, 32), Size(10, 32), Size(10, 16))


@dataclass(frozen=True)
class Video:
    """One trajectory of one cell; `parts` are truth, seen and error."""

    meta: Mapping[str, Any]
    parts: Mapping[str, Chunk]


def read_videos(path: Path, key: str) -> list[list[Video]]:
    """By size. PredictionsError: there are none, or they are of another run than the record."""
    found = read_predictions(path, fields=("truth", "prediction"))
    if found.key != key:
        raise PredictionsError(f"{path.name} is of another run than the record; run the cell again with --overwrite")
    return [list(_videos(found, size, TRAJECTORIES if size is SIZES[0] else 1)) for size in SIZES]


def _videos(found: Predictions, size: Size, most: int) -> Iterator[Video]:
    picked = size.picked(len(found.times))
    about = {
        "frames": [found.numbers[frame] for frame in picked],
        "times": [round(found.times[frame], 6) for frame in picked],
        "names": found.frame_names and list(found.frame_names),
        "channels": list(found.channels),
        "answered": [frame in found.scored for frame in picked],
        "points": found.mask.shape[2:4],
        "step": found.thinned.step if found.thinned else 1,
    }
    for i in range(min(len(found), most)):
        yield _video(found, i, size, about)


def _video(found: Predictions, i: int, size: Size, about: Mapping[str, Any]) -> Video:
    """All planes are (C, t, h, w). A steady problem's frames are other fields, so that each has its own scale."""
    axes = (2, 3) if found.frame_names else (1, 2, 3)
    step = about["step"]
    truth, mask = planes(found.truth[i], size), any_plane(found.mask[i], size, step)
    error = planes(found.prediction[i] - found.truth[i], size)
    error[:, [not answered for answered in about["answered"]]] = 0
    low, high, scale = truth.min(axes, keepdims=True), truth.max(axes, keepdims=True), np.abs(error).max(axes)
    readings = plain_levels(seen_planes(found.values[i], found.mask[i], size, step), low, high)[mask]
    return Video(
        {
            **about,
            "trajectory": i // found.masks,
            "mask": i % found.masks,
            "shape": truth.shape,
            "low": short_bounds(low),
            "high": short_bounds(high),
            "scale": short_bounds(scale),
        },
        {
            "truth": Chunk.of(filtered(plain_levels(truth, low, high))),
            "seen": Chunk.of(np.packbits(mask).tobytes() + readings.tobytes()),
            "error": Chunk.of(filtered(signed_levels(error, scale.reshape(low.shape)))),
        },
    )


def short_bounds(bounds: np.ndarray) -> list[list[float]]:
    """Of each channel, for all its frames or for each."""
    return [[float(f"{value:.6g}") for value in row] for row in bounds.reshape(len(bounds), -1).tolist()]
