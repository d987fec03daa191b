"""What one cell answered, encoded for the page: a video for each trajectory, at every size that the page may need.

A file of predictions is read once, and encoded at all sizes while it is there: those below the largest are few bytes,
and of one trajectory alone.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from benchmark.records.predictions import STEPS, Predictions, PredictionsError, read_predictions

TRAJECTORIES = 4  # of each cell at most
SIZES = (Size(20, 64), Size(20, 32), Size(10, 32), Size(10, 16))


@dataclass(frozen=True)
class Video:
    """One trajectory of one cell; `parts` are truth, seen and error."""

    meta: Mapping[str, Any]
    parts: Mapping[str, Chunk]


@dataclass(frozen=True)
class Encoded:
    """The videos of a cell at one size, and what the scale of errors that it shares with others needs."""

    videos: list[Video]
    errors: np.ndarray  # (C, groups, n), without sign; NaN where nothing is predicted
    rounding: np.ndarray  # (C, groups): what storing predictions leaves of an exact one


def read_videos(path: Path, key: str) -> list[Encoded]:
    """By size. PredictionsError: there are none, or they are of another run than the record."""
    found = read_predictions(path, fields=("truth", "prediction"))
    if found.key != key:
        raise PredictionsError(f"{path.name} is of another run than the record; run the cell again with --overwrite")
    return [_encoded(found, size, TRAJECTORIES if size is SIZES[0] else 1) for size in SIZES]


def _encoded(found: Predictions, size: Size, most: int) -> Encoded:
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
    made = [_video(found, i, size, about) for i in range(min(len(found), most))]
    rounding = np.max([np.array(video.meta["high"]) - np.array(video.meta["low"]) for video, _ in made], axis=0) / STEPS
    off = [np.abs(error).reshape(*rounding.shape, -1) for _, error in made]
    return Encoded([video for video, _ in made], np.concatenate(off, axis=2), rounding)


def _video(found: Predictions, i: int, size: Size, about: Mapping[str, Any]) -> tuple[Video, np.ndarray]:
    """With its errors. All planes are (C, t, h, w); a steady problem's frames are fields, each on its own scale."""
    axes = (2, 3) if found.frame_names else (1, 2, 3)
    step = about["step"]
    truth, mask = planes(found.truth[i], size), any_plane(found.mask[i], size, step)
    error = planes(found.prediction[i] - found.truth[i], size)
    nothing = [not answered for answered in about["answered"]]
    error[:, nothing] = 0
    low, high, scale = truth.min(axes, keepdims=True), truth.max(axes, keepdims=True), np.abs(error).max(axes)
    readings = plain_levels(seen_planes(found.values[i], found.mask[i], size, step), low, high)[mask]
    video = Video(
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
    error[:, nothing] = np.nan
    return video, error


def short_bounds(bounds: np.ndarray) -> list[list[float]]:
    """Of each channel, for all its frames or for each."""
    return [[float(f"{value:.6g}") for value in row] for row in bounds.reshape(len(bounds), -1).tolist()]
