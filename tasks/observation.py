"""What is seen of a trajectory: fixed sensors at all frames, or the first or last frame, in full or in part.

    continuous   rate of the sites, the same at all frames
    forward      rate of the sites of the first frame
    inverse      rate of the sites of the last frame
    long_range   the first frame, of a trajectory longer than those in the training set

A steady problem stores its fields as frames, so "forward" is coefficient -> solution. A task draws its mask first and
its noise after that, so that `--set task.noise=0.1` keeps the sensors; a task of another name has others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Generator, Tensor

from benchmark.core import Grid, Problem, RollOut, Task, Trajectories

Family = Literal["continuous", "forward", "inverse", "long_range"]


@dataclass(frozen=True)
class Observation(Task):
    """The settings of one task; `dataclasses.replace(task, noise=0.1)` gives a variant that shares all the rest."""

    name: str
    family: Family
    rate: float = 1.0  # share of a frame's sites that are seen
    fixed: bool = True  # the same sensors at all frames (and in both fields of a steady problem)
    noise: float = 0.0  # standard deviation over that of the observed values
    dropout: float = 0.0  # share of the sensors that are silent, drawn anew for each frame
    masks: int = 1  # observations a test trajectory; `observe` makes one, the caller repeats the trajectory
    roll_out: RollOut = "drop"
    trains: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ValueError(f"{self.name}: expected 0 < rate <= 1, got {self.rate}")
        if not 0 <= self.noise < math.inf or not 0 <= self.dropout < 1:
            raise ValueError(
                f"{self.name}: expected a finite noise >= 0 and 0 <= dropout < 1, got {self.noise} and {self.dropout}"
            )
        if self.masks < 1:
            raise ValueError(f"{self.name}: expected masks >= 1, got {self.masks}")

    def with_rate(self, rate: float) -> Observation:
        return replace(self, rate=rate)

    def mask(self, grid: Grid, generator: Generator) -> Tensor:
        """One trajectory's mask: (T, H, W) bool, True where seen."""
        h, w = grid.shape
        mask = torch.zeros(len(grid.times), h * w, dtype=torch.bool)
        sensors = self._sensors(h * w, generator)
        for i, frame in enumerate(self._frames(len(grid.times))):
            if i and not self.fixed:
                sensors = self._sensors(h * w, generator)
            mask[frame, self._working(sensors, generator)] = True
        return mask.view(-1, h, w)

    def observe(self, trajectories: Trajectories, generators: Sequence[Generator]) -> Problem:
        """What a method sees of each trajectory, one generator per trajectory."""
        if len(generators) != len(trajectories):
            raise ValueError(f"generators: expected {len(trajectories)}, one per trajectory, got {len(generators)}")
        u = trajectories.u
        mask = torch.stack([self.mask(trajectories.grid, g) for g in generators]).to(u.device)
        mask = mask[..., None].expand_as(u).clone()  # (B, T, H, W, C)
        values = torch.where(mask, u, 0)
        if self.noise:
            noise = torch.stack([torch.randn(u.shape[1:], generator=g) for g in generators]).to(u)
            values += self.noise * torch.where(mask, noise, 0) * self._scale(values, mask, trajectories)
        static = None if trajectories.static is None else trajectories.static.clone()
        grid, equation = trajectories.grid, trajectories.equation
        return Problem(values, mask, grid, equation, static, self.noise, self.roll_out)

    def _frames(self, frames: int) -> range:
        return {"continuous": range(frames), "inverse": range(frames - 1, frames)}.get(self.family, range(1))

    def _sensors(self, sites: int, generator: Generator) -> Tensor:
        """The flat indices of the sensors: round(rate x sites) of them, halves up, at least 1."""
        if self.rate == 1:
            return torch.arange(sites)
        return torch.randperm(sites, generator=generator)[: max(1, int(self.rate * sites + 0.5))]

    def _working(self, sensors: Tensor, generator: Generator) -> Tensor:
        """The sensors without those that drop out of a frame; one stays at least."""
        if not self.dropout:
            return sensors
        kept = max(1, len(sensors) - int(self.dropout * len(sensors) + 0.5))
        return sensors[torch.randperm(len(sensors), generator=generator)[:kept]]

    @staticmethod
    def _scale(values: Tensor, mask: Tensor, trajectories: Trajectories) -> Tensor:
        """Standard deviation of a trajectory's observed values, of each field where the frames are different fields."""
        steady = trajectories.equation.time_order == 0
        axes = (2, 3) if steady else (1, 2, 3)
        count = mask.sum(axes, keepdim=True).clamp(min=1)
        mean = values.sum(axes, keepdim=True) / count
        return (torch.where(mask, values - mean, 0).square().sum(axes, keepdim=True) / count).sqrt()


CONT_05 = Observation("cont_05", "continuous", 0.005)
CONT_1 = Observation("cont_1", "continuous", 0.01, trains=True)
CONT_3 = Observation("cont_3", "continuous", 0.03, trains=True)
FWD_FULL = Observation("fwd_full", "forward", trains=True)
INV_FULL = Observation("inv_full", "inverse", trains=True)
FWD_PARTIAL = Observation("fwd_partial", "forward", 0.03, trains=True)
INV_PARTIAL = Observation("inv_partial", "inverse", 0.03, trains=True)
LONG_RANGE = Observation("long_range", "long_range")
