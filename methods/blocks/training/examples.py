"""Training examples of a reconstruction: trajectories, and what a task lets see of them.

    ObservedBatches   a new mask for every example of every step, a pure function of (seed, step, rank)
    fixed_examples    the same masks whenever they are asked for, to validate on

Where there are several tasks each training example draws one of them, all alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmark.core import Problem, Task, Trajectories, TrajectorySet
from methods.blocks.training.batches import ShuffledBatches, derived_seed

TRAIN, VALID = 2, 3  # streams of random numbers apart from those of the training loop


@dataclass(frozen=True)
class Observed:
    """The truth, and the problem made of it."""

    truth: Trajectories
    problem: Problem

    def __len__(self) -> int:
        return len(self.truth)

    def __getitem__(self, index: slice) -> Observed:
        return Observed(self.truth[index], self.problem[index])

    def to(self, device: Any) -> Observed:
        return Observed(self.truth.to(device), self.problem.to(device))


class ObservedBatches:
    """`size` examples a step, of all processes together, made by the thread that reads ahead."""

    def __init__(self, train: TrajectorySet, tasks: Sequence[Task], size: int, seed: int):
        if not tasks:
            raise ValueError("tasks: expected one or more to train on, got none")
        self.shuffled, self.tasks, self.seed = ShuffledBatches(train, size, seed), tasks, seed

    def __call__(self, step: int, rank: int = 0, world: int = 1) -> Observed:
        truth = self.shuffled(step, rank, world)
        generators = [_generator(self.seed, step, rank, i, TRAIN) for i in range(len(truth))]
        drawn = [self.tasks[int(torch.randint(len(self.tasks), (), generator=g))] for g in generators]
        return observe_each(truth, drawn, generators)


def fixed_examples(valid: TrajectorySet, tasks: Sequence[Task], count: int) -> Observed:
    """`count` examples that take trajectories and tasks in turn, with masks that are the same for every fit."""
    truth = valid[[i % len(valid) for i in range(count)]]
    generators = [_generator(0, i, VALID) for i in range(count)]
    return observe_each(truth, [tasks[i % len(tasks)] for i in range(count)], generators)


def observe_each(truth: Trajectories, tasks: Sequence[Task], generators: Sequence[torch.Generator]) -> Observed:
    """Each trajectory under a task of its own."""
    one = enumerate(zip(tasks, generators, strict=True))
    parts = [task.observe(truth[i : i + 1], [generator]) for i, (task, generator) in one]
    values, mask = (torch.cat([getattr(p, name) for p in parts]) for name in ("values", "mask"))
    return Observed(truth, replace(parts[0], values=values, mask=mask, static=truth.static))


def _generator(*place: int) -> torch.Generator:
    return torch.Generator().manual_seed(derived_seed(*place))
