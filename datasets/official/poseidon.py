"""Poseidon's NetCDF files, which are HDF5: one assembled file, or numbered chunks beside `c_0.nc`.

solution (sample, time, x, y)    Wave-Layer.nc: 10512 x 21 x 128 x 128,  ACE.nc: 15000 x 20 x 128 x 128
c        (sample, x, y)          Wave-Layer's speed; c_0.nc holds it for all chunks, in their order
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from benchmark.core import Dataset
from datasets.layout import DataError, stored_array
from datasets.official.parts import (
    KEYS,
    Block,
    OfficialSet,
    block_ranges,
    hdf5_shapes,
    numbered,
    open_hdf5,
    readable,
    require_keys,
    require_shape,
    require_values,
)

ASSEMBLED = {"wave_layer": "Wave-Layer.nc", "allen_cahn": "ACE.nc"}
SAMPLES = {"wave_layer": 10_512, "allen_cahn": 15_000}
FRAMES = {"wave_layer": 21, "allen_cahn": 20}


@dataclass(frozen=True)
class SolutionPart:
    path: Path
    count: int
    resolution: int
    speed: Path | None = None  # the file with `c`
    speed_offset: int = 0  # where this file's samples start in `c`

    def blocks(self, start: int, stop: int, frames: slice) -> Iterator[Block]:
        with ExitStack() as stack:
            u = stored_array(stack.enter_context(open_hdf5(self.path)), "solution")
            c = stored_array(stack.enter_context(open_hdf5(self.speed)), "c") if self.speed else None
            length = len(range(*frames.indices(u.shape[1])))
            for i, j in block_ranges(start, stop, length * self.resolution**2):
                with readable(self.path):
                    values = np.asarray(u[i:j, frames], dtype=np.float32)
                yield i, values, None if c is None else self._speeds(c, i, j)

    def _speeds(self, c: h5py.Dataset, start: int, stop: int) -> np.ndarray:
        first, path = self.speed_offset + start, self.speed or self.path
        with readable(path):
            values = np.asarray(c[first : self.speed_offset + stop], dtype=np.float32)
        require_values(path, first, values)
        return values[..., None]  # (n, H, W, 1)


def open_poseidon(dataset: Dataset, source: Path) -> OfficialSet:
    assembled = source / ASSEMBLED[dataset.name] if source.is_dir() else source
    if assembled.is_file() or not source.is_dir():
        parts, frames = _open_assembled(dataset, assembled)
    else:
        parts, frames = _open_chunks(dataset, source)
    duration = dataset.settings.duration * getattr(dataset.settings, "zoom", 1.0) ** 2
    dt = duration / (frames - 1)
    n = dataset.sizes.resolution
    inputs = dict.fromkeys([p.path for p in parts] + [p.speed for p in parts if p.speed])
    return OfficialSet(
        tuple(parts),
        tuple(dt * i for i in range(frames)),
        (n, n),
        tuple(inputs),
        warnings=_warnings(dataset, parts, frames),
    )


def _open_assembled(dataset: Dataset, path: Path) -> tuple[list[SolutionPart], int]:
    count, frames, speeds = _inspect(dataset, path, with_speed=bool(dataset.static_names))
    if speeds is not None and speeds != count:
        raise DataError(f"{path}: expected `c` for each of the {count} samples, found {speeds}; download it again")
    return [SolutionPart(path, count, dataset.sizes.resolution, None if speeds is None else path)], frames


def _open_chunks(dataset: Dataset, folder: Path) -> tuple[list[SolutionPart], int]:
    chunks = dict(numbered(list(folder.glob("solution_*.nc"))))
    _require_chunks(dataset, folder, chunks)
    speed = folder / "c_0.nc" if dataset.static_names else None
    parts, frames, offset = [], 0, 0
    for path in chunks.values():
        count, found, _ = _inspect(dataset, path, with_speed=False)
        if parts and found != frames:
            raise DataError(
                f"{path}: expected {frames} frames as in {parts[0].path.name}, found {found}; download it again"
            )
        parts.append(SolutionPart(path, count, dataset.sizes.resolution, speed, offset))
        frames, offset = found, offset + count
    if speed:
        _require_speeds(dataset, speed, offset)
    return parts, frames


def _require_chunks(dataset: Dataset, folder: Path, chunks: dict[int, Path]) -> None:
    if not chunks:
        present = ", ".join(sorted(p.name for p in folder.iterdir())) or "nothing"
        raise DataError(f"{folder}: expected {ASSEMBLED[dataset.name]} or solution_0.nc, solution_1.nc, ..., found "
                        f"{present}; give the folder the official files were downloaded to")  # fmt: skip
    gap = next((i for i in range(max(chunks) + 1) if i not in chunks), None)
    if gap is not None:
        raise DataError(f"{folder}: expected solution_0.nc to solution_{max(chunks)}.nc, solution_{gap}.nc is missing; "
                        "download it, or remove the chunks after it")  # fmt: skip


def _require_speeds(dataset: Dataset, path: Path, samples: int) -> None:
    """`c` may hold more samples than the chunks that are there, never fewer."""
    with open_hdf5(path) as file:
        found = hdf5_shapes(file)
    n = dataset.sizes.resolution
    if "c" not in found:
        raise DataError(f"{path}: expected the variable c, found {', '.join(found) or 'none'}; download it again")
    require_shape(path, "c", found["c"], ("N", n, n))
    if found["c"][0] < samples:
        raise DataError(f"{path}: expected `c` of at least {samples} samples, found {found['c'][0]}; download it again")


def _inspect(dataset: Dataset, path: Path, with_speed: bool) -> tuple[int, int, int | None]:
    """Samples, frames, and samples of `c`."""
    with open_hdf5(path) as file:
        found = hdf5_shapes(file)
    require_keys(path, dataset.name, found, KEYS[dataset.name] if with_speed else ("solution",))
    n = dataset.sizes.resolution
    require_shape(path, "solution", found["solution"], ("N", "T", n, n))
    if with_speed:
        require_shape(path, "c", found["c"], ("N", n, n))
    return found["solution"][0], found["solution"][1], found["c"][0] if with_speed else None


def _warnings(dataset: Dataset, parts: list[SolutionPart], frames: int) -> tuple[str, ...]:
    found, name = sum(p.count for p in parts), dataset.name
    result = []
    if found != SAMPLES[name]:
        result.append(f"{name}: {found} samples, the official set has {SAMPLES[name]}")
    if frames != FRAMES[name]:
        result.append(f"{name}: {frames} frames, the official set has {FRAMES[name]}: is it another set of Poseidon's?")
    return tuple(result)
