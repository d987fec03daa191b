"""DeepONet (Lu et al. 2021): coefficients from what is seen, basis functions of place and time, and their product.

    u(t, x, y) = sum_k branch_k(what is seen) trunk_k(t, x, y) + bias

The network is deepxde's `DeepONetCartesianProd`. The branch is convolutional, as in Lu et al. 2022; the trunk gets the
coordinates as sin and cos of several wavelengths, which makes it periodic on a torus. Training looks at all frames of a
random subset of the sites. What is predicted is the change from the frame that is given, where there is one. Sparse
observations (masked frames, mask and the nearest sensor's value as channels) are an addition of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Grid, Problem, Task
from methods.blocks.conditioning import Conditioning, Shape
from methods.blocks.learned import Learned
from methods.blocks.networks.deepxde import deeponet
from methods.blocks.regression import (
    RegressionSettings,
    conditioning,
    regress,
    regression_error,
    relative_l2,
    sparse_remark,
)
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Observed
from methods.blocks.training.optimiser import Optimiser
from methods.blocks.training.sharing import permutation

KERNEL = 5
BOTTOM = 8  # points per axis where the convolutions of the branch end


@dataclass(frozen=True)
class Architecture:
    """Defaults: the convolutional branch of Lu et al. 2022 at twice the width, one level more for each finer grid."""

    basis: int = 256  # p, the number of basis functions
    filters: tuple[int, ...] = (64, 128, 256)  # of the branch's levels, each half as fine; the last one is repeated
    hidden: int = 256  # width of the branch's dense layer
    trunk: tuple[int, ...] = (256, 256, 256)
    harmonics: int = 12  # wavelengths L, L/2, ... that the trunk sees


@dataclass(frozen=True)
class Settings(RegressionSettings):
    architecture: Architecture = field(default_factory=Architecture)
    sites: int = 4096  # of a frame that a training step looks at, at most


SMOKE = Settings(
    training=Training(
        steps=60,
        batch=8,
        optimiser=Optimiser(lr=3e-3, betas=(0.9, 0.99), weight_decay=0.0, schedule="cosine", warmup=5),
        ema=0.0,
        validations=2,
        precision="32-true",
    ),
    validation=8,
    architecture=Architecture(basis=32, filters=(16,), hidden=64, trunk=(32, 32), harmonics=4),
    sites=64,
)
LAPTOP = Settings(
    training=Training(
        steps=7000,
        curriculum=1 / 3,
        batch=16,
        optimiser=Optimiser(lr=1e-3, betas=(0.9, 0.99), weight_decay=1e-4, schedule="cosine", warmup=50),
        ema=0.99,
        precision="32-true",
    ),
    symmetries=True,
    architecture=Architecture(basis=256, filters=(64, 128), hidden=256, trunk=(128, 128, 128), harmonics=8),
    sites=256,
)


class DeepONet(Learned):
    nearest = True
    stochastic = False
    source = "Lu et al., Learning nonlinear operators via DeepONet, Nature Machine Intelligence 3, 2021"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        return sparse_remark(task)

    def network(self, shape: Shape) -> nn.Module:
        return BranchTrunk(self.settings.architecture, shape)

    def losses(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        """On some sites, drawn anew for each step."""
        problem, truth = batch.problem, batch.truth
        total = problem.grid.shape[0] * problem.grid.shape[1]
        sites = permutation(total, draws)[: self.settings.sites]
        known = conditioning(self, problem)
        change = network(known, sites)  # (B, T, C, n, 1)
        x = known.guess.flatten(3)[..., sites, None] + change
        values, mask, u = (v.flatten(2, 3)[:, :, sites, None] for v in (problem.values, problem.mask, truth.u))
        raw = self.normaliser_.decode(x.movedim(2, -1))  # (B, T, n, 1, C)
        video = raw if problem.noise > 0 else torch.where(mask, values, raw)
        return relative_l2(video, u, truth.equation.time_order == 0)

    def errors(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        """On all sites."""
        return regression_error(self, network, batch)

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        return regress(self, self.net_, problem)

    def evaluations(self, problem: Problem) -> int:
        return 1


class BranchTrunk(nn.Module):
    """Conditioning -> a correction (B, T, C, H, W), or (B, T, C, n, 1) at n sites."""

    points: Tensor

    def __init__(self, architecture: Architecture, shape: Shape):
        super().__init__()
        frame, fields = shape.conditioning
        inputs, p = len(shape.observed.frames) * frame + fields, architecture.basis
        self.channels, self.grid = shape.channels, shape.grid.shape
        branch = Branch(architecture, inputs, shape.grid)
        self.register_buffer("points", trunk_points(shape.grid, shape.frames, architecture.harmonics), persistent=False)
        size = inputs * self.grid[0] * self.grid[1]
        several: dict[str, Any] = {"outputs": self.channels, "strategy": "split_both"} if self.channels > 1 else {}
        stem: Any = (size, branch, p) if several else (size, branch)
        self.operator = deeponet(
            stem,
            (self.points.shape[-1], *architecture.trunk, p),
            "gelu",
            torch.initial_seed() % 2**32,
            **several,
        )

    def forward(self, known: Conditioning, sites: Tensor | None = None) -> Tensor:
        seen = torch.cat([known.frames.flatten(1, 2), known.fields], dim=1).flatten(1)
        points = self.points if sites is None else self.points[:, sites]  # (T, n, D)
        out = self.operator((seen, points.flatten(0, 1)))  # (B, T n) or (B, T n, C)
        out = out.view(len(out), *points.shape[:2], self.channels).movedim(-1, 2)  # (B, T, C, n)
        return out[..., None] if sites is not None else out.unflatten(-1, self.grid)


class Branch(nn.Module):
    """(B, K H W) -> (B, p)."""

    def __init__(self, architecture: Architecture, inputs: int, grid: Grid):
        super().__init__()
        self.shape = inputs, *grid.shape
        mode = "circular" if grid.boundary == "periodic" else "zeros"
        layers, width, (h, w) = [], inputs, grid.shape
        for filters in chain(architecture.filters, repeat(architecture.filters[-1])):
            if min(h, w) <= BOTTOM:
                break
            layers += [nn.Conv2d(width, filters, KERNEL, 2, KERNEL // 2, padding_mode=mode), nn.GELU()]
            width, h, w = filters, -(-h // 2), -(-w // 2)
        self.layers = nn.Sequential(*layers, nn.Flatten())
        self.dense = nn.Sequential(
            nn.Linear(width * h * w, architecture.hidden), nn.GELU(), nn.Linear(architecture.hidden, architecture.basis)
        )

    def forward(self, seen: Tensor) -> Tensor:
        return self.dense(self.layers(seen.unflatten(1, self.shape)))


def trunk_points(grid: Grid, frames: int, harmonics: int) -> Tensor:
    """(T, H W, 1 + 4 harmonics): t in [-1, 1], and sin and cos of 2 pi k x / L on a torus, of pi k x / L elsewhere."""
    turn = 2 * torch.pi if grid.boundary == "periodic" else torch.pi
    k = torch.arange(1, harmonics + 1)
    x, y = (a / length for a, length in zip(grid.axes(), grid.lengths, strict=True))
    phases = [turn * k * axis.expand(grid.shape).reshape(-1, 1) for axis in (x, y)]  # (H W, harmonics)
    space = torch.cat([f(phase) for phase in phases for f in (torch.sin, torch.cos)], dim=1)
    t = torch.linspace(-1, 1, frames)
    shape = frames, len(space)
    return torch.cat([t[:, None, None].expand(*shape, 1), space.expand(*shape, -1)], dim=-1)
