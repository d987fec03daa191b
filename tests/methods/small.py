"""Datasets and problems at smoke size."""

from __future__ import annotations

from functools import cache

import torch

from benchmark.core import Dataset, Method, Problem, Task, Trajectories
from benchmark.planning.registry import registry
from methods.blocks.learned import Learned
from tasks.observation import CONT_3


def load(dataset: Dataset, split: str, frames: int | None = None) -> Trajectories:
    """As many trajectories of a split as the profile asks for, straight from the generator."""
    frames = frames or dataset.sizes.frames
    u, static = dataset.generate(split, range(getattr(dataset.sizes, split)), frames)
    return Trajectories(u, dataset.grid(frames), dataset.equation(), static)


@cache
def smoke(name: str) -> tuple[Dataset, Trajectories, Trajectories]:
    """A registered dataset at profile smoke, with its train and valid splits."""
    cls = registry().load("datasets", name)
    dataset = cls(cls.profiles["smoke"])
    return dataset, load(dataset, "train"), load(dataset, "valid")


def planned(cls: type[Learned], profile: str = "paper", name: str = "navier_stokes", task: Task = CONT_3) -> int:
    """Parameters of a method at a profile, counted before there is any data."""
    dataset = registry().load("datasets", name)
    return cls(cls.profiles[profile]).parameters(task, dataset(dataset.profiles[profile]))


def generators(count: int, seed: int = 0) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed + i) for i in range(count)]


def spread_over_error(method: Method, problem: Problem, truth: Trajectories) -> float:
    """Of posterior draws, which agree with the sensors, come back with the seed and scatter around the mean."""
    mean, draws = method.predict(problem, 0).u[0], method.predict(problem, 0, samples=64).u
    assert torch.equal(draws[:, problem.mask], problem.values[problem.mask].expand(64, -1))
    assert torch.equal(draws, method.predict(problem, 0, samples=64).u)
    answer = method.predict(problem, 0, samples=3).point
    assert answer is not None and torch.equal(answer, mean)  # the posterior mean stays the answer
    spread = draws.std(0).square().mean().sqrt()
    assert (draws.mean(0) - mean).square().mean().sqrt() < 0.3 * spread
    return float(spread / (mean - truth.u).square().mean().sqrt())
