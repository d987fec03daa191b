"""What a deterministic network is told of a problem, channels first and in normalised units.

frames  (B, F, K, H, W)  the frames a task lets see: values; where they are sparse also the mask, and each site's
                         nearest sensor (Voronoi fill, Fukami et al. 2021)
still   (B, Ks, H, W)    coefficient fields and coordinates: sin and cos of 2 pi x / L on a periodic axis (the force
                         may depend on the place, so they are needed there too), x / L between walls
start   (B, T, C, H, W)  what the network corrects: the frame in full that is given, at all times, else nothing
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor

from benchmark.core import Grid, Problem, Task
from methods.blocks.normaliser import Normaliser
from methods.blocks.voronoi import fill


class Told(NamedTuple):
    frames: Tensor  # (B, F, K, H, W)
    still: Tensor  # (B, Ks, H, W)
    start: Tensor  # (B, T, C, H, W)


@dataclass(frozen=True)
class Given:
    """Which frames are seen, and whether in full: the same for all problems of a task."""

    frames: tuple[int, ...]
    full: bool

    @classmethod
    def by(cls, tasks: Sequence[Task], grid: Grid) -> Self:
        masks = torch.stack([task.mask(grid, torch.Generator().manual_seed(0)) for task in tasks])  # (K, T, H, W)
        seen = masks.any(0).flatten(1).any(1)  # (T,)
        return cls(tuple(seen.nonzero().flatten().tolist()), bool(masks[:, seen].all()))

    def one_frame(self) -> bool:
        return self.full and len(self.frames) == 1

    def channels(self, channels: int, static: int, grid: Grid) -> tuple[int, int]:
        """K of a frame and Ks of what stands still, for fields of so many channels and coefficients."""
        return channels * (1 if self.full else 3), static + (4 if grid.boundary == "periodic" else 2)

    def __call__(self, problem: Problem, normaliser: Normaliser) -> Told:
        chosen = list(self.frames)
        mask = problem.mask[:, chosen].movedim(-1, 2)  # (B, F, C, H, W)
        values = normaliser.encode_seen(problem.values, problem.mask)[:, chosen].movedim(-1, 2)
        parts = [values] if self.full else [values, mask.to(values), filled(values, mask, problem.grid)]
        return Told(torch.cat(parts, dim=2), self._still(problem, normaliser), self._start(problem, values))

    def _still(self, problem: Problem, normaliser: Normaliser) -> Tensor:
        where = coordinates(problem.grid, problem.values)
        parts = [where.expand(len(problem), -1, -1, -1)]
        if problem.static is not None:
            parts.append(normaliser.encode_static(problem.static).movedim(-1, 1))
        return torch.cat(parts, dim=1)

    def _start(self, problem: Problem, values: Tensor) -> Tensor:
        """The frames of a steady problem are different fields: none is a first guess of the other."""
        first = values[:, :1] if self.one_frame() and problem.equation.time_order else torch.zeros_like(values[:, :1])
        return first.expand(-1, problem.values.shape[1], -1, -1, -1)


def filled(values: Tensor, mask: Tensor, grid: Grid) -> Tensor:
    """(B, F, C, H, W) with each site set to its nearest sensor's value; a frame without sensors stays zero."""
    v, m = values.flatten(0, 2), mask.flatten(0, 2)
    seen = m.flatten(1).any(1)
    if not seen.any():
        return values
    video = torch.zeros_like(v)
    video[seen] = fill(v[seen], m[seen], grid)
    return video.view_as(values)


def coordinates(grid: Grid, like: Tensor) -> Tensor:
    """(4, H, W) on a torus, (2, H, W) between walls."""
    axes = [a / length for a, length in zip(grid.axes(like.dtype, like.device), grid.lengths, strict=True)]
    x, y = (a.expand(grid.shape) for a in axes)
    if grid.boundary != "periodic":
        return torch.stack([x, y]) - 0.5
    turns = 2 * torch.pi * torch.stack([x, y])
    return torch.cat([turns.sin(), turns.cos()])
