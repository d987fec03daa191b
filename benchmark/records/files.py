"""Records on disk: one JSON file per cell, written whole or not at all.

    results/<profile>/<dataset>/<task>/<method>-s<seed>.json
    results/<profile>/<dataset>/<task>/<method>@<variant>-s<seed>.json

A file has one line a part and one a metric, keys sorted, so that a difference between two versions reads well.
"""

from __future__ import annotations

import fcntl
import glob
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmark.records.cell import NAME
from benchmark.records.record import AGAIN, Record, RecordError
from benchmark.records.strict import read_json


def read_record(path: Path) -> Record:
    """A checked record, upgraded in memory if its schema is an older one. RecordError names the file and the remedy."""
    try:
        record = Record.from_json(_parse(path))
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from error
    if record.cell.path(Path()).parts != path.parts[-4:]:
        raise RecordError(f"{path}: holds the record of {record.cell}; move it to {record.cell.path(Path())}")
    return record


def write_record(path: Path, record: Record) -> None:
    write_text(path, to_text(record))


def record_paths(results: Path, profile: str | None = None) -> Iterator[Path]:
    """Record files in a fixed order; studies have results of their own and do not count."""
    if profile is not None and not NAME.fullmatch(profile):  # a pattern, or a path that leads elsewhere
        return
    paths = results.glob(f"{profile or '*'}/*/*/*-s*.json")
    yield from sorted(p for p in paths if not p.name.startswith("."))


def to_text(record: Record) -> str:
    """The file of a record, whatever order its parts were made in."""
    parts = record.to_json()
    lines = {name: _line(part) for name, part in parts.items() if name != "metrics"}
    if record.metrics:
        lines["metrics"] = _block({name: _line(score) for name, score in parts["metrics"].items()}, " ")
    return _block(lines) + "\n"


def _block(lines: Mapping[str, str], indent: str = "") -> str:
    return "{\n" + ",\n".join(f"{indent}{_line(name)}: {lines[name]}" for name in sorted(lines)) + "\n}"


def write_json(path: Path, value: Any) -> None:
    """Any other JSON file, atomically."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False, sort_keys=True) + "\n")


def write_text(path: Path, text: str) -> None:
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` to write to; it takes its name when it is whole and on disk, or it goes.

    So under `path` there is either the old file or the new one, never a part. What a killed process left of one goes
    too: a part is locked as long as its writer lives.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_parts(path)
    part, handle = _new_part(path)
    try:
        yield part
        with part.open("rb") as file:
            os.fsync(file.fileno())
        part.chmod(0o644)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def _remove_parts(path: Path) -> None:
    """Unfinished files that killed processes left beside `path`."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        with suppress(OSError), part.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()


def _new_part(path: Path) -> tuple[Path, int]:
    """A file that nobody takes for a killed process's, and the descriptor that holds its lock."""
    while True:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return Path(name), handle
        os.close(handle)  # somebody who cleaned up was quicker than our lock


def _parse(path: Path) -> Any:
    try:
        return read_json(path)
    except FileNotFoundError:
        raise
    except (ValueError, OSError) as error:
        raise RecordError(f"not a record ({type(error).__name__}: {error}); move it away or {AGAIN}") from error


def _line(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))
