"""Random numbers that depend on where they are used alone: a seed for every place, a stream for every purpose."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import torch
from torch import Tensor


class Stream(IntEnum):
    """What random numbers are for. One number per purpose, so that no two share a stream; never renumber them."""

    STEP = 0  # noise and noise levels of a training step
    VALIDATION = 1  # whatever a validation draws from the global generator
    TRAIN_MASK = 2  # task, mask and sensor noise of a training example
    VALID_MASK = 3  # the same of a validation example
    SAMPLE = 4  # what a sample starts from
    TRAIN_PAIR = 5  # which pair of frames a training example is
    VALID_PAIR = 6
    CLIP = 8  # where a clip begins


def derived_seed(*path: int) -> int:
    """A seed for a place, e.g. (seed, step, rank): well mixed, so that neighbouring places have unrelated streams."""
    return int(np.random.SeedSequence(path).generate_state(1, np.uint64)[0] >> np.uint64(1))


def generator(*path: int) -> torch.Generator:
    """The generator of a place, on the CPU."""
    return torch.Generator().manual_seed(derived_seed(*path))


def draw_noise(shape: Sequence[int], generators: Sequence[torch.Generator], device: Any) -> Tensor:
    """Standard normal (B, *shape), each element from its own generator."""
    return torch.stack([torch.randn(*shape, generator=g) for g in generators]).to(device)


def stratified(count: int, generator: torch.Generator) -> Tensor:
    """One uniform draw from each of `count` equal parts of (0, 1), in random order: (count,) float64."""
    draws = torch.rand(count, generator=generator, device=generator.device, dtype=torch.float64)
    order = torch.randperm(count, generator=generator, device=generator.device)
    return ((order + draws) / count).clamp(1e-12, 1 - 1e-12)
