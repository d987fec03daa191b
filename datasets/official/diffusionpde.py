"""DiffusionPDE's MATLAB files: version 5 (scipy) or 7.3 (HDF5 with reversed axes).

    Navier-Stokes  a (N, H, W) at t = 0,  u (N, H, W, 10) with time last,  t (1, 10)
    Helmholtz      f_data (N, H, W) the source,  psi_data (N, H, W) the solution

The training set is a folder of numbered files; the test set is the file of the same name without a number. A version 5
variable can only be read as a whole: one is held at a time, the others of its file as float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from scipy.io import loadmat, whosmat

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
)

NAMES = {"navier_stokes": ("ns-nonbounded*.mat", "ns_*.mat"), "helmholtz": ("helmholtz*.mat",)}
SAMPLES = {"navier_stokes": 50_000, "helmholtz": 50_000}  # for training

FrameKey = tuple[str, int | None]  # the variable a frame comes from, and its place on the last axis


@dataclass(frozen=True)
class MatPart:
    path: Path
    count: int
    frame_keys: tuple[FrameKey, ...]  # one a frame
    shape: tuple[int, int]

    def blocks(self, start: int, stop: int, frames: slice) -> Iterator[Block]:
        window = self.frame_keys[frames]
        keys = list(dict.fromkeys(key for key, _ in window))
        with _variables(self.path, keys) as variables:
            for i, j in block_ranges(start, stop, len(window) * self.shape[0] * self.shape[1]):
                with readable(self.path):
                    parts = {key: variables[key][i:j] for key in keys}
                u = np.empty((j - i, len(window), *self.shape), dtype=np.float32)
                for frame, (key, place) in enumerate(window):
                    u[:, frame] = parts[key] if place is None else parts[key][..., place]
                yield i, u, None


class Reversed:
    """A MATLAB array inside HDF5, with its axes in MATLAB's order; only what is indexed is read."""

    def __init__(self, data: h5py.Dataset):
        self.data = data

    def __getitem__(self, samples: slice) -> np.ndarray:
        return self.data[..., samples].T


@contextmanager
def _variables(path: Path, keys: list[str]) -> Iterator[Mapping[str, Any]]:
    """Arrays that can be sliced along the samples."""
    if h5py.is_hdf5(path):
        with open_hdf5(path) as file:
            yield {key: Reversed(stored_array(file, key)) for key in keys}
    else:
        arrays = {}
        for key in keys:
            array = _load(path, key)
            arrays[key] = array if key == keys[-1] else np.asarray(array, dtype=np.float32)
            del array
        yield arrays


def _load(path: Path, key: str) -> np.ndarray:
    with readable(path):
        return loadmat(path, variable_names=[key])[key]


def _shapes(path: Path) -> dict[str, tuple[int, ...]]:
    with readable(path):
        if not path.is_file():
            raise FileNotFoundError(path)
        if h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                return {key: shape[::-1] for key, shape in hdf5_shapes(file).items()}
        return {name: tuple(shape) for name, shape, _ in whosmat(path)}


def open_diffusionpde(dataset: Dataset, source: Path) -> OfficialSet:
    train_paths, test_paths = _files(dataset, source)
    opened = [_open_part(dataset, path) for path in train_paths + test_paths]
    times = opened[0][1]
    for part, found in opened:
        if found != times:
            raise DataError(f"{part.path}: expected the times {times} as in {opened[0][0].path.name}, found {found}")
    parts = tuple(part for part, _ in opened)
    train, test = parts[: len(train_paths)], parts[len(train_paths) :]
    return OfficialSet(
        train,
        times,
        parts[0].shape,
        tuple(p.path for p in parts),
        test=test,
        warnings=_warnings(dataset, source, train, test),
    )


def _files(dataset: Dataset, source: Path) -> tuple[list[Path], list[Path]]:
    """Training files and the test file; a file alone serves both."""
    if not source.is_dir():
        return [source], []
    found = sorted({p for pattern in NAMES[dataset.name] for p in source.rglob(pattern)})
    ordered = numbered(found)
    train, test = [p for _, p in ordered], [p for p in found if all(p != q for _, q in ordered)]
    doubled = len({i for i, _ in ordered}) < len(ordered)
    if not found or doubled or len(test) > 1:
        present = ", ".join(str(p.relative_to(source)) for p in sorted(source.rglob("*.mat"))) or "no .mat file"
        raise DataError(f"{source}: expected numbered training files ({' or '.join(NAMES[dataset.name])}) and one "
                        f"test file without a number, found {present}; give the folder of these or a file")  # fmt: skip
    return (train, test) if train else (test, [])


def _open_part(dataset: Dataset, path: Path) -> tuple[MatPart, tuple[float, ...]]:
    shapes = _shapes(path)
    require_keys(path, dataset.name, shapes)
    n = dataset.sizes.resolution
    for key in KEYS[dataset.name]:
        if key != "t":
            require_shape(path, key, shapes[key], ("N", n, n, "T") if key == "u" else ("N", n, n))
    first, second = KEYS[dataset.name][:2]
    count = shapes[first][0]
    if shapes[second][0] != count:
        raise DataError(
            f"{path}: expected as many {second} as {first}, found {shapes[second][0]} and {count}; download it again"
        )
    if dataset.name == "helmholtz":
        return MatPart(path, count, (("f_data", None), ("psi_data", None)), (n, n)), (0.0, 1.0)
    frame_keys = (("a", None), *(("u", k) for k in range(shapes["u"][3])))
    return MatPart(path, count, frame_keys, (n, n)), (0.0, *_times(path, shapes["u"][3]))


def _times(path: Path, count: int) -> tuple[float, ...]:
    with _variables(path, ["t"]) as variables:
        times = [float(f"{t:.6g}") for t in np.ravel(variables["t"][:])]  # without the noise of single precision
    if len(times) != count or any(b <= a for a, b in pairwise([0.0, *times])):
        raise DataError(f"{path}: t: expected {count} increasing times after 0, found {times}; download it again")
    return tuple(times)


def _warnings(dataset: Dataset, source: Path, train: tuple[MatPart, ...], test: tuple[MatPart, ...]) -> tuple[str, ...]:
    result, count = [], sum(p.count for p in train)
    if count != SAMPLES[dataset.name]:
        result.append(f"{dataset.name}: {count} training samples, the official set has {SAMPLES[dataset.name]}")
    if not test:
        result.append(f"{source}: no separate test file; the last samples are the test set")
    return tuple(result)
