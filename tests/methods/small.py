"""Datasets and problems at smoke size."""

from __future__ import annotations

from functools import cache

import torch

from benchmark.core import Dataset, Trajectories
from benchmark.planning.registry import registry


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


def generators(count: int, seed: int = 0) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed + i) for i in range(count)]
