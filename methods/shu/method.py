"""Shu et al.: a diffusion prior over three frames, started from the observations, with the equation as a guide.

    x_g  each site's nearest sensor           x = sqrt(abar) x_g + sqrt(1 - abar) eps     at a middle time t
    DDIM steps from t to 0, each followed by  x <- x - lambda g,    g = grad |r(x)|^2 / 2

again from what came out, with t smaller by a factor. Observations enter through the start alone. Every window of three
frames is a sample of its own and gives its middle frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Grid, Problem, Task, TrajectorySet
from methods.blocks.conditioning import Shape
from methods.blocks.diffusion.variance_preserving import Target
from methods.blocks.learned import Learned
from methods.blocks.networks.unet import SHU, Architecture, UNet
from methods.blocks.normaliser import SIGMA_DATA
from methods.blocks.overlap import cut, joined
from methods.blocks.training.batches import draw_noise
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Clip, Clips
from methods.blocks.training.optimiser import Optimiser
from methods.blocks.training.sharing import normal, uniform
from methods.blocks.voronoi import fill_frames
from methods.shu.ddpm import Schedule, antithetic, ddim, noise_of, noised, target_of

FRAMES = 3  # of a window


@dataclass(frozen=True)
class Restarts:
    """When to start, how many steps to take, and how often. Defaults: the authors' command line, three times over, and
    the blur of their sparse conditional configuration."""

    time: int = 400  # of the first start: its first step is the largest multiple of time / steps below it
    steps: int = 20  # of the first start
    starts: int = 3
    shrink: float = 0.7  # of time and steps from one start to the next
    blur: int = 7  # cells, odd: width and standard deviation of the Gaussian that smooths the first guide; 0: none

    def __post_init__(self) -> None:
        if self.blur < 0 or (self.blur and self.blur % 2 == 0):
            raise ValueError(f"blur: expected 0 or an odd number of cells, got {self.blur}")
        if not 0 < self.steps <= self.time or self.starts < 1 or not 0 < self.shrink <= 1:
            raise ValueError(f"restarts: expected 0 < steps <= time, starts >= 1 and 0 < shrink <= 1, got {self}")

    def times(self) -> list[list[int]]:
        """The times of each start, decreasing, 0 the last."""
        scales = [self.shrink**k for k in range(self.starts)]
        pairs = [(max(1, int(self.time * s)), max(1, int(self.steps * s))) for s in scales]
        return [list(range(0, t, t // steps))[::-1] for t, steps in pairs]


@dataclass(frozen=True)
class Settings:
    """Defaults: the authors' code."""

    architecture: Architecture = field(default_factory=lambda: SHU)
    schedule: Schedule = Schedule()
    target: Target = "noise"  # of the network; velocity: ours, less to learn in a short training
    restarts: Restarts = Restarts()
    variant: Literal["plain", "penalty", "conditional"] = "conditional"  # conditional: the network sees g too
    strength: float = 5.2e-4  # lambda; theirs, for a batch of 20 at 256^2 and frames 1/32 apart, in our units
    line_search: bool = False  # ours: lambda is a share of the step that brings the linearised residual down most
    weight: float = 0.0  # w of eps = (1 + w) net(x, t, g) - w net(x, t, 0)
    symmetries: bool = False  # ours
    coordinates: bool = False  # ours
    drop: float = 0.1  # share of the training examples without g
    training: Training = Training(
        steps=107_000,  # 300 epochs of 36 runs with 318 windows each
        batch=32,
        optimiser=Optimiser(lr=2e-4, betas=(0.9, 0.999), weight_decay=0.0),
        ema=0.9999,
    )
    validation: int = 256  # ours; windows of `valid`, each with a fixed time and noise
    chunk: int = 8  # trajectories at once

    def __post_init__(self) -> None:
        if self.restarts.time > self.schedule.steps:
            raise ValueError(f"restarts.time: expected at most {self.schedule.steps}, got {self.restarts.time}")


SMALL = Architecture(32, (1, 2), 1, attention=(), groups=8, dropout=0.0, padding="circular", patch=2)
LAPTOP = Settings(
    SMALL,
    target="velocity",
    restarts=Restarts(time=400, steps=10, blur=0),
    variant="penalty",
    strength=0.5,
    line_search=True,
    symmetries=True,
    coordinates=True,
    training=Training(
        steps=12_000,
        batch=16,
        optimiser=Optimiser(lr=2e-3, weight_decay=0.0, schedule="cosine", warmup=50),
        ema=0.998,
    ),
    chunk=16,
)
SMOKE = replace(  # so few steps that each answers with a mean over what is possible
    LAPTOP,
    architecture=replace(SMALL, width=16),
    restarts=Restarts(time=600, steps=2, starts=2, blur=0),
    symmetries=False,
    coordinates=False,
    training=Training(steps=100, batch=16, optimiser=Optimiser(lr=5e-3, warmup=5), ema=0.9, validations=2),
    validation=16,
)


class Shu(Learned):
    nearest = True
    scope = "dataset"
    uses_equation = True
    source = "Shu, Li and Barati Farimani, A physics-informed diffusion model for flow reconstruction, JCP 478, 2023"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}
    sampling_settings = ("restarts", "strength", "line_search", "weight")

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if dataset.steady or dataset.sizes.frames < FRAMES:
            return "a prior over three consecutive frames, which a steady problem does not have"
        if task.family != "continuous":
            return "sampling starts from a guess of every frame, made from sensors in each of them"
        return None

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        return "the equation's step by a line search (the source: of fixed size)" if self.settings.line_search else None

    def examples(self, train: TrajectorySet, tasks: Sequence[Task]) -> Clips:
        return Clips(FRAMES)

    def network(self, shape: Shape) -> nn.Module:
        architecture, inputs = self.settings.architecture, FRAMES * shape.channels
        if shape.grid.boundary != "periodic":
            architecture = replace(architecture, padding="zeros")
        extra = inputs if self.settings.variant == "conditional" else 0
        return UNet(inputs + shape.fields, inputs, shape.grid.shape[0], architecture, extra=extra)

    # -- learning

    def losses(self, network: nn.Module, batch: Clip, draws: torch.Generator) -> Tensor:
        s = self.settings
        x = self.encode(batch.u)
        noise = normal(x.shape, draws)
        t = antithetic(s.schedule, len(x), draws)
        x_t = noised(s.schedule, x, t, noise)
        direction = None
        if s.variant == "conditional":
            kept = uniform((len(x), 1, 1, 1), draws) >= s.drop
            direction = kept * unit(self.gradient(batch.static)(x_t))
        answer = network(self._with(x_t, self.fields(batch.static, x)), t.to(x.dtype), extra=direction)
        return (answer - target_of(s.target, s.schedule, x, t, noise)).square().flatten(1).mean(1)

    # -- predicting

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        restarts, schedule = self.settings.restarts, self.settings.schedule
        guide = cut(self.guide(problem), FRAMES).flatten(2, 3)  # (B, W, 3 C, H, W)
        static = None if problem.static is None else problem.static.repeat_interleave(guide.shape[1], 0)
        x = guide.flatten(0, 1)
        predict, correct = self.predictor(self.fields(static, x), static), self.corrector(static)
        for times in restarts.times():
            noise = draw_noise(guide.shape[1:], generators, x.device).flatten(0, 1)
            x = noised(schedule, x, torch.tensor(times[0]), noise)
            x = ddim(schedule, predict, x, times, correct)
        return joined(self.decode(x).unflatten(0, guide.shape[:2]))

    def guide(self, problem: Problem) -> Tensor:
        """Each frame from its own sensors, in standard units: (B, T, C, H, W)."""
        y = self.normaliser_.encode_seen(problem.values, problem.mask).movedim(-1, 2) / SIGMA_DATA
        return blurred(
            fill_frames(y, problem.mask.movedim(-1, 2), problem.grid), self.settings.restarts.blur, problem.grid
        )

    def predictor(self, fields: Tensor, static: Tensor | None) -> Callable[[Tensor, Tensor], Tensor]:
        """eps(x, t)."""
        s, gradient = self.settings, self.gradient(static)

        def noise(x: Tensor, t: Tensor, direction: Tensor | None) -> Tensor:
            answer = self.net_(self._with(x, fields), t.to(x.dtype), extra=direction).to(x.dtype)
            return noise_of(s.target, s.schedule, x, t, answer)

        def predict(x: Tensor, t: Tensor) -> Tensor:
            if s.variant != "conditional":
                return noise(x, t, None)
            eps = noise(x, t, unit(gradient(x)))
            return eps if not s.weight else (1 + s.weight) * eps - s.weight * noise(x, t, torch.zeros_like(x))

        return predict

    def corrector(self, static: Tensor | None) -> Callable[[Tensor], Tensor]:
        """lambda g(x)."""
        s, gradient = self.settings, self.gradient(static)
        if s.variant == "plain" or not s.strength:
            return torch.zeros_like
        if not s.line_search:
            return lambda x: s.strength * gradient(x)
        residual = self.residual(static)

        def correct(x: Tensor) -> Tensor:
            g = gradient(x)
            return s.strength * best_step(residual, x, g) * g

        return correct

    def residual(self, static: Tensor | None) -> Callable[[Tensor], Tensor]:
        """dt^n r / std of windows (N, 3 C, H, W), scaled as if it had as many sites as they have: (N, K).

        r is the equation's residual and n its order in time, so that dt^n r / std is a change of x from one frame to
        the next. A window's residual does not depend on how many windows there are.
        """
        grid, equation = self.shape_.grid.first(FRAMES), self.shape_.equation
        scale = grid.dt**equation.time_order / float(self.normaliser_.std.mean())

        def residual(x: Tensor) -> Tensor:
            r = equation.residual(self.decode(x.float()), static, grid).flatten(1)
            return r * (scale * (x[0].numel() / r.shape[1]) ** 0.5)

        return residual

    def gradient(self, static: Tensor | None) -> Callable[[Tensor], Tensor]:
        """g(x), of half the squared residual of each window."""
        residual = self.residual(static)

        def gradient(x: Tensor) -> Tensor:
            with torch.enable_grad():
                leaf = x.detach().float().requires_grad_()
                return torch.autograd.grad(residual(leaf).square().sum() / 2, leaf)[0].to(x.dtype)

        return gradient

    def evaluations(self, problem: Problem) -> int:
        s, frames = self.settings, problem.values.shape[1]
        steps = sum(map(len, s.restarts.times())) * (2 if s.variant == "conditional" and s.weight else 1)
        return steps * (frames - FRAMES + 1)

    # -- shapes

    def encode(self, u: Tensor) -> Tensor:
        """(N, 3, H, W, C) in physical units -> (N, 3 C, H, W), mean 0 and standard deviation 1."""
        return (self.normaliser_.encode(u) / SIGMA_DATA).movedim(-1, 2).flatten(1, 2)

    def decode(self, x: Tensor) -> Tensor:
        return self.normaliser_.decode(x.unflatten(1, (FRAMES, -1)).movedim(2, -1) * SIGMA_DATA)

    @staticmethod
    def _with(x: Tensor, fields: Tensor) -> Tensor:
        """Windows (N, 3 C, H, W) and the fields that stay (N, H, W, K)."""
        return torch.cat([x, fields.movedim(-1, 1).to(x)], 1)


def best_step(residual: Callable[[Tensor], Tensor], x: Tensor, g: Tensor) -> Tensor:
    """|g|^2 / |R'(x) g|^2 of each window, the minimum of |R(x) - s R'(x) g|^2 over s if g = R'(x)^T R(x).

    R' g is a central difference: exact where R is quadratic.
    """
    h = 1e-2 / g.square().mean((1, 2, 3), keepdim=True).sqrt().clamp(min=1e-12)
    change = (residual(x + h * g) - residual(x - h * g)) / (2 * h.flatten(1))
    best = g.square().sum((1, 2, 3)) / change.square().sum(1).clamp(min=1e-12)
    return best.reshape(-1, 1, 1, 1).to(x.dtype)


def unit(g: Tensor) -> Tensor:
    """Each sample over its root mean square."""
    return g / g.square().mean((1, 2, 3), keepdim=True).sqrt().clamp(min=1e-12)


def blurred(x: Tensor, width: int, grid: Grid) -> Tensor:
    """A Gaussian window of so many cells over the last two axes, around the torus or with mirrored edges."""
    if not width:
        return x
    for axis, n in zip((-2, -1), grid.shape, strict=True):
        x = (window(n, width, grid.boundary == "periodic").to(x) @ x.movedim(axis, -2)).movedim(-2, axis)
    return x


def window(n: int, width: int, periodic: bool) -> Tensor:
    """The blur of one axis as a matrix (n, n): exp(-d^2 / (2 width^2)) where d < width / 2; rows add up to 1."""
    i = torch.arange(n)
    distance = (i[:, None] - i).abs()
    images = [distance, n - distance] if periodic else [distance, i[:, None] + i + 1, 2 * n - 1 - i[:, None] - i]
    weights = torch.stack([(-0.5 * (d / width) ** 2).exp() * (d < width / 2) for d in images]).sum(0)
    return weights / weights.sum(1, keepdim=True)
