"""Training batches: an endless shuffled stream whose every batch is a pure function of (seed, step).

A resumed fit therefore needs no more than the step it had reached, and each of several processes takes its share of
the same batch.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, Protocol

import torch
from torch import Tensor

from benchmark.core import Trajectories, TrajectorySet
from methods.blocks.training.streams import generator


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
        if self.size % world:
            raise ValueError(f"batch: expected a multiple of the {world} processes, got {self.size}")
        share = self.size // world
        start = step * self.size + rank * share
        passes = (divmod(position, len(self.train)) for position in range(start, start + share))
        return [int(self._order(epoch)[place]) for epoch, place in passes]

    def _order(self, epoch: int) -> Tensor:
        if epoch not in self._orders:
            shuffling = generator(self.seed, epoch)
            self._orders = {k: v for k, v in self._orders.items() if k == epoch - 1}
            self._orders[epoch] = torch.randperm(len(self.train), generator=shuffling)
        return self._orders[epoch]


def ahead(batches: Batches, start: int, device: Any, rank: int = 0, world: int = 1) -> Generator[Any, None, None]:
    """Batches from `start` on, on the device; the next one is read in a thread while this one is used."""

    def fetch(step: int) -> Any:
        return batches(step, rank, world).to(device)

    with ThreadPoolExecutor(1, "batches") as pool:
        pending = pool.submit(fetch, start)
        for step in count(start + 1):
            batch = pending.result()
            pending = pool.submit(fetch, step)
            yield batch
