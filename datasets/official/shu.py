"""Shu's Kolmogorov file: kf_2d_re1000_256_40seed.npy, float32 (40, 320, 256, 256) = (seed, time, x, y).

A seed is one long run; clips are cut out of it by the reader, and no seed is in two splits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.core import Dataset
from datasets.layout import DataError
from datasets.official.parts import Block, OfficialSet, block_ranges, readable, require_shape

SEEDS = 40
FACTFORMER_SEEDS = 120


@dataclass(frozen=True)
class SeedPart:
    path: Path
    shape: tuple[int, ...]  # (seeds, T, H, W)

    @property
    def count(self) -> int:
        return self.shape[0]

    def blocks(self, start: int, stop: int, frames: slice) -> Iterator[Block]:
        for i, j in block_ranges(start, stop, int(np.prod(self.shape[1:]))):
            with readable(self.path):
                # mapped anew, so that pages read are given back
                runs = np.load(self.path, mmap_mode="r", allow_pickle=False)[i:j, frames]
                u = np.array(runs, dtype=np.float32)
            del runs
            yield i, u, None


def open_shu(dataset: Dataset, source: Path) -> OfficialSet:
    path = _find(source)
    with readable(path):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise DataError(f"{path}: expected an .npy array (seed, time, x, y), found an archive (the companion with "
                            "sparse sensors?); give kf_2d_re1000_256_40seed.npy")  # fmt: skip
    n = dataset.sizes.resolution
    require_shape(path, "array", array.shape, ("seeds", "T", n, n))
    if array.dtype.kind != "f":
        raise DataError(f"{path}: expected float values, found {array.dtype}; give kf_2d_re1000_256_40seed.npy")
    times = dataset.grid(array.shape[1]).times
    part = SeedPart(path, array.shape)
    return OfficialSet((part,), times, (n, n), (path,), whole_runs=True, warnings=_warnings(array.shape[0]))


def _find(source: Path) -> Path:
    if not source.is_dir():
        return source
    found = sorted(source.glob("*.npy"))
    named = [p for p in found if p.name.endswith("_40seed.npy")] or found
    if len(named) != 1:
        present = ", ".join(p.name for p in sorted(source.iterdir())) or "nothing"
        raise DataError(f"{source}: expected kf_2d_re1000_256_40seed.npy, found {present}; give the file itself")
    return named[0]


def _warnings(seeds: int) -> tuple[str, ...]:
    if seeds == FACTFORMER_SEEDS:
        return (
            "kolmogorov: 120 seeds: this looks like FactFormer's file, whose forcing has wavenumber 8 instead of 4",
        )
    return () if seeds == SEEDS else (f"kolmogorov: {seeds} seeds, the official file has {SEEDS}",)
