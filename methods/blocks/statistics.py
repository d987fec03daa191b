"""Statistics of a training set, read in pieces so that memory does not grow with the set."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from benchmark.core import Trajectories, TrajectorySet


def pieces(train: TrajectorySet, count: int, size: int = 16) -> Iterator[Trajectories]:
    """`count` trajectories spread over the set (neighbours may be clips of one run), a few at a time."""
    count = min(count, len(train))
    if not count:
        raise ValueError("train: expected one trajectory or more, got none")
    chosen = torch.arange(count) * len(train) // count
    yield from (train[part] for part in chosen.split(size))


def mean_frames(train: TrajectorySet, count: int) -> Tensor:
    """The mean of each frame over space and `count` trajectories: (T, 1, 1, C)."""
    total, seen = torch.zeros((), dtype=torch.float64), 0
    for piece in pieces(train, count):
        u = piece.u.cpu().double()
        total = total + u.mean((2, 3), keepdim=True).sum(0)
        seen += len(piece)
    return (total / seen).float()


def extend(frames: Tensor, count: int) -> Tensor:
    """A per-frame statistic (T, ...) for `count` frames: later ones keep the last value."""
    return torch.cat([frames[:count], frames[-1:].expand(max(0, count - len(frames)), *frames.shape[1:])])
