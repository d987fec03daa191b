"""What generative methods with one network share: learning from clips of trajectories.

A subclass says how many consecutive frames it learns from (`clip`), which network (`network`), which loss (`losses`)
and how a video is sampled (`video`). One fit serves all tasks of a dataset.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor, nn

from benchmark.core import Grid, Problem, Run, Task, TrajectorySet
from methods.blocks.networked import NOMINAL, Sampled, count, static_channels
from methods.blocks.normaliser import Normaliser
from methods.blocks.training.batches import ShuffledBatches, derived_seed
from methods.blocks.training.loop import Validate, fit_loop
from methods.blocks.training.validation import at_fixed_noise, in_parts

CLIP = 8  # the stream of random numbers that says where clips begin

# -- training examples -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Clips:
    """Consecutive frames of trajectories, in physical units."""

    u: Tensor  # (B, F, H, W, C)
    static: Tensor | None  # (B, H, W, Cs)

    def __len__(self) -> int:
        return len(self.u)

    def __getitem__(self, index: slice) -> Clips:
        return Clips(self.u[index], None if self.static is None else self.static[index])

    def to(self, device: Any) -> Clips:
        return Clips(self.u.to(device), None if self.static is None else self.static.to(device))


class ClipBatches:
    """`size` clips of `frames` frames a step, each of another trajectory and from a random frame on."""

    def __init__(self, train: TrajectorySet, frames: int, size: int, seed: int):
        self.shuffled, self.frames, self.seed = ShuffledBatches(train, size, seed), frames, seed

    def __call__(self, step: int, rank: int = 0, world: int = 1) -> Clips:
        generator = torch.Generator().manual_seed(derived_seed(self.seed, step, rank, CLIP))
        return cut(self.shuffled.train, self.shuffled.indices(step, rank, world), self.frames, generator)


def cut(trajectories: TrajectorySet, indices: Sequence[int], frames: int, generator: torch.Generator) -> Clips:
    """A clip of each of the named trajectories."""
    part = trajectories[list(indices)]
    starts = torch.randint(part.u.shape[1] - frames + 1, (len(part), 1), generator=generator)
    return Clips(part.u[torch.arange(len(part))[:, None], starts + torch.arange(frames)], part.static)


# -- the method --------------------------------------------------------------------------------------------------------


class Generative(Sampled):
    """Its settings have `training`, `validation` (clips of `valid`) and `chunk` (trajectories sampled at once)."""

    scope = "dataset"

    @abstractmethod
    def clip(self, frames: int) -> int:
        """Frames of a training example, cut out of trajectories of `frames`."""

    @abstractmethod
    def network(self, channels: int, static: int, grid: Grid) -> nn.Module:
        """For fields of so many channels and coefficients."""

    @abstractmethod
    def losses(self, network: nn.Module, clips: Clips, draws: torch.Generator) -> Tensor:
        """Of each training example: (B,)."""

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        s = self.settings
        self.normaliser_ = Normaliser.fit(train).to(run.device)
        self.note(tasks)
        self.build(train, seed)
        batches = ClipBatches(train, self.clip(self.frames), s.training.batch, seed)
        validate = self._validation(valid) if s.validation and len(valid) else None
        progress = fit_loop(self.net_, self._loss, batches, s.training, run, seed, validate)
        self.steps_ = torch.tensor(progress.steps)
        return self

    def build_for(self, train: TrajectorySet) -> None:
        first = train[:1]
        self.grid, self.equation = train.grid, train.equation
        self.net_ = self.network(first.u.shape[-1], static_channels(first), train.grid)

    def _loss(self, network: nn.Module, clips: Clips, draws: torch.Generator) -> Tensor:
        return self.losses(network, clips, draws).mean()

    def _validation(self, valid: TrajectorySet) -> Validate:
        s, generator = self.settings, torch.Generator().manual_seed(0)
        examples = cut(valid, [i % len(valid) for i in range(s.validation)], self.clip(self.frames), generator)
        return at_fixed_noise(self.losses, in_parts(examples, s.training.batch))

    def static(self, problem: Clips | Problem) -> Tensor | None:
        """Coefficient fields in normalised units, channels first: (B, Cs, H, W)."""
        static = super().static(problem)
        return None if static is None else static.movedim(-1, 1)

    def parameters(self, grid: Grid = NOMINAL) -> int:
        with torch.device("meta"):
            return count(self.network(1, 0, grid))
