"""A cell's record while others may want it too: its lock, whether it is settled, what counts as out of memory."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmark.errors import FileError
from benchmark.records.cell import Cell
from benchmark.records.files import read_record
from benchmark.records.folders import parts_folder
from benchmark.records.record import Record, RecordError
from benchmark.running.provenance import now

LEFT = re.compile(r"\.(?P<record>.+\.json)\.(?:lock|.*tmp)")  # a record's lock, or a part of one
MEMORY_MESSAGES = ("not enough memory", "DefaultCPUAllocator", "CUDA out of memory", "Cannot allocate memory")


class FolderError(FileError):
    """A folder that cannot be written; the message names it and the remedy."""


def lock_path(record: Path) -> Path:
    return record.with_name(f".{record.name}.lock")


def settled(path: Path, key: str, since: str, overwrite: bool, only_done: bool = False) -> Record | None:
    """The record, if the cell need not run: it is done, or another process has finished it since this run began.

    One from the future, by a clock that was put right since, is not of this run. `only_done`: no failure settles it.
    """
    try:
        record = read_record(path)
    except (FileNotFoundError, RecordError):
        return None
    if record.key != key or (only_done and record.state != "done"):
        return None
    is_new = since <= record.created <= now()
    return record if is_new or (record.state == "done" and not overwrite) else None


def remove_parts(path: Path) -> None:
    """Unfinished files of this name that a killed process left; of a record, call with the lock held."""
    for part in path.parent.glob(f".{path.name}.*.tmp"):
        part.unlink(missing_ok=True)


def forget_unfinished(kept: Path, cell: Cell) -> None:
    """What there was of it while it was made: a cell that is recorded needs it no more."""
    shutil.rmtree(parts_folder(kept, cell), ignore_errors=True)


def leftovers(results: Path) -> Iterator[Path]:
    """Paths of records that are not there but whose lock or parts are: of a process that runs, or was killed."""
    found = {
        path.with_name(match["record"])
        for path in results.glob("*/*/*/.*")
        if (match := LEFT.fullmatch(path.name)) and path.is_file()
    }
    yield from sorted(path for path in found if not path.exists())


def is_out_of_memory(error: BaseException) -> bool:
    """Python's, torch's on a GPU, torch's on a CPU (a plain RuntimeError), or numpy's."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, (RuntimeError, OSError)) and any(text in str(error) for text in MEMORY_MESSAGES)


def check_writable(folder: Path, name: str, remedy: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise FolderError(f"{name} folder {folder}: cannot be written ({error.strerror}); {remedy}") from error
