"""Where mean and standard deviation of a set must lie: published values for official files, the ranges that a generator
with the published settings reaches for generated ones.

A band is widened by three standard errors, so that a small sample is judged fairly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from benchmark.core import Dataset, Trajectories
from datasets.official.reference import REFERENCES, SLACK

FEWEST = 16  # trajectories that give a standard error


@dataclass(frozen=True)
class Band:
    label: str
    kind: Literal["mean", "std"]
    low: float
    high: float
    field: str = "u"  # "u" or a static field
    time: float | None = None  # one frame; None: all of them


GENERATED: dict[str, tuple[Band, ...]] = {
    "wave_layer": (
        Band("mean", "mean", 0.02, 0.05),
        Band("std", "std", 0.09, 0.13),
        Band("mean of c", "mean", 3395.0, 3605.0, "c"),
    ),
    "navier_stokes": (Band("std at t = 0", "std", 0.98 * 0.262, 1.02 * 0.262, time=0.0),),
    "kolmogorov": (Band("mean", "mean", -1e-3, 1e-3), Band("std", "std", 4.4, 5.1)),
    "allen_cahn": (Band("mean", "mean", -0.05, 0.05), Band("std", "std", 0.62, 0.68)),
    "helmholtz": (
        Band("std of a", "std", 0.97 * 0.284, 1.03 * 0.284, time=0.0),
        Band("std of u", "std", 0.94 * 0.00425, 1.06 * 0.00425, time=1.0),
    ),
}


def bands(dataset: Dataset, source: str, split: str) -> tuple[Band, ...]:
    """The bands of a split's file; none where its settings are not the published ones."""
    if source != "generated":
        references = [r for r in REFERENCES.get(dataset.name, ()) if split in r.splits]
        slack = {r: SLACK * r.std for r in references}
        return tuple(Band(r.label, r.kind, r.expected - s, r.expected + s, r.field, r.time) for r, s in slack.items())
    return GENERATED[dataset.name] if dataset.name in GENERATED and _published(dataset) else ()


def _published(dataset: Dataset) -> bool:
    """Whether the settings are the paper profile's, seed and set sizes aside."""
    paper, own = dataset.profiles["paper"], dataset.settings
    same_grid = (own.sizes.resolution, own.sizes.frames) == (paper.sizes.resolution, paper.sizes.frames)
    return same_grid and replace(own, sizes=paper.sizes, seed=paper.seed) == paper


def statistic(band: Band, clips: Sequence[Trajectories], names: Sequence[str]) -> tuple[float, float] | None:
    """The value and its standard error; None where the frame is not stored or the sample too small."""
    times = clips[0].grid.times
    if band.time is not None and band.time not in times or sum(map(len, clips)) < FEWEST:
        return None
    runs = [_values(band, c, names) for c in clips]  # each (B, n)
    means = torch.cat([r.mean(1, dtype=torch.float64) for r in runs])
    squares = torch.cat([r.double().square().mean(1) for r in runs])
    mean = means.mean()
    std = (squares.mean() - mean**2).sqrt()
    spread = means if band.kind == "mean" else (squares - 2 * mean * means) / (2 * std)  # first order in the errors
    return (mean if band.kind == "mean" else std).item(), (spread.std() / len(means) ** 0.5).item()


def _values(band: Band, clips: Trajectories, names: Sequence[str]) -> Tensor:
    if band.field != "u":
        assert clips.static is not None
        return clips.static[..., list(names).index(band.field)].flatten(1)
    frame = slice(None) if band.time is None else clips.grid.times.index(band.time)
    return clips.u[:, frame].flatten(1)
