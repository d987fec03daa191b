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

from benchmark.core import Grid, Run, TrajectorySet
from methods.blocks.conditioning import coordinates
from methods.blocks.diffusion.edm import Denoiser, Edm, denoising_loss, noise_levels
from methods.blocks.networked import static_channels
from methods.blocks.networks.unet import Architecture, UNet
from methods.blocks.normaliser import Normaliser
from methods.blocks.training.batches import ShuffledBatches, derived_seed
from methods.blocks.training.budget import Progress, Training
from methods.blocks.training.loop import fit_loop
from methods.blocks.training.validation import at_fixed_noise
from methods.diffusionpde.settings import Labels, Settings

PAIR, VALID = 5, 6  # streams of random numbers
PIECE = 64  # validation pairs at once
WAVES = 8  # of `sin` labels


@dataclass(frozen=True)
class Pairs:
    """The pairs of frames a model knows: each with a label, and how often training draws it."""

    frames: tuple[tuple[int, int], ...]  # (P, 2)
    labels: tuple[int, ...]  # (P,)
    shares: tuple[float, ...]  # (P,)

    @property
    def kinds(self) -> int:
        return max(self.labels) + 1

    def draw(self, generator: torch.Generator) -> int:
        return int(torch.multinomial(torch.tensor(self.shares), 1, generator=generator))


class PairNet(nn.Module):
    """F(x, noise, label, static): pairs (B, 2, H, W, C) -> the same shape. label (B,), static (B, H, W, Cs)."""

    where: Tensor  # (K, H, W) coordinates, if any

    def __init__(
        self,
        channels: int,
        static: int,
        kinds: int,
        grid: Grid,
        architecture: Architecture,
        labels: Labels = "onehot",
        positions: bool = False,
    ):
        super().__init__()
        if grid.shape[0] != grid.shape[1]:
            raise ValueError(f"grid: expected a square one, got {grid.shape}")
        self.kinds, self.labels = kinds if kinds > 1 else 0, labels
        length = 2 * WAVES if self.kinds and labels == "sin" else self.kinds
        where = coordinates(grid, torch.empty(0)) if positions else torch.empty(0, *grid.shape)  # (K, H, W)
        self.register_buffer("where", where, persistent=False)
        inputs = 2 * channels + static + len(where)
        self.unet = UNet(inputs, 2 * channels, grid.shape[0], architecture, length)
        if positions:  # learned from nothing: at first the network knows no place
            nn.init.zeros_(self.unet.stem.x.weight.data[:, -len(where) * architecture.patch**2 :])

    def forward(self, x: Tensor, noise: Tensor, label: Tensor | None = None, static: Tensor | None = None) -> Tensor:
        h = x.movedim(-1, 2).flatten(1, 2)  # (B, 2 C, H, W)
        known = [] if static is None else [static.movedim(-1, 1).to(h)]
        h = torch.cat([h, *known, self.where.to(h).expand(len(h), -1, -1, -1)], 1)
        told = None if label is None or not self.kinds else encode_label(label, self.kinds, self.labels).to(h)
        return self.unet(h, noise, told).unflatten(1, (2, -1)).movedim(2, -1)


def encode_label(label: Tensor, kinds: int, labels: Labels) -> Tensor:
    """(B,) below `kinds` -> one-hot (B, kinds), or sin and cos of 2^k (pi / 2) label / kinds, k = 0 .. 7: (B, 16)."""
    if labels == "onehot":
        return one_hot(label, kinds)
    angles = torch.pi / 2 * label[:, None] / kinds * 2 ** torch.arange(WAVES, device=label.device)
    return torch.cat([angles.sin(), angles.cos()], 1)


def make_net(train: TrajectorySet, kinds: int, settings: Settings) -> PairNet:
    """An untrained network for pairs of the training set's frames."""
    first, architecture = train[:1], settings.architecture
    if settings.circular and train.grid.boundary == "periodic":
        architecture = replace(architecture, padding="circular")
    channels, static = first.u.shape[-1], static_channels(first)
    return PairNet(channels, static, kinds, train.grid, architecture, settings.label, settings.positions)


# -- training ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairBatch:
    u: Tensor  # (B, 2, H, W, C) physical units
    label: Tensor  # (B,)
    static: Tensor | None  # (B, H, W, Cs)

    def to(self, device: Any) -> PairBatch:
        static = None if self.static is None else self.static.to(device)
        return PairBatch(self.u.to(device), self.label.to(device), static)


class PairBatches:
    """`size` pairs a step, each of another trajectory."""

    def __init__(self, train: TrajectorySet, pairs: Pairs, size: int, seed: int):
        self.shuffled, self.pairs, self.seed = ShuffledBatches(train, size, seed), pairs, seed

    def __call__(self, step: int, rank: int = 0, world: int = 1) -> PairBatch:
        generator = torch.Generator().manual_seed(derived_seed(self.seed, step, rank, PAIR))
        indices = self.shuffled.indices(step, rank, world)
        return cut(self.shuffled.train, indices, self.pairs, [self.pairs.draw(generator) for _ in indices])


def cut(trajectories: TrajectorySet, indices: Sequence[int], pairs: Pairs, drawn: Sequence[int]) -> PairBatch:
    """Pair drawn[i] of trajectory indices[i]."""
    part = trajectories[list(indices)]
    frames = torch.tensor([pairs.frames[p] for p in drawn])  # (B, 2)
    u = part.u[torch.arange(len(frames))[:, None], frames]
    return PairBatch(u, torch.tensor([pairs.labels[p] for p in drawn]), part.static)


def fit_prior(
    net: PairNet,
    pairs: Pairs,
    train: TrajectorySet,
    valid: TrajectorySet,
    normaliser: Normaliser,
    edm: Edm,
    training: Training,
    run: Run,
    seed: int,
    validation: int,
) -> Progress:
    """Train the network in place; with `validation` > 0 the weights that did best on so many pairs of `valid` stay."""

    def losses(model: nn.Module, batch: PairBatch, draws: torch.Generator) -> Tensor:
        x = normaliser.encode(batch.u)
        static = None if batch.static is None else normaliser.encode_static(batch.static)
        sigma = noise_levels(edm, len(x), draws)
        noise = torch.randn(x.shape, generator=draws, device=draws.device)
        return denoising_loss(edm, lambda x, sigma: model(x, sigma, batch.label, static), x, sigma, noise)

    def loss(model: nn.Module, batch: PairBatch, draws: torch.Generator) -> Tensor:
        return losses(model, batch, draws).mean()

    batches = PairBatches(train, pairs, training.batch, seed)
    validate = at_fixed_noise(losses, _examples(valid, pairs, validation)) if validation and len(valid) else None
    return fit_loop(Denoiser(net, edm.sigma_data), loss, batches, training, run, seed, validate)


def _examples(valid: TrajectorySet, pairs: Pairs, count: int) -> list[PairBatch]:
    """Pairs that are the same for every fit."""
    generator = torch.Generator().manual_seed(derived_seed(0, VALID))
    drawn = [pairs.draw(generator) for _ in range(count)]
    places = [i % len(valid) for i in range(count)]
    return [cut(valid, places[i : i + PIECE], pairs, drawn[i : i + PIECE]) for i in range(0, count, PIECE)]
