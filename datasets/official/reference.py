"""Published statistics of the official files, compared with those of what was imported.

A standard deviation or mean agrees within 3 % of the published standard deviation (one frame more or less moves it by
up to 2 %) plus three standard errors, which count when only a part of a set was imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Literal

import numpy as np

from benchmark.core import Split
from datasets.layout import Field, locate_fields, stored_array
from datasets.official.parts import BLOCK_BYTES
from datasets.store import open_checked

SLACK = 0.03
ALL: tuple[Split, ...] = ("train", "valid", "test")


@dataclass(frozen=True)
class Reference:
    label: str
    kind: Literal["mean", "std"]
    expected: float
    std: float  # the scale of the slack
    field: str = "u"
    time: float | None = None  # one frame; None: all of them
    splits: tuple[Split, ...] = ALL


def _both(label: str, mean: float, std: float, name: str = "u") -> tuple[Reference, Reference]:
    return Reference(f"{label} mean", "mean", mean, std, name), Reference(f"{label} std", "std", std, std, name)


def _std(label: str, std: float, time: float | None = None, splits: tuple[Split, ...] = ALL) -> Reference:
    return Reference(f"{label} std", "std", std, std, time=time, splits=splits)


REFERENCES: dict[str, tuple[Reference, ...]] = {
    "wave_layer": (*_both("solution", 0.034674, 0.104424), *_both("c", 3498.56, 647.84, "c")),
    "allen_cahn": _both("solution", 0.002484, 0.653512),
    "navier_stokes": (_std("a", 0.26211, time=0.0), _std("u at t = 1", 0.25613, time=1.0)),
    "helmholtz": (_std("f_data", 0.28445, time=0.0), _std("psi_data", 0.0042800, time=1.0)),
    "kolmogorov": (_std("training seeds", 4.7870, splits=("train", "valid")), _std("all seeds", 4.7846)),
}


@dataclass(frozen=True)
class Statistic:
    name: str
    expected: float
    found: float
    tolerance: float
    verdict: Literal["agrees", "differs", "too few samples"]


@dataclass
class Moments:
    """Mean and mean square of every run."""

    means: list[float] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)

    def add(self, run: np.ndarray) -> None:
        x = run.ravel().astype(np.float64)
        self.means.append(float(x.mean()))
        self.squares.append(float(x @ x) / x.size)

    def compare(self, reference: Reference) -> Statistic:
        m, q = np.array(self.means), np.array(self.squares)
        mean = m.mean()
        std = sqrt(max(q.mean() - mean**2, 0.0))
        spread = m if reference.kind == "mean" else (q - 2 * mean * m) / (2 * std or 1.0)  # first order in the errors
        error = float(spread.std(ddof=1)) / sqrt(len(m)) if len(m) > 1 else reference.std
        found = float(mean if reference.kind == "mean" else std)
        tolerance = SLACK * reference.std + 3 * error
        far = abs(found - reference.expected) > tolerance
        verdict = "differs" if far else "agrees" if tolerance < reference.std / 2 else "too few samples"
        return Statistic(reference.label, reference.expected, found, tolerance, verdict)


def check_statistics(dataset: str, paths: Mapping[Split, Path]) -> tuple[Statistic, ...]:
    """Every published statistic that the stored frames allow to compute."""
    references = REFERENCES.get(dataset, ())
    moments = {reference: Moments() for reference in references}
    for split, path in paths.items():
        times, fields = _describe(path)
        wanted = [r for r in references if split in r.splits and (r.time is None or r.time in times)]
        for name in dict.fromkeys(r.field for r in wanted):
            for run in _runs(path, fields[name]):
                for r in wanted:
                    if r.field == name:
                        moments[r].add(run if r.time is None else run[times.index(r.time)])
    return tuple(m.compare(r) for r, m in moments.items() if m.means)


def _describe(path: Path) -> tuple[list[float], dict[str, Field]]:
    with open_checked(path) as file:
        return stored_array(file, "dimensions/time")[:].tolist(), locate_fields(file, path)


def _runs(path: Path, values: Field) -> Iterator[np.ndarray]:
    per_block = max(1, BLOCK_BYTES // values.run_bytes)
    for start in range(0, values.shape[0], per_block):
        count = min(per_block, values.shape[0] - start)
        offset = values.offset + start * values.run_bytes
        block = np.fromfile(path, "<f4", count * values.run_bytes // 4, offset=offset)
        yield from block.reshape(count, *values.shape[1:])
