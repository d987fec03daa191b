"""What a network is built for and conditioned on: the shape of its videos, observed frames, fields that stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import torch
from torch import Tensor

from benchmark.core import Dataset, Equation, Grid, Problem, Task, TrajectorySet
from methods.blocks.normaliser import Normaliser
from methods.blocks.voronoi import fill_frames


@dataclass(frozen=True)
class ObservedFrames:
    """Which frames are observed, and whether in full: the same for all problems of a task."""

    frames: tuple[int, ...]
    full: bool

    @classmethod
    def of(cls, tasks: Sequence[Task], grid: Grid) -> Self:
        if not tasks:
            return cls((), full=False)
        masks = torch.stack([task.mask(grid, torch.Generator().manual_seed(0)) for task in tasks])  # (K, T, H, W)
        seen = masks.any(0).flatten(1).any(1)  # (T,)
        return cls(tuple(seen.nonzero().flatten().tolist()), bool(masks[:, seen].all()))

    @property
    def is_one_full_frame(self) -> bool:
        return self.full and len(self.frames) == 1

    def state(self, frames: int) -> Tensor:
        """(T,): 0 for a frame that is not observed, 1 for one observed in part, 2 in full."""
        levels = torch.zeros(frames, dtype=torch.int64)
        levels[list(self.frames)] = 1 + self.full
        return levels

    @classmethod
    def restore(cls, levels: Tensor) -> Self:
        return cls(tuple(levels.nonzero().flatten().tolist()), bool((levels != 1).all()))


@dataclass(frozen=True)
class Shape:
    """Of the videos that a network is built for."""

    frames: int
    channels: int
    fields: int  # that do not change in time, see `known_fields`
    grid: Grid
    equation: Equation
    observed: ObservedFrames

    @classmethod
    def of(cls, train: TrajectorySet, observed: ObservedFrames, with_coordinates: bool) -> Self:
        first = train[:1]
        coefficients = 0 if first.static is None else first.static.shape[-1]
        fields = coefficients + with_coordinates * coordinate_channels(train.grid)
        return cls(len(train.grid.times), first.u.shape[-1], fields, train.grid, train.equation, observed)

    @classmethod
    def planned(cls, task: Task, dataset: Dataset, with_coordinates: bool) -> Self:
        """Before there is any data."""
        grid = dataset.grid(dataset.sizes.frames)
        fields = len(dataset.static_names) + with_coordinates * coordinate_channels(grid)
        observed = ObservedFrames.of([task], grid)
        return cls(len(grid.times), len(dataset.channels), fields, grid, dataset.equation(), observed)

    @property
    def video(self) -> tuple[int, int, int]:
        """T, H, W."""
        return self.frames, *self.grid.shape

    @property
    def steady(self) -> bool:
        return self.equation.time_order == 0

    @property
    def conditioning(self) -> tuple[int, int]:
        """Channels of one of `Conditioning.frames`, and of `Conditioning.fields`."""
        return self.channels * (1 if self.observed.full else 3), self.fields


class Conditioning(NamedTuple):
    """What a deterministic network sees of a problem, channels first and in normalised units."""

    frames: Tensor  # (B, F, K, H, W) observed frames: values; where sparse also the mask and the nearest sensor's value
    fields: Tensor  # (B, K, H, W) what does not change in time, see `known_fields`
    guess: Tensor  # (B, T, C, H, W) what the network corrects: the frame observed in full, at all times, else zero


def condition(problem: Problem, observed: ObservedFrames, normaliser: Normaliser, fields: Tensor) -> Conditioning:
    """With `fields` (B, H, W, K). Sparse frames are filled with the nearest sensor's value (Fukami et al. 2021)."""
    chosen = list(observed.frames)
    mask = problem.mask[:, chosen].movedim(-1, 2)  # (B, F, C, H, W)
    values = normaliser.encode_seen(problem.values, problem.mask)[:, chosen].movedim(-1, 2)
    parts = [values] if observed.full else [values, mask.to(values), fill_frames(values, mask, problem.grid)]
    return Conditioning(torch.cat(parts, dim=2), fields.movedim(-1, 1), first_guess(problem, observed, normaliser))


def first_guess(problem: Problem, observed: ObservedFrames, normaliser: Normaliser) -> Tensor:
    """The frame observed in full, at all times, else zero: (B, T, C, H, W), normalised.

    The frames of a steady problem are different fields: none is a first guess of the other.
    """
    values = normaliser.encode_seen(problem.values, problem.mask).movedim(-1, 2)
    if not observed.is_one_full_frame or not problem.equation.time_order:
        return torch.zeros_like(values)
    return values[:, list(observed.frames)].expand_as(values)


def known_fields(static: Tensor | None, normaliser: Normaliser, grid: Grid, like: Tensor, places: bool) -> Tensor:
    """What does not change in time: coefficient fields and, if asked for, coordinates, (B, H, W, K), K = 0 or more.

    For a batch `like` this one, in normalised units.
    """
    parts = [like.new_zeros(len(like), *grid.shape, 0) if static is None else normaliser.encode_static(static)]
    if places:
        parts.append(coordinates(grid, like).movedim(0, -1).expand(len(like), -1, -1, -1))
    return torch.cat(parts, dim=-1)


def coordinates(grid: Grid, like: Tensor) -> Tensor:
    """sin and cos of 2 pi x / L on a torus, (4, H, W); x / L between walls, (2, H, W).

    A force may depend on the place, so a torus needs them too.
    """
    axes = [a / length for a, length in zip(grid.axes(like.dtype, like.device), grid.lengths, strict=True)]
    x, y = (a.expand(grid.shape) for a in axes)
    if grid.boundary != "periodic":
        return torch.stack([x, y]) - 0.5
    turns = 2 * torch.pi * torch.stack([x, y])
    return torch.cat([turns.sin(), turns.cos()])


def coordinate_channels(grid: Grid) -> int:
    return 4 if grid.boundary == "periodic" else 2
