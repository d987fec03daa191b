"""What cells answered on their first test trajectories, as videos inside the page.

A video is three chunks: truth, readings and error. The first two are the same for all methods that were asked the same,
and are stored once. As many trajectories of each cell are kept as fit into the room there is; where one of each is too
much already, videos have fewer points, then fewer frames, and at last only the first cells have one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.leaderboard.page.chunks import Chunks, as_json
from benchmark.leaderboard.page.error_scale import error_scale
from benchmark.leaderboard.page.video import SIZES, Encoded, Video, read_videos, short_bounds
from benchmark.records.cell import Cell
from benchmark.records.predictions import PredictionsError, predictions_path
from benchmark.records.record import Record

NUMBERS = 60  # bytes of the numbers of a video's chunks


def add_videos(
    records: Sequence[Record], runs: Path | None, chunks: Chunks, room: int
) -> tuple[dict[int, list[dict[str, Any]]], dict[int, str]]:
    """By the place of a record: its videos, or why they are not shown."""
    by_size, reasons = _read(records, _paths(records, runs))
    videos, count = _fitting(by_size, room)
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


def _read(records: Sequence[Record], paths: Mapping[int, Path]) -> tuple[list[dict[int, list[Video]]], dict[int, str]]:
    """For each size the videos of the places, and why there are none."""
    by_size: list[dict[int, list[Video]]] = [{} for _ in SIZES]
    reasons: dict[int, str] = {}
    for places in _columns(records, paths):
        found: dict[int, list[Encoded]] = {}
        for place in places:
            try:
                found[place] = read_videos(paths[place], records[place].key)
            except PredictionsError as error:
                reasons[place] = str(error)
        for k, videos in enumerate(by_size):
            videos |= _on_one_scale({place: own[k] for place, own in found.items()})
    return [{place: videos[place] for place in paths if place in videos} for videos in by_size], reasons


def _columns(records: Sequence[Record], paths: Mapping[int, Path]) -> list[list[int]]:
    """Places of one task and dataset together: only their errors must be there at once."""
    found: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place in paths:
        found[records[place].cell.task, records[place].cell.dataset].append(place)
    return list(found.values())


def _on_one_scale(found: Mapping[int, Encoded]) -> dict[int, list[Video]]:
    """With the limits that the errors of these cells share, where they have the same fields."""
    alike: dict[tuple[int, ...], list[Encoded]] = defaultdict(list)
    for one in found.values():
        alike[one.rounding.shape].append(one)
    limits: dict[tuple[int, ...], dict[str, Any]] = {}
    for shape, own in alike.items():
        least, end = error_scale([one.errors for one in own], np.max([one.rounding for one in own], axis=0))
        limits[shape] = {"least": short_bounds(least), "end": short_bounds(end)}
    return {
        place: [replace(video, meta={**video.meta, **limits[one.rounding.shape]}) for video in one.videos]
        for place, one in found.items()
    }


def _fitting(by_size: Sequence[Mapping[int, list[Video]]], room: int) -> tuple[Mapping[int, list[Video]], int]:
    """The largest videos of which the room has one of each, and how many of each; 0: it has not even the smallest."""
    for videos in by_size:
        for count in range(max(map(len, videos.values()), default=1), 0, -1):
            if _size(video for own in videos.values() for video in own[:count]) <= room:
                return videos, count
    return by_size[-1], 0


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
