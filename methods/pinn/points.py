"""Where a network is asked: at all sites of the grid, at times drawn with deepxde's samplers.

Whole slices, not scattered points: coefficients and known frames are looked up, what a grid cannot resolve stays
orthogonal to what it can, and products can be dealiased as the data's solver does. Scattered points are overfitted.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from benchmark.core import Grid
from methods.blocks.networks.deepxde import unit_points
from methods.blocks.training.batches import derived_seed

POOL = 256  # sets of times that Adam draws from


@dataclass(frozen=True)
class Sampling:
    slices: int  # times of an Adam step, drawn anew for each
    fixed: int  # times of L-BFGS
    sensors: int  # readings of an instance in an Adam step, at most


@dataclass(frozen=True)
class Points:
    """Sites as flat indices, and times; (1, N) where all instances share them."""

    site: Tensor  # (B or 1, N)
    time: Tensor  # (B or 1, N)

    @classmethod
    def slices(cls, sites: Tensor, times: Tensor) -> Points:
        """The sites (M,) at each of the times (S,), N = S M."""
        return cls(sites.repeat(len(times))[None], times.repeat_interleave(len(sites))[None])


class Sites:
    """Coordinates of all sites, where the equation holds, where walls are and which way they face."""

    def __init__(self, grid: Grid, device: torch.device):
        h, w = grid.shape
        self.x, self.y = (v.expand(h, w).flatten() for v in grid.axes(device=device))  # (HW,)
        normal = torch.zeros(2, h, w)
        if grid.boundary != "periodic":
            normal[1, 1:-1, 0], normal[1, 1:-1, -1] = -1, 1
            normal[0, 0], normal[0, -1] = -1, 1  # with the corners
        wall = normal.any(0).flatten()
        self.normal = normal.flatten(1).to(device)  # (2, HW), outward
        self.inner, self.walls = ((~wall).nonzero()[:, 0].to(device), wall.nonzero()[:, 0].to(device))


class Collocation:
    """The times at which the equation is asked for: a fixed even set with both ends, or random ones for each step."""

    def __init__(self, grid: Grid, sampling: Sampling, steady: bool, seed: int, device: torch.device):
        self.first, self.span, self.seed, self.device = grid.times[0], grid.times[-1] - grid.times[0], seed, device
        self.count = 1 if steady else sampling.slices
        self.fixed = self._times(torch.linspace(0, 1, 1 if steady else sampling.fixed))
        pool = POOL * self.count
        self.pool = unit_points(pool, 1, "Halton", seed)[:, 0] + torch.rand(1, generator=self.generator(None))

    def __call__(self, step: int | None) -> Tensor:
        """Times (S,); step None: the fixed ones."""
        if step is None:
            return self.fixed
        chosen = torch.randint(len(self.pool), (self.count,), generator=self.generator(step))
        return self._times(self.pool[chosen] % 1)

    def generator(self, step: int | None) -> Generator:
        return Generator().manual_seed(derived_seed(self.seed, 0 if step is None else 1 + step))

    def _times(self, place: Tensor) -> Tensor:
        return (self.first + self.span * place).to(self.device)
