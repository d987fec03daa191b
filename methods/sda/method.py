"""Score-based data assimilation (Rozet and Louppe 2023): a prior over short windows, composed to a video of any length.

    prior       x_t = mu x + sigma eps over windows of 2 k + 1 frames;    loss = |eps(x_t, t) - eps|^2
    composition each frame's eps from the window whose centre it is, the outer k from the first and the last window
    likelihood  log p(y | x_t) = -1/2 sum (y - A x')^2 / (s^2 + gamma sigma^2 / mu^2),    x' = (x_t - sigma eps) / mu
    sampling    from t = 1 to 0 with  eps <- eps - sigma grad log p(y | x_t),  the gradient through the network

A is the mask of what is observed: any mask will do, and a long video is one problem, not a roll-out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Problem, Task, TrajectorySet
from methods.blocks.conditioning import Shape
from methods.blocks.diffusion.edm import append_dims
from methods.blocks.diffusion.variance_preserving import Predict, cosine, noise_of, sample, target_of
from methods.blocks.learned import Learned
from methods.blocks.networks.unet import Architecture, UNet
from methods.blocks.normaliser import SIGMA_DATA
from methods.blocks.overlap import cut, joined
from methods.blocks.training.batches import draw_noise, stratified
from methods.blocks.training.examples import Clip, Clips
from methods.blocks.training.sharing import normal
from methods.sda.settings import LAPTOP, SMOKE, Settings

CLOCK = 1000.0  # times t: what the network embeds
TINY = 1e-30  # a misfit of nothing at all


class WindowNet(nn.Module):
    """F(x, t, fields): windows (N, n, H, W, C), times (N,) or (1,), fields that stay (N, H, W, K)."""

    def __init__(self, frames: int, shape: Shape, architecture: Architecture):
        super().__init__()
        self.frames, outputs = frames, frames * shape.channels
        if shape.grid.boundary != "periodic":
            architecture = replace(architecture, padding="zeros")
        self.unet = UNet(outputs + shape.fields, outputs, shape.grid.shape[0], architecture)

    def forward(self, x: Tensor, t: Tensor, fields: Tensor) -> Tensor:
        h = torch.cat([x.movedim(-1, 2).flatten(1, 2), fields.movedim(-1, 1).to(x)], 1)  # (N, n C + K, H, W)
        return self.unet(h, CLOCK * t.to(x.dtype)).to(x.dtype).unflatten(1, (self.frames, -1)).movedim(2, -1)


class SDA(Learned):
    scope = "dataset"
    source = "Rozet and Louppe, Score-based data assimilation, NeurIPS 2023"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}
    sampling_settings = ("steps", "corrections", "tau", "gamma", "std", "limit")
    autocast = False  # the estimate's gradient guides it

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        s = self.settings
        if (s.steps, s.corrections) == (256, 1):
            return None
        return f"steps {s.steps}, corrections {s.corrections} after each (the source: 256 and 1)"

    # -- learning

    def window(self, shape: Shape) -> int:
        """Its frames: both fields of a steady problem, else 2 k + 1, or as many of them as a short video has."""
        return 2 if shape.steady else 2 * min(self.settings.order, (shape.frames - 1) // 2) + 1

    def examples(self, train: TrajectorySet, tasks: Sequence[Task]) -> Clips:
        return Clips(self.window(self.shape_))

    def network(self, shape: Shape) -> WindowNet:
        return WindowNet(self.window(shape), shape, self.settings.architecture)

    def losses(self, network: nn.Module, batch: Clip, draws: torch.Generator) -> Tensor:
        x = self.normaliser_.encode(batch.u) / SIGMA_DATA
        noise = normal(x.shape, draws)
        t = stratified(len(x), draws)
        mu, sigma = cosine(t, x)
        answer = network(mu * x + sigma * noise, t, self.fields(batch.static, x))
        return (answer - target_of(self.settings.target, mu, sigma, x, noise)).square().flatten(1).mean(1)

    # -- predicting

    def reach(self, problem: Problem) -> int:
        return len(problem.grid.times)

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        s, shape = self.settings, problem.values.shape[1:]
        draw = partial(draw_noise, shape, generators, problem.values.device)
        x = sample(self.guided(problem), draw(), s.steps, s.corrections, s.tau, draw)
        return self.normaliser_.decode(x * SIGMA_DATA)

    def guided(self, problem: Problem) -> Predict:
        """eps - sigma grad log p(y | x_t), of videos (B, T, H, W, C).

        Few steps overshoot where the estimate follows x closely, and then without bound: `limit` is the most that eps,
        times sigma, may move the readings' estimate over its misfit.
        """
        s, prior, mask = self.settings, self.prior(problem), problem.mask
        y = self.normaliser_.encode_seen(problem.values, mask) / SIGMA_DATA

        def predict(x: Tensor, t: Tensor) -> Tensor:
            mu, sigma = cosine(t, x)
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                eps = prior(x, t)
                error = torch.where(mask, y - (x - sigma * eps) / mu, 0)
                (gradient,) = torch.autograd.grad(error.square().sum() / 2, x)
            gain = append_dims(square(gradient) / square(error.detach()).clamp(min=TINY), x)
            variance = s.std**2 + problem.noise**2 + s.gamma * (sigma / mu) ** 2
            return eps.detach() + sigma * gradient / variance.clamp(min=sigma**2 * gain / s.limit)

        return predict

    def prior(self, problem: Problem) -> Predict:
        """eps of videos, composed of that of all their windows."""
        frames = self.window(self.shape_)
        fields = self.fields(problem.static, problem.values)
        fields = fields.repeat_interleave(len(problem.grid.times) - frames + 1, 0)

        def predict(x: Tensor, t: Tensor) -> Tensor:
            windows = cut(x, frames)  # (B, W, n, H, W, C)
            answer = self.net_(windows.flatten(0, 1), t, fields).unflatten(0, windows.shape[:2])
            return noise_of(self.settings.target, *cosine(t, x), x, joined(answer))

        return predict

    def evaluations(self, problem: Problem) -> int:
        """Of windows."""
        s = self.settings
        return s.steps * (1 + s.corrections) * (len(problem.grid.times) - self.window(self.shape_) + 1)


def square(x: Tensor) -> Tensor:
    """The sum of squares of each video, (B,)."""
    return x.square().flatten(1).sum(1)
