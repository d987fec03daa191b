"""Training batches and random numbers, both pure functions of where they are used: (seed, step, ...).

A resumed fit therefore needs no more than the step it had reached, and each of several processes takes its share of
the same batch (`sharing.py`). Every place has a seed of its own, every purpose a stream.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from itertools import count
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from benchmark.core import Trajectories, TrajectorySet
from methods.blocks.training.sharing import rows, share_of

AHEAD = 2  # batches that are read while one is used

# -- random numbers


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


def stratified(count: int, draws: torch.Generator) -> Tensor:
    """One uniform draw from each of as many equal parts of (0, 1) as the batch is large, in random order: (count,)
    float64."""
    return rows(count, draws, _stratified)


def _stratified(count: int, generator: torch.Generator) -> Tensor:
    draws = torch.rand(count, generator=generator, device=generator.device, dtype=torch.float64)
    order = torch.randperm(count, generator=generator, device=generator.device)
    return ((order + draws) / count).clamp(1e-12, 1 - 1e-12)


# -- batches


class Batches(Protocol):
    """The share of process `rank` out of `world` in batch `step`: anything that has `.to(device)`."""

    def __call__(self, step: int, rank: int, world: int) -> Any: ...


class ShuffledBatches:
    """`size` trajectories per step (of all processes together); every pass over the set has an order of its own."""

    def __init__(self, train: TrajectorySet, size: int, seed: int):
        if size < 1 or not len(train):
            raise ValueError(f"batches: expected a batch and a set of 1 or more, got {size} and {len(train)}")
        self.train, self.size, self.seed = train, size, seed
        self._orders: dict[int, Tensor] = {}

    def __call__(self, step: int, rank: int = 0, world: int = 1) -> Trajectories:
        return self.train[self.indices(step, rank, world)]

    def indices(self, step: int, rank: int = 0, world: int = 1) -> list[int]:
        passes = (divmod(step * self.size + i, len(self.train)) for i in share_of(self.size, rank, world))
        return [int(self._order(epoch)[place]) for epoch, place in passes]

    def _order(self, epoch: int) -> Tensor:
        if epoch not in self._orders:
            shuffling = generator(self.seed, epoch)
            self._orders = {k: v for k, v in self._orders.items() if k == epoch - 1}
            self._orders[epoch] = torch.randperm(len(self.train), generator=shuffling)
        return self._orders[epoch]


def ahead(batches: Batches, start: int, device: Any, rank: int = 0, world: int = 1) -> Generator[Any, None, None]:
    """Batches from `start` on, on the device; the next ones are read in a thread while this one is used.

    In memory are `AHEAD` batches and the one in use, however large the set is: each is read from where it lies, a
    trajectory at a time, and of a shared batch only this process's part.
    """

    def fetch(step: int) -> Any:
        return batches(step, rank, world).to(device)

    pool = ThreadPoolExecutor(1, "batches")
    try:
        pending = deque(pool.submit(fetch, start + k) for k in range(AHEAD))
        for step in count(start + AHEAD):
            batch = pending.popleft().result()
            pending.append(pool.submit(fetch, step))
            yield batch
            del batch
    finally:
        pool.shutdown(cancel_futures=True)
