"""The prior: a diffusion model of pairs of frames, trained on pairs cut out of the training trajectories.

    (x_i, x_j) ~ p( . | label),    loss = lambda(sigma) |D(x + sigma eps, sigma; label) - x|^2

The two frames are channels of one U-Net. A label tells kinds of pairs apart, where there are several; a known
coefficient field, where there is one, is a further channel that carries no noise, and so are coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from benchmark.core import Grid, TrajectorySet
from benchmark.core.transfer import to_device
from methods.blocks.conditioning import Shape
from methods.blocks.networks.unet import Architecture, UNet
from methods.blocks.training.batches import Batches, ShuffledBatches, Stream, generator
from methods.blocks.training.sharing import share_of
from methods.blocks.training.symmetry import Turn
from methods.diffusionpde.settings import Labels, Settings

WAVES = 8  # of `sin` labels


@dataclass(frozen=True)
class Pair:
    """A batch of pairs of frames."""

    u: Tensor  # (B, 2, H, W, C) physical units
    label: Tensor  # (B,)
    static: Tensor | None  # (B, H, W, Cs)

    def __len__(self) -> int:
        return len(self.u)

    def __getitem__(self, index: slice) -> Pair:
        return Pair(self.u[index], self.label[index], None if self.static is None else self.static[index])

    def to(self, device: Any) -> Pair:
        static = None if self.static is None else to_device(self.static, device)
        return Pair(to_device(self.u, device), to_device(self.label, device), static)


@dataclass(frozen=True)
class Pairs:
    """The pairs of frames a model learns from: each with a label, and how often training draws it."""

    frames: tuple[tuple[int, int], ...]  # (P, 2)
    labels: tuple[int, ...]  # (P,)
    shares: tuple[float, ...]  # (P,)

    @property
    def kinds(self) -> int:
        return max(self.labels) + 1

    def batches(self, train: TrajectorySet, size: int, seed: int) -> Batches:
        """Each pair of another trajectory."""
        shuffled = ShuffledBatches(train, size, seed)

        def batch(step: int, rank: int = 0, world: int = 1) -> Pair:
            drawn, share = self.draw(size, generator(seed, step, 0, Stream.TRAIN_PAIR)), share_of(size, rank, world)
            return self.cut(train, shuffled.indices(step, rank, world), drawn[share.start : share.stop])

        return batch

    def fixed(self, valid: TrajectorySet, count: int) -> Pair:
        drawn = self.draw(count, generator(0, Stream.VALID_PAIR))
        return self.cut(valid, [i % len(valid) for i in range(count)], drawn)

    def turned(self, batch: Pair, turn: Turn) -> Pair:
        return replace(batch, u=turn.field(batch.u), static=turn.static(batch.static))

    def draw(self, count: int, draws: torch.Generator) -> list[int]:
        """One by one, so that the first do not depend on how many follow."""
        shares = torch.tensor(self.shares)
        return [int(torch.multinomial(shares, 1, generator=draws)) for _ in range(count)]

    def cut(self, trajectories: TrajectorySet, indices: Sequence[int], drawn: Sequence[int]) -> Pair:
        """Pair drawn[i] of trajectory indices[i]."""
        part = trajectories[list(indices)]
        frames = torch.tensor([self.frames[p] for p in drawn])  # (B, 2)
        u = part.u[torch.arange(len(frames))[:, None], frames]
        return Pair(u, torch.tensor([self.labels[p] for p in drawn]), part.static)


class PairNet(nn.Module):
    """F(x, noise, label, fields): pairs (B, 2, H, W, C) -> the same. label (B,), fields that stay (B, H, W, K)."""

    labels: Labels

    def __init__(
        self,
        channels: int,
        fields: int,
        kinds: int,
        grid: Grid,
        architecture: Architecture,
        labels: Labels = "onehot",
    ):
        super().__init__()
        if grid.shape[0] != grid.shape[1]:
            raise ValueError(f"grid: expected a square one, got {grid.shape}")
        self.kinds, self.labels = kinds if kinds > 1 else 0, labels
        length = 2 * WAVES if self.kinds and labels == "sin" else self.kinds
        self.unet = UNet(2 * channels + fields, 2 * channels, grid.shape[0], architecture, length)

    def forward(self, x: Tensor, noise: Tensor, label: Tensor | None = None, fields: Tensor | None = None) -> Tensor:
        h = x.movedim(-1, 2).flatten(1, 2)  # (B, 2 C, H, W)
        h = h if fields is None else torch.cat([h, fields.movedim(-1, 1).to(h)], 1)
        told = None if label is None or not self.kinds else encode_label(label, self.kinds, self.labels).to(h)
        return self.unet(h, noise, told).unflatten(1, (2, -1)).movedim(2, -1)


def encode_label(label: Tensor, kinds: int, labels: Labels) -> Tensor:
    """(B,) below `kinds` -> one-hot (B, kinds), or sin and cos of 2^k (pi / 2) label / kinds, k = 0 .. 7: (B, 16)."""
    if labels == "onehot":
        return one_hot(label, kinds)
    angles = torch.pi / 2 * label[:, None] / kinds * 2 ** torch.arange(WAVES, device=label.device)
    return torch.cat([angles.sin(), angles.cos()], 1)


def make_net(shape: Shape, kinds: int, settings: Settings) -> PairNet:
    """An untrained network for pairs of frames."""
    architecture = settings.architecture
    if settings.circular and shape.grid.boundary == "periodic":
        architecture = replace(architecture, padding="circular")
    return PairNet(shape.channels, shape.fields, kinds, shape.grid, architecture, settings.label)
