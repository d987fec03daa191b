"""Physical units <-> what a network sees: each channel with mean 0 and standard deviation 0.5, over the training set.

The frames of a steady problem are different fields with different scales; there each frame has statistics of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from benchmark.core import TrajectorySet
from methods.blocks.statistics import pieces

SIGMA_DATA = 0.5


@dataclass(frozen=True)
class Normaliser:
    """x = sigma_data (u - mean) / std, and its inverse."""

    mean: Tensor  # (1, 1, 1, C); (T, 1, 1, C) for a steady problem
    std: Tensor
    static_mean: Tensor  # (1, 1, Cs), Cs = 0 where there are no static fields
    static_std: Tensor

    @classmethod
    def fit(cls, train: TrajectorySet, at_most: int = 4096) -> Self:
        """From `at_most` trajectories, spread over the set and read a few at a time."""
        axes = (0, 2, 3) if train.equation.time_order == 0 else (0, 1, 2, 3)
        fields, static = _Moments(axes), _Moments((0, 1, 2))
        for piece in pieces(train, at_most):
            fields.add(piece.u)
            static.add(piece.u.new_zeros(1, 1, 1, 0) if piece.static is None else piece.static)
        return cls(*fields.mean_and_std(), *static.mean_and_std())

    def encode(self, u: Tensor) -> Tensor:
        """(..., T, H, W, C) in physical units -> normalised."""
        return (u - self.mean.to(u)) * (SIGMA_DATA / self.std).to(u)

    def decode(self, x: Tensor) -> Tensor:
        return x * (self.std / SIGMA_DATA).to(x) + self.mean.to(x)

    def encode_seen(self, values: Tensor, mask: Tensor) -> Tensor:
        """Observations (..., T, H, W, C) in normalised units, zero where unseen."""
        return torch.where(mask, self.encode(values), 0.0)

    def encode_static(self, static: Tensor) -> Tensor:
        """Coefficient fields (..., H, W, Cs)."""
        return (static - self.static_mean.to(static)) * (SIGMA_DATA / self.static_std).to(static)

    def to(self, device: Any) -> Self:
        return type(self)(**{name: value.to(device) for name, value in self.state().items()})

    def state(self) -> dict[str, Tensor]:
        return dict(vars(self))

    @classmethod
    def restore(cls, state: Mapping[str, Tensor]) -> Self:
        return cls(**state)


class _Moments:
    """Mean and variance over `axes` of what is added, merged in float64 (Chan et al. 1979)."""

    def __init__(self, axes: tuple[int, ...]):
        self.axes, self.count = axes, 0
        self.mean = self.square = torch.zeros((), dtype=torch.float64)

    def add(self, values: Tensor) -> None:
        v = values.cpu().double()
        mean = v.mean(self.axes, keepdim=True)
        count = v.numel() // max(mean.numel(), 1)
        delta, share = mean - self.mean, count / max(self.count + count, 1)
        self.square = self.square + (v - mean).square().sum(self.axes, keepdim=True) + delta**2 * self.count * share
        self.mean = self.mean + delta * share
        self.count += count

    def mean_and_std(self) -> tuple[Tensor, Tensor]:
        """Without the batch axis; a constant channel keeps its scale."""
        std = (self.square / max(self.count, 1)).sqrt()
        flat = std <= 1e-6 * self.mean.abs()
        return self.mean[0].float(), torch.where(flat, 1.0, std)[0].float()
