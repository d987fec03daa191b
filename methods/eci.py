"""ECI sampling (Cheng et al. 2025): a flow-matching prior over whole videos, drawn towards what is observed.

    prior        x_t = (1 - t) eps + t x,    loss = |v(x_t, t) - (x - eps)|^2,    v a Fourier neural operator
    extrapolate  x_1 = x_t + (1 - t) v(x_t, t)
    correct      x_1 <- y where observed
    interpolate  x_t' = (1 - t') eps + t' x_1

for t = 0, 1/N, .., with t' = t for all but the last of M repetitions and t + 1/N for that one. No gradients; any mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Grid, Problem, Task, TrajectorySet
from methods.blocks.conditioning import Shape
from methods.blocks.learned import Learned
from methods.blocks.networks.fourier import Architecture, operator
from methods.blocks.normaliser import SIGMA_DATA
from methods.blocks.training.batches import draw_noise, stratified
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Clip, Clips
from methods.blocks.training.optimiser import Optimiser
from methods.blocks.training.sharing import normal

TIMES = 2000  # of the time embedding: its highest rate


@dataclass(frozen=True)
class Settings:
    """Defaults: the authors' code for Navier-Stokes with a given first frame."""

    architecture: Architecture = Architecture(
        "3d", width=32, modes=16, time_modes=16, layers=2, padding=0.0, lifting=8, projection=8
    )
    time_channels: int = 16  # sines and cosines of t; 1: t itself (ours)
    precondition: bool = False  # ours: v = c_skip x + c_out F(c_in x), as if data and noise were alike
    steps: int = 200  # N
    repeats: int = 5  # M
    bound: float | None = None  # ours: of all estimates x_1 but the last, in standard deviations
    redraw: int = 0  # a new eps after every so many corrections; 0: always the same
    training: Training = Training(
        steps=500_000,
        batch=24,
        optimiser=Optimiser(lr=3e-4, betas=(0.9, 0.999), weight_decay=0.0, clip=100.0),
        ema=0.0,
        precision="32-true",
    )
    symmetries: bool = False  # ours
    coordinates: bool = True
    validation: int = 64  # ours; videos of `valid`, each with a fixed time and noise
    chunk: int = 32  # trajectories at once

    def __post_init__(self) -> None:
        if self.steps < 1 or self.repeats < 1 or self.redraw < 0:
            raise ValueError(
                f"eci: expected steps and repeats of 1 or more, redraw >= 0, got {self.steps}, {self.repeats} and "
                f"{self.redraw}"
            )
        if self.bound is not None and self.bound <= 0:
            raise ValueError(f"bound: expected more than 0, got {self.bound}")
        if self.architecture.form == "recurrent":
            raise ValueError("form: expected 2d or 3d, got 'recurrent'")
        if self.time_channels != 1 and (self.time_channels < 4 or self.time_channels % 2):
            raise ValueError(f"time_channels: expected 1 or an even number from 4 on, got {self.time_channels}")


LAPTOP = Settings(
    Architecture("2d", width=48, modes=16, layers=4, projection=2),
    time_channels=1,
    precondition=True,
    steps=40,
    repeats=10,
    redraw=1,
    bound=2.5,
    symmetries=True,
    training=Training(
        steps=10_000,
        batch=8,
        optimiser=Optimiser(lr=4e-3, betas=(0.9, 0.99), weight_decay=0.0, schedule="cosine", warmup=50),
        ema=0.998,
        precision="32-true",
    ),
)
SMOKE = replace(
    LAPTOP,
    architecture=Architecture("2d", width=16, modes=8, layers=2, projection=2),
    steps=2,
    symmetries=False,
    training=Training(
        steps=100, batch=16, optimiser=Optimiser(lr=1e-2, warmup=5), ema=0.9, validations=2, precision="32-true"
    ),
    validation=16,
)


class VelocityNet(nn.Module):
    """v(x, t, fields): videos (B, T, H, W, C), times (B,) or (1,), coordinates and coefficients (B or 1, K, H, W).

    Frames are channels (form 2d), or time is a third axis (3d).
    """

    def __init__(
        self,
        channels: int,
        fields: int,
        grid: Grid,
        architecture: Architecture,
        precondition: bool,
        time_channels: int = 1,
    ):
        super().__init__()
        self.frames, self.precondition, self.time_channels = len(grid.times), precondition, time_channels
        self.volume = architecture.form == "3d"
        inputs, frames = (channels, self.frames) if self.volume else (channels * self.frames, None)
        outputs, place = inputs, int(self.volume)  # in three dimensions each frame is told which one it is
        self.operator = operator(architecture, grid, inputs + fields + time_channels + place, outputs, frames)

    def forward(self, x: Tensor, t: Tensor, fields: Tensor) -> Tensor:
        t = t.to(x.dtype).reshape(-1, 1, 1, 1, 1)
        if not self.precondition:
            return self._operate(x, t, fields)
        total = (1 - t) ** 2 + t**2
        skip = (2 * t - 1) / total
        return skip * x + total.rsqrt() * self._operate(total.rsqrt() * x, t, fields)

    def _operate(self, x: Tensor, t: Tensor, fields: Tensor) -> Tensor:
        h = x.movedim(-1, 1).movedim(2, -1) if self.volume else x.movedim(-1, 2).flatten(1, 2)  # (B, C, H, W, T)
        parts = [
            fields.expand(len(x), -1, -1, -1),
            embedded(t.flatten(), self.time_channels)[..., None, None].expand(len(x), -1, *h.shape[2:4]),
        ]
        known = torch.cat(parts, 1)
        if not self.volume:
            return self.operator(torch.cat([h, known], 1)).unflatten(1, (self.frames, -1)).movedim(2, -1)
        place = torch.linspace(-0.5, 0.5, self.frames, device=x.device, dtype=x.dtype).expand(len(x), 1, *h.shape[2:])
        known = known[..., None].expand(*known.shape, self.frames)
        return self.operator(torch.cat([h, known, place], 1)).movedim(-1, 1).movedim(2, -1)


def embedded(t: Tensor, channels: int) -> Tensor:
    """(B,) -> (B, channels): sines and cosines of 2000^(1 - i / (n - 1)) t, i = 0 .. n - 1; one channel: t itself."""
    if channels == 1:
        return t[:, None] - 0.5
    rates = TIMES ** (1 - torch.linspace(0, 1, channels // 2, device=t.device, dtype=t.dtype))
    angles = t[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], 1)


class ECI(Learned):
    scope = "dataset"
    source = "Cheng et al., Gradient-Free Generation for Hard-Constrained Systems, ICLR 2025"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}
    sampling_settings = ("steps", "repeats", "bound", "redraw")

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        bound = self.settings.bound
        return f"estimates within {bound:g} standard deviations (the source: unbounded)" if bound else None

    def examples(self, train: TrajectorySet, tasks: Sequence[Task]) -> Clips:
        return Clips(self.shape_.frames)

    def network(self, shape: Shape) -> nn.Module:
        s = self.settings
        return VelocityNet(shape.channels, shape.fields, shape.grid, s.architecture, s.precondition, s.time_channels)

    def losses(self, network: nn.Module, batch: Clip, draws: torch.Generator) -> Tensor:
        x = self.normaliser_.encode(batch.u) / SIGMA_DATA
        noise = normal(x.shape, draws)
        t = stratified(len(x), draws).to(x.dtype)
        x_t = torch.lerp(noise, x, t.reshape(-1, 1, 1, 1, 1))
        known = self.fields(batch.static, x).movedim(-1, 1)
        return (network(x_t, t, known) - (x - noise)).square().flatten(1).mean(1)

    # -- predicting

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        y = self.normaliser_.encode_seen(problem.values, problem.mask) / SIGMA_DATA
        known = self.fields(problem.static, y).movedim(-1, 1)
        x = self.sample(y, problem.mask, known, generators)
        return self.normaliser_.decode(x * SIGMA_DATA)

    def sample(self, y: Tensor, mask: Tensor, fields: Tensor, generators: Sequence[torch.Generator]) -> Tensor:
        """Videos (B, T, H, W, C) in standard units; an empty mask gives samples of the prior."""
        s = self.settings
        x = noise = draw_noise(y.shape[1:], generators, y.device)
        corrections = 0
        for n in range(s.steps):
            t = torch.full((1,), n / s.steps, device=y.device)
            for m in range(s.repeats):
                x_1 = x + (1 - t) * self.net_(x, t, fields)
                if s.bound is not None and (n, m) != (s.steps - 1, s.repeats - 1):
                    x_1 = x_1.clamp(-s.bound, s.bound)
                x_1 = torch.where(mask, y, x_1)
                corrections += 1
                if s.redraw and corrections % s.redraw == 0:
                    noise = draw_noise(y.shape[1:], generators, y.device)
                x = torch.lerp(noise, x_1, (n + (m == s.repeats - 1)) / s.steps)
        return x

    def evaluations(self, problem: Problem) -> int:
        return self.settings.steps * self.settings.repeats
