"""What a network learns from, made out of trajectories: whole ones, what a task lets see of them, or clips.

Training batches are a pure function of (seed, step, rank); the examples that a fit is validated on are the same for
every fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from benchmark.core import Problem, Task, Trajectories, TrajectorySet
from benchmark.core.transfer import to_device
from methods.blocks.training.batches import Batches, ShuffledBatches, Stream, generator
from methods.blocks.training.sharing import share_of
from methods.blocks.training.symmetry import Turn

DENSE = 0.3  # share of the sites that a curriculum starts from


class Examples(Protocol):
    """A kind of training example; a batch of them can be sliced, has a length and a device."""

    def batches(self, train: TrajectorySet, size: int, seed: int) -> Batches:
        """`size` new examples per step, of all processes together."""
        ...

    def fixed(self, valid: TrajectorySet, count: int) -> Any:
        """`count` examples to validate on."""
        ...

    def turned(self, batch: Any, turn: Turn) -> Any:
        """A training batch, moved by symmetries; validation uses examples as they are."""
        ...


@dataclass(frozen=True)
class Whole:
    """Trajectories as they are."""

    def batches(self, train: TrajectorySet, size: int, seed: int) -> Batches:
        return ShuffledBatches(train, size, seed)

    def fixed(self, valid: TrajectorySet, count: int) -> Trajectories:
        return valid[:count]

    def turned(self, batch: Trajectories, turn: Turn) -> Trajectories:
        return replace(batch, u=turn.field(batch.u), static=turn.static(batch.static))


# -- what a task lets see ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Observed:
    """Trajectories, and the problem made of them."""

    truth: Trajectories
    problem: Problem

    def __len__(self) -> int:
        return len(self.truth)

    def __getitem__(self, index: slice) -> Observed:
        return Observed(self.truth[index], self.problem[index])

    def to(self, device: Any) -> Observed:
        return Observed(self.truth.to(device), self.problem.to(device))


@dataclass(frozen=True)
class Observations:
    """Each training example draws one of the tasks, all alike, and a new mask.

    In the first `dense_steps` steps sparse tasks show more, from `DENSE` of the sites down to their own rate: from many
    sensors a network soon learns what they mean, and carries it over to few.
    """

    tasks: Sequence[Task]
    dense_steps: int = 0

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ValueError("tasks: expected one or more to train on, got none")

    def batches(self, train: TrajectorySet, size: int, seed: int) -> Batches:
        shuffled = ShuffledBatches(train, size, seed)

        def batch(step: int, rank: int = 0, world: int = 1) -> Observed:
            truth = shuffled(step, rank, world)
            places = share_of(size, rank, world)
            generators = [generator(seed, step, 0, i, Stream.TRAIN_MASK) for i in places]
            drawn = [self.tasks[int(torch.randint(len(self.tasks), (), generator=g))] for g in generators]
            return observe_each(truth, [self.at(step, task) for task in drawn], generators)

        return batch

    def at(self, step: int, task: Task) -> Task:
        """A task as it is trained on in a step: its rate falls evenly in log."""
        if step >= self.dense_steps or task.rate >= DENSE:
            return task
        share = step / self.dense_steps
        return task.with_rate(DENSE ** (1 - share) * task.rate**share)

    def fixed(self, valid: TrajectorySet, count: int) -> Observed:
        """Trajectories and tasks in turn."""
        truth = valid[[i % len(valid) for i in range(count)]]
        generators = [generator(0, i, Stream.VALID_MASK) for i in range(count)]
        return observe_each(truth, [self.tasks[i % len(self.tasks)] for i in range(count)], generators)

    def turned(self, batch: Observed, turn: Turn) -> Observed:
        """The truth, what is seen of it, and its coefficient fields."""
        truth, problem = batch.truth, batch.problem
        static = turn.static(truth.static)
        return Observed(
            replace(truth, u=turn.field(truth.u), static=static),
            replace(problem, values=turn.field(problem.values), mask=turn.mask(problem.mask), static=static),
        )


def observe_each(truth: Trajectories, tasks: Sequence[Task], generators: Sequence[torch.Generator]) -> Observed:
    """Each trajectory under a task of its own; they count as noisy if any of them is."""
    one = enumerate(zip(tasks, generators, strict=True))
    parts = [task.observe(truth[i : i + 1], [generator]) for i, (task, generator) in one]
    values, mask = torch.cat([p.values for p in parts]), torch.cat([p.mask for p in parts])
    noise = max(p.noise for p in parts)
    return Observed(truth, replace(parts[0], values=values, mask=mask, static=truth.static, noise=noise))


# -- clips -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Clip:
    """Consecutive frames of trajectories, in physical units."""

    u: Tensor  # (B, F, H, W, C)
    static: Tensor | None  # (B, H, W, Cs)

    def __len__(self) -> int:
        return len(self.u)

    def __getitem__(self, index: slice) -> Clip:
        return Clip(self.u[index], None if self.static is None else self.static[index])

    def to(self, device: Any) -> Clip:
        return Clip(to_device(self.u, device), None if self.static is None else to_device(self.static, device))


@dataclass(frozen=True)
class Clips:
    """`frames` consecutive frames, each example of another trajectory and from a random frame on."""

    frames: int

    def batches(self, train: TrajectorySet, size: int, seed: int) -> Batches:
        shuffled = ShuffledBatches(train, size, seed)

        def batch(step: int, rank: int = 0, world: int = 1) -> Clip:
            first = self.starts(train, size, generator(seed, step, 0, Stream.CLIP))
            share = share_of(size, rank, world)
            return self.cut(train, shuffled.indices(step, rank, world), first[share.start : share.stop])

        return batch

    def fixed(self, valid: TrajectorySet, count: int) -> Clip:
        first = self.starts(valid, count, torch.Generator().manual_seed(0))
        return self.cut(valid, [i % len(valid) for i in range(count)], first)

    def turned(self, batch: Clip, turn: Turn) -> Clip:
        return replace(batch, u=turn.field(batch.u), static=turn.static(batch.static))

    def starts(self, trajectories: TrajectorySet, count: int, draws: torch.Generator) -> Tensor:
        """The frames that `count` clips begin with, (count, 1)."""
        return torch.randint(len(trajectories.grid.times) - self.frames + 1, (count, 1), generator=draws)

    def cut(self, trajectories: TrajectorySet, indices: Sequence[int], first: Tensor) -> Clip:
        """A clip of each of the named trajectories."""
        part = trajectories[list(indices)]
        return Clip(part.u[torch.arange(len(part))[:, None], first + torch.arange(self.frames)], part.static)
