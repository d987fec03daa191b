"""Stored trajectories: as long as the set, in memory only what is indexed.

A batch is read straight from the page cache into its own tensor (one `pread` a trajectory, no HDF5 in between, no
shared file position), so that reading is as fast as copying memory, resident memory does not grow with the set, and
forked or spawned DataLoader workers can use the same object.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import h5py
import numpy as np
import torch
from torch import Tensor

from benchmark.core import Dataset, Grid, Split, Trajectories
from benchmark.core.equation import Equation
from datasets.layout import DataError, Field, locate_fields, number, recipe, split_path, stored_array, understood
from datasets.writer import fingerprint


class StoredTrajectories:
    """A `TrajectorySet` over one file: clips of `grid` cut out of the stored runs."""

    def __init__(self, path: Path, grid: Grid, equation: Equation, runs: int, clips: int, stride: int, count: int):
        self.path, self.grid, self.equation = path, grid, equation
        self.clips, self.stride, self.count = clips, stride, count  # clips of a run, frames between them, clips in all
        with open_checked(path) as file, understood(path):
            self.fields: dict[str, Field] = locate_fields(file, path)
            self.source = str(file.attrs["source"])
            digests = [bytes(d).hex() for d in stored_array(file, "digests")[:runs]]
            self.fingerprint = fingerprint(str(file.attrs["recipe"]), digests)
        self._fd: int | None = None
        self._pid = -1

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: slice | Sequence[int] | Tensor) -> Trajectories:
        numbers = range(self.count)[index] if isinstance(index, slice) else [self._number(i) for i in index]
        u = self._read("u", [(i // self.clips, i % self.clips * self.stride) for i in numbers], len(self.grid.times))
        static = [self._read(name, [(i // self.clips, 0) for i in numbers], 1) for name in self.fields if name != "u"]
        return Trajectories(
            u=u if u.ndim == 5 else u[..., None],
            grid=self.grid,
            equation=self.equation,
            static=torch.stack(static, dim=-1) if static else None,
        )

    def runs(self, count: int) -> list[int]:
        """The run that each of the first `count` clips is cut out of; clips of one run are not independent."""
        return [i // self.clips for i in range(count)]

    def _number(self, index: int | Tensor) -> int:
        i = int(index)
        if not -self.count <= i < self.count:
            raise IndexError(f"{self.path}: trajectory {i} of {self.count}")
        return i % self.count

    def _read(self, name: str, places: Sequence[tuple[int, int]], frames: int) -> Tensor:
        """(run, first frame) pairs -> (B, frames, H, W[, C]), or (B, H, W) of a static field."""
        field = self.fields[name]
        video = name == "u"
        shape = (frames, *field.shape[2:]) if video else field.shape[1:]
        out = np.empty((len(places), *shape), dtype=np.float32)
        frame_bytes = field.run_bytes // field.shape[1] if video else 0
        for row, (run, start) in zip(out, places, strict=True):
            self._read_into(row, field.offset + run * field.run_bytes + start * frame_bytes)
        return torch.from_numpy(out)

    def _read_into(self, row: np.ndarray, offset: int) -> None:
        view = row.data.cast("B")
        while view:
            got = os.preadv(self._descriptor(), [view], offset)
            if not got:
                raise DataError(f"{self.path}: truncated at byte {offset}; remove it and generate or import it again")
            view, offset = view[got:], offset + got

    def _descriptor(self) -> int:
        if self._fd is None or self._pid != os.getpid():
            self._fd, self._pid = os.open(self.path, os.O_RDONLY), os.getpid()
        return self._fd

    def __del__(self) -> None:
        descriptor: int | None = getattr(self, "_fd", None)
        if descriptor is not None and self._pid == os.getpid():
            os.close(descriptor)

    def __getstate__(self) -> dict:
        return {**vars(self), "_fd": None}


def open_checked(path: Path) -> h5py.File:
    try:
        file = h5py.File(path, "r")
    except FileNotFoundError:
        raise DataError(f"{path}: not there; run `python -m benchmark data generate` first") from None
    except PermissionError:
        raise DataError(f"{path}: no permission to read it") from None
    except OSError as error:
        remedy = "remove it and generate or import it again"
        raise DataError(f"{path}: not a readable HDF5 file ({error}); {remedy}") from error
    with understood(path):
        return _with_attributes(file, path)


def _with_attributes(file: h5py.File, path: Path) -> h5py.File:
    missing = [key for key in ("recipe", "source", "fingerprint") if key not in file.attrs]
    if missing or "digests" not in file:
        file.close()
        raise DataError(
            f"{path}: not a data file of this suite (no attribute {', '.join(missing) or 'digests'}); "
            "bring it in with `data import`"
        )
    return file


def open_split(dataset: Dataset, split: Split, root: Path, *, frames: int | None = None) -> StoredTrajectories:
    """The stored trajectories of a split, `frames` frames each (default: the profile's).

    An official set may have fewer runs, and fewer frames per trajectory, than the profile: then it gives what it has.
    """
    path, layout = split_path(dataset, split, root), dataset.layout(split)
    frames = frames or dataset.sizes.frames
    with open_checked(path) as file, understood(path):
        source, stored = str(file.attrs["source"]), number(file, "n_trajectories")
        kept, made_by = len(stored_array(file, "dimensions/time")), json.loads(str(file.attrs["recipe"]))
        if source == "generated" and made_by != json.loads(json.dumps(recipe(dataset))):
            raise DataError(f"{path}: made by another recipe; remove it and run `data generate` again")
        times = tuple(float(t) for t in stored_array(file, "dimensions/time")[:frames])
    if stored < 1 or kept < 1:
        raise DataError(f"{path}: holds {stored} runs of {kept} frames; remove it and generate or import it again")
    official = source != "generated"
    if official and frames == dataset.sizes.frames:
        frames = min(frames, kept)
    if kept < frames or (stored < layout.runs and not official):
        raise DataError(
            f"{path}: holds {stored} runs of {kept} frames, {layout.runs} of {max(frames, layout.frames)} are asked "
            + ("for; the official set has no longer ones" if official else "for; `data generate` extends it")
        )
    runs, wanted = min(stored, layout.runs), getattr(dataset.sizes, split)
    grid = dataset.grid(frames)
    if official and times != grid.times:
        grid = Grid(grid.shape, grid.lengths, times, grid.boundary)
    if official:
        stride = made_by.get("clip_stride") or even_stride(kept - frames, runs, wanted)
        per_run = (kept - frames) // stride + 1
    else:
        stride, per_run = layout.stride, layout.clips(frames) if layout.frames >= frames else 1
    count = min(runs * per_run, wanted)
    return StoredTrajectories(path, grid, dataset.equation(), runs, per_run, stride, count)


def even_stride(room: int, runs: int, wanted: int) -> int:
    """Frames between clips that spread `wanted` of them over the runs, when the last may start at frame `room`."""
    per_run = -(-wanted // runs)
    return max(1, room // (per_run - 1)) if per_run > 1 else room + 1
