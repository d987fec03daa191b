"""Taking records away, with what killed processes left of them, their predictions, and fits that no record needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmark.planning.resolve import FIT
from benchmark.records.folders import run_folder
from benchmark.records.predictions import PredictionsError, predictions_path, read_predictions
from benchmark.records.record import Record
from benchmark.running import locks
from benchmark.running.claim import lock_path, remove_parts
from benchmark.running.fits import discard


def remove_record(path: Path, predictions: Path | None = None) -> bool:
    """With its lock, unfinished parts and predictions; False if another process has it."""
    with locks.attempt(lock_path(path)) as is_free:
        if is_free:
            path.unlink(missing_ok=True)
            remove_parts(path)
            if predictions:
                predictions.unlink(missing_ok=True)
    return is_free


def predictions_of(record: Record, kept: Path) -> Path | None:
    """What is kept of the answers of this very record, if anything is."""
    path = predictions_path(kept, record.cell)
    try:
        return path if read_predictions(path, fields=("truth", "prediction")).key == record.key else None
    except (OSError, PredictionsError):
        return None


def fits_of(records: Iterable[Record], runs: Path) -> set[Path]:
    """The folders of whole fits that serve one of the records."""
    return {
        folder
        for record in records
        for folder in run_folder(runs, record.cell).glob("*-*")
        if (identity := _identity(folder)) and serves(identity, record)
    }


def serves(identity: Mapping[str, Any], record: Record) -> bool:
    """Whether a fit is the one that a record's numbers come from, by all that a fit depends on."""
    settings, tasks = record.settings, identity["tasks"]
    sizes = {"sizes": {**(settings.get("dataset") or {}).get("sizes", {}), "test": None, "long_frames": None}}
    wanted = {**settings, "dataset": {**(settings.get("dataset") or {}), **sizes}}
    if any(not _within(identity.get(part), wanted.get(part)) for part in ("method", "dataset", "versions", "data")):
        return False
    if not _within(identity.get("sources") or {}, settings.get("sources") or {}):
        return False
    task = tasks.get(record.cell.task)
    if task is None:  # a fit of a whole dataset serves tasks that it has not learned from
        return record.about is not None and record.about.scope == "dataset"
    return {name: value for name, value in task.items() if name != "source"} == record.task


def _within(part: Any, whole: Any) -> bool:
    """Every value of a nested dict is in the other one, which may have more."""
    if isinstance(part, Mapping) and isinstance(whole, Mapping):
        return all(name in whole and _within(value, whole[name]) for name, value in part.items())
    return part == whole


def _identity(folder: Path) -> dict[str, Any] | None:
    try:
        return json.loads((folder / FIT).read_text(encoding="utf-8")).get("identity")
    except (OSError, ValueError):
        return None


def remove_fit(folder: Path) -> bool:
    """False if another process is at it."""
    with locks.attempt(folder.with_name(f"{folder.name}.lock")) as is_free:
        if is_free:
            discard(folder)
    return is_free
