"""What cells answered on their first test trajectories, as videos inside the page.

A video is three chunks: truth, readings and error. The first two are the same for all methods that were asked the same,
and are stored once. As many trajectories of each cell are kept as fit into the room there is; where one of each is too
much already, videos have fewer points, then fewer frames, and at last only the first cells have one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.leaderboard.page.chunks import Chunk, Chunks, as_json
from benchmark.leaderboard.page.fields import (
    Size,
    any_plane,
    filtered,
    plain_levels,
    planes,
    seen_planes,
    signed_levels,
)
from benchmark.records.cell import Cell
from benchmark.records.predictions import Predictions, PredictionsError, predictions_path, read_predictions
from benchmark.records.record import Record

TRAJECTORIES = 4  # of each cell at most
NUMBERS = 60  # bytes of the numbers of a video's chunks
SIZES = (Size(20, 64), Size(20, 32), Size(10, 32), Size(10, 16))


@dataclass(frozen=True)
class Video:
    """One trajectory of one cell; `parts` are truth, seen and error."""

    meta: Mapping[str, Any]
    parts: Mapping[str, Chunk]


def add_videos(
    records: Sequence[Record], runs: Path | None, chunks: Chunks, room: int
) -> tuple[dict[int, list[dict[str, Any]]], dict[int, str]]:
    """By the place of a record: its videos, or why they are not shown."""
    paths = _paths(records, runs)
    videos, reasons, count = _fitting(records, paths, room)
    shown: dict[int, list[dict[str, Any]]] = {}
    used = 0
    for place, own in videos.items():
        used += _size(own[:1]) if count == 0 else 0
        if used > room:
            reasons[place] = "left out: the page would be too large with it"
            continue
        shown[place] = [_stored(video, chunks) for video in own[: max(count, 1)]]
    return shown, reasons


def own_cell(record: Record) -> Cell:
    """The cell under which the record was stored: tables show a variant as a method of its own."""
    method, _, variant = record.cell.label.partition(" @ ")
    return replace(record.cell, method=method, variant=variant)


def _paths(records: Sequence[Record], runs: Path | None) -> dict[int, Path]:
    """One for each place of a table: of several seeds the first that has any."""
    found: dict[tuple[str, str, str], tuple[int, Path]] = {}
    if runs is None or not runs.is_dir():
        return {}
    for place, record in enumerate(records):
        name = (record.cell.method, record.cell.task, record.cell.dataset)
        path = predictions_path(runs, own_cell(record))
        if name not in found and record.state == "done" and path.exists():
            found[name] = place, path
    return dict(found.values())


def _fitting(
    records: Sequence[Record], paths: Mapping[int, Path], room: int
) -> tuple[dict[int, list[Video]], dict[int, str], int]:
    """Videos, reasons, and how many trajectories of each cell fit; 0: not even one of each at the smallest size."""
    videos: dict[int, list[Video]] = {}
    reasons: dict[int, str] = {}
    for size, most in zip(SIZES, (TRAJECTORIES, *[1] * len(SIZES)), strict=False):
        videos, reasons = {}, {}
        for place, path in paths.items():
            try:
                videos[place] = _read(path, records[place].key, size, most)
            except PredictionsError as error:
                reasons[place] = str(error)
        for count in range(most, 0, -1):
            if _size(video for own in videos.values() for video in own[:count]) <= room:
                return videos, reasons, count
    return videos, reasons, 0


def _size(videos: Iterable[Video]) -> int:
    """What they take together, with what is said of each."""
    chunks: dict[bytes, int] = {}
    words = 0
    for video in videos:
        chunks |= {chunk.digest: chunk.size for chunk in video.parts.values()}
        words += len(as_json(video.meta)) + NUMBERS
    return words + sum(chunks.values())


def _stored(video: Video, chunks: Chunks) -> dict[str, Any]:
    return {**video.meta, **{name: chunks.add(chunk) for name, chunk in video.parts.items()}}


def _read(path: Path, key: str, size: Size, most: int) -> list[Video]:
    found = read_predictions(path, fields=("truth", "prediction"))
    if found.key != key:
        raise PredictionsError(f"{path.name} is of another run than the record; run the cell again with --overwrite")
    return list(_videos(found, size, most))


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
            "low": _short(low),
            "high": _short(high),
            "scale": _short(scale),
        },
        {
            "truth": Chunk.of(filtered(plain_levels(truth, low, high))),
            "seen": Chunk.of(np.packbits(mask).tobytes() + readings.tobytes()),
            "error": Chunk.of(filtered(signed_levels(error, scale.reshape(low.shape)))),
        },
    )


def _short(bounds: np.ndarray) -> list[list[float]]:
    """Of each channel, for all its frames or for each."""
    return [[float(f"{value:.6g}") for value in row] for row in bounds.reshape(len(bounds), -1).tolist()]
