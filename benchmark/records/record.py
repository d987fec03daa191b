"""Cells and their records: one JSON file a cell, written atomically. Needs neither torch nor numpy.

results/<profile>/<dataset>/<task>/<method>-s<seed>.json
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmark.errors import FileError

SCHEMA = 1
SCORER_VERSION = 1  # raise it when a metric's definition or value changes
PROFILES = ("smoke", "laptop", "paper")
STATES = ("done", "failed", "timeout", "oom", "unsupported")  # stored; "stale" and "missing" are found by comparing


@dataclass(frozen=True, order=True)
class Cell:
    """One number of a leaderboard: who, on what, at which size, with which seed."""

    method: str
    task: str
    dataset: str
    profile: str
    seed: int

    def path(self, results: Path) -> Path:
        return results / f"{self.profile}/{self.dataset}/{self.task}/{self.method}-s{self.seed}.json"

    def __str__(self) -> str:
        return f"{self.method} x {self.task} x {self.dataset} ({self.profile}, seed {self.seed})"


class RecordError(FileError):
    """A record file that cannot be read; the message names the file and the remedy."""


def new_record(cell: Cell, state: str, **parts: Any) -> dict[str, Any]:
    """A record; `parts` are reason, traceback, settings, key, remark, frames, metrics, cost, provenance.

    `metrics[name]` = {"unit", "mean", "low", "high", "values"}: low and high bound the 95 % bootstrap interval over
    test trajectories, `values` has one number a trajectory. A curve's values are lists over frames.
    """
    if state not in STATES:
        raise ValueError(f"state: expected one of {STATES}, got {state!r}")
    return {"schema": SCHEMA, "cell": asdict(cell), "state": state, **parts}


def write_json(path: Path, value: Any) -> None:
    """Atomic: the file is either the old or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1, allow_nan=False, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_record(path: Path, parse: Callable[[str], Any] = json.loads) -> dict[str, Any]:
    """A checked record. `parse` may leave out parts that its caller does not need."""
    try:
        record = parse(path.read_text(encoding="utf-8"))
        schema, state, cell = int(record["schema"]), record["state"], record["cell"]
        found = Cell(**cell)
    except (ValueError, KeyError, TypeError) as error:
        raise RecordError(
            f"{path}: not a record ({type(error).__name__}: {error}); move it away or run the cell again "
            "with --overwrite"
        ) from error
    if schema > SCHEMA:
        raise RecordError(
            f"{path}: written by a newer suite (schema {schema}, this one reads {SCHEMA}); update the suite"
        )
    if state not in STATES:
        raise RecordError(f"{path}: unknown state {state!r}; expected one of {', '.join(STATES)}")
    if found.path(Path()).parts != path.parts[-4:]:
        raise RecordError(f"{path}: holds the record of {found}; move it to {found.path(Path())}")
    return record


def record_paths(results: Path, profile: str | None = None) -> Iterator[Path]:
    """Record files in a fixed order; studies have results of their own and do not count."""
    paths = results.glob(f"{profile or '*'}/*/*/*-s*.json")
    yield from sorted(p for p in paths if not p.name.startswith("."))
