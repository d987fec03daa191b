"""Writes a split run by run so that a kill at any moment loses at most the tile in flight.

The file under way is `<split>.hdf5.part` with its full size reserved; values are written in place, then named in
`<split>.hdf5.journal` with their digest. Only a file whose runs are all in the journal gets its final name.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Self

import h5py
import numpy as np

from benchmark.core import Dataset, Grid
from datasets.layout import DataError, create_skeleton, locate_fields, stored_array

CHUNK = 1 << 24  # bytes copied at once
LINE = re.compile(rb"(\d+) ([0-9a-f]{64})\n")  # of the journal: a run and its digest


class SplitWriter:
    """`with SplitWriter(...) as writer: writer.write(start, u, static)` for every run, then `writer.finish()`."""

    def __init__(self, path: Path, dataset: Dataset, runs: int, grid: Grid, source: str, recipe: dict):
        self.path, self.runs = path, runs
        self.part, self.journal = path.with_suffix(".hdf5.part"), journal_path(path)
        self.header = json.dumps(
            {"runs": runs, "frames": len(grid.times), "source": source, "recipe": recipe}, sort_keys=True
        )
        self.recipe_json = json.dumps(recipe, sort_keys=True)
        self.done: dict[int, str] = {}  # run -> sha256
        with explain_os_error(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            is_begun = self._resume()
            if not is_begun:
                self.journal.unlink(missing_ok=True)  # of other content: it must not name runs of this one
            if not is_begun or not self.missing():
                self._new_part(dataset, runs, grid, source)
            if not is_begun:
                self.journal.write_text(self.header + "\n")
            with h5py.File(self.part, "r") as file:
                self.fields = locate_fields(file, self.part)

    def _resume(self) -> bool:
        """Take up an interrupted file if it is for the same content."""
        if not (self.part.exists() and self.journal.exists()):
            return False
        head, *lines = self.journal.read_bytes().splitlines(keepends=True) or [b""]
        if head != f"{self.header}\n".encode() or not h5py.is_hdf5(self.part):
            return False
        whole = [match for match in takewhile(bool, map(LINE.fullmatch, lines)) if match]
        os.truncate(self.journal, len(head) + sum(len(match[0]) for match in whole))  # else a torn line leads the next
        self.done = {int(match[1]): match[2].decode() for match in whole}
        return True

    def _new_part(self, dataset: Dataset, runs: int, grid: Grid, source: str) -> None:
        """An empty file, or one with the values of a part that has all its runs: a kill may have torn its header.

        HDF5 then opens it no more, but the values are where they are in any file with the same skeleton.
        """
        new = self.path.with_suffix(".hdf5.new")
        create_skeleton(new, dataset, runs, grid, source, self.recipe_json)
        if self.done:
            with h5py.File(new, "r") as file:
                fields = locate_fields(file, new)
            for field in fields.values():
                copy_bytes(self.part, new, field.offset, runs * field.run_bytes)
        os.replace(new, self.part)

    def missing(self) -> list[int]:
        return [i for i in range(self.runs) if i not in self.done]

    def write(self, runs: list[int], u: np.ndarray, static: np.ndarray | None) -> None:
        """Values (len(runs), T, H, W, C) and (len(runs), H, W, Cs)."""
        if not np.isfinite(u).all():
            raise DataError(
                f"{self.path}: non-finite values in run {_first_bad(runs, u)}; lower the time step or check the input"
            )
        with explain_os_error(self.path), open(self.part, "r+b") as file:
            digests = [
                self._write_run(file.fileno(), i, u[k], None if static is None else static[k])
                for k, i in enumerate(runs)
            ]
            os.fdatasync(file.fileno())
        with explain_os_error(self.path), open(self.journal, "a") as journal:
            journal.writelines(f"{i} {d}\n" for i, d in zip(runs, digests, strict=True))
            journal.flush()
            os.fsync(journal.fileno())
        self.done.update(zip(runs, digests, strict=True))

    def _write_run(self, fd: int, run: int, u: np.ndarray, static: np.ndarray | None) -> str:
        digest = hashlib.sha256()
        arrays = {"u": u} | ({} if static is None else {n: static[..., k] for k, n in enumerate(self._static_names())})
        for name, values in arrays.items():
            field = self.fields[name]
            data = np.ascontiguousarray(values, dtype="<f4").reshape(field.shape[1:])
            _pwrite_all(fd, data, field.offset + run * field.run_bytes)
            digest.update(data.data)
        return digest.hexdigest()

    def _static_names(self) -> list[str]:
        return [name for name in self.fields if name != "u"]

    def finish(self) -> None:
        missing = self.missing()
        if missing:
            raise DataError(f"{self.path}: {len(missing)} of {self.runs} runs are not written yet")
        digests = [self.done[i] for i in range(self.runs)]
        values = np.frombuffer(bytes.fromhex("".join(digests)), np.uint8).reshape(-1, 32)
        with explain_os_error(self.path):
            with h5py.File(self.part, "r+") as file:
                stored_array(file, "digests")[...] = values
                file.attrs["fingerprint"] = fingerprint(self.recipe_json, digests)
            with open(self.part, "rb") as file:
                os.fsync(file.fileno())
            os.replace(self.part, self.path)
            self.journal.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None:
            self.finish()


def journal_path(path: Path) -> Path:
    """Beside the file under way: which of its runs are there."""
    return path.with_suffix(".hdf5.journal")


def copy_bytes(source: Path, target: Path, offset: int, count: int) -> None:
    """From one file to the same place in another, and to the disk."""
    with source.open("rb") as old, target.open("r+b") as new:
        old.seek(offset)
        new.seek(offset)
        while count and (data := old.read(min(count, CHUNK))):
            new.write(data)
            count -= len(data)
        new.flush()
        os.fsync(new.fileno())


def fingerprint(recipe_json: str, digests: list[str]) -> str:
    """What a set of runs is known by: its recipe and the digest of every run."""
    return hashlib.sha256("\n".join([recipe_json, *digests]).encode()).hexdigest()


def _first_bad(runs: list[int], u: np.ndarray) -> int:
    bad = ~np.isfinite(u.reshape(len(runs), -1)).all(axis=1)
    return runs[int(bad.argmax())]


def _pwrite_all(fd: int, data: np.ndarray, offset: int) -> None:
    view = data.data.cast("B")
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written


@contextmanager
def explain_os_error(path: Path) -> Iterator[None]:
    """A full disk or a read-only folder, in words."""
    try:
        yield
    except OSError as error:
        elsewhere = "choose another folder with BENCHMARK_DATA"
        remedy = {
            errno.ENOSPC: "the disk is full: free some space and run the same command again (what is there is kept), "
            f"or {elsewhere}",
            errno.EACCES: f"no permission to write: {elsewhere}, or change the folder's mode",
            errno.EROFS: f"the file system is read-only: {elsewhere}",
        }.get(error.errno or 0, str(error))
        raise DataError(f"{path}: {remedy}") from error
