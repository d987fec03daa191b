"""Zhuang et al.: a diffusion model of single frames, told the sparse observations through cross-attention.

    x = x_0 + sigma eps (1 - m),    loss = lambda(sigma) |D(x, sigma; V, m) - x_0|^2,    V each site's nearest sensor

Observed pixels carry no noise, in training and in sampling. The source answers with the mean of an ensemble of draws.
Frames know nothing of each other, so every frame needs sensors of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Problem, Task, TrajectorySet
from methods.blocks.conditioning import Shape
from methods.blocks.diffusion.edm import (
    SAMPLING,
    Denoise,
    Denoiser,
    Edm,
    denoising_loss,
    noise_levels,
    precondition,
    sample,
)
from methods.blocks.learned import Learned
from methods.blocks.networks.unet import Architecture as UNetArchitecture
from methods.blocks.training.batches import draw_noise
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Clip, Clips
from methods.blocks.training.optimiser import Optimiser
from methods.blocks.training.sharing import normal, uniform
from methods.blocks.voronoi import fill_frames
from methods.zhuang.network import Architecture, ConditionalUNet


@dataclass(frozen=True)
class Settings:
    """Defaults: the authors' code."""

    architecture: Architecture = field(default_factory=Architecture)
    edm: Edm = Edm(log_mean=1.2, log_std=1.7, steps=20)
    rates: tuple[float, float] = (0.001, 0.1)  # share of the sites that are seen in training, uniform
    clean: bool = True  # observed pixels carry no noise, in training and in sampling
    symmetries: bool = False  # ours
    coordinates: bool = False  # ours
    ensemble: int = 25  # draws whose mean is one answer; 1: answers are draws, and their spread is the law's
    training: Training = Training(
        steps=100_000,
        batch=16,  # frames
        optimiser=Optimiser(lr=1e-4, betas=(0.9, 0.999), warmup=500),
        ema=0.9999,
    )
    validation: int = 256  # ours; frames of `valid`, each with a fixed mask and noise
    chunk: int = 4  # trajectories at once
    fields: int = 128  # noisy frames the network sees at once

    def __post_init__(self) -> None:
        if not 0 < self.rates[0] <= self.rates[1] <= 1:
            raise ValueError(f"rates: expected 0 < lowest <= highest <= 1, got {self.rates}")
        if self.ensemble < 1:
            raise ValueError(f"ensemble: expected 1 or more, got {self.ensemble}")


SMALL = UNetArchitecture(
    width=32,
    multipliers=(1, 2),
    blocks=1,
    attention=(1,),
    attention_by="level",
    decoder_attention="all",
    modulate=True,
    dropout=0.0,
    patch=2,
)
LAPTOP = Settings(
    Architecture(SMALL, heads=4, patch=4, width=128, layers=4, positions=True),
    Edm(log_mean=2.0, log_std=1.2, sigma_max=20.0, sampler="dpmpp_2m", steps=2),
    rates=(0.004, 0.04),
    symmetries=True,
    coordinates=True,
    ensemble=1,
    training=Training(
        steps=5200,
        batch=16,
        optimiser=Optimiser(lr=2e-3, weight_decay=0.0, schedule="cosine", warmup=50),
        ema=0.998,
    ),
    chunk=8,
)
SMOKE = replace(  # two steps from a high noise level: hardly more than a regression, but it runs all there is
    LAPTOP,
    architecture=Architecture(replace(SMALL, width=16), heads=4, patch=4, width=32, layers=1),
    symmetries=False,
    coordinates=False,
    training=Training(steps=100, batch=16, optimiser=Optimiser(lr=5e-3, warmup=5), ema=0.9, validations=2),
    validation=16,
)


class Zhuang(Learned):
    nearest = True
    conditional = True
    scope = "dataset"
    source = "Zhuang, Cheng and Duraisamy, Spatially-aware diffusion models with cross-attention, CMAME 435, 2025"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}
    sampling_settings = (*SAMPLING, "ensemble")
    memory_settings = (*Learned.memory_settings, "fields")

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if dataset.steady:
            return "a model of single frames of one field; the paper marks steady problems X"
        if task.family != "continuous":
            return "frames are reconstructed one by one, from sensors in each of them"
        return None

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        noisy = "noisy readings are held fast" if self.settings.clean and task.noise else None
        mean = f"each sample is the mean of {self.settings.ensemble} draws, as in the source: its spread is too small"
        return "; ".join(filter(None, [self.settings.edm.remark, mean if self.settings.ensemble > 1 else None, noisy]))

    def examples(self, train: TrajectorySet, tasks: Sequence[Task]) -> Clips:
        return Clips(1)

    def network(self, shape: Shape) -> nn.Module:
        net = ConditionalUNet(shape.channels, shape.fields, shape.grid, self.settings.architecture)
        return Denoiser(net, self.settings.edm)

    # -- learning

    def losses(self, network: nn.Module, batch: Clip, draws: torch.Generator) -> Tensor:
        x = self.normaliser_.encode(batch.u)[:, 0].movedim(-1, 1)  # (B, C, H, W)
        mask = random_sensors(x.shape[-2:], self.settings.rates, len(x), draws)[:, None].expand_as(x)
        known = self.field(torch.where(mask, x, 0)[:, None], mask[:, None], batch.static)
        sigma = noise_levels(self.settings.edm, len(x), draws)
        noise = normal(x.shape, draws)
        if self.settings.clean:
            noise = noise.masked_fill(mask, 0.0)

        def denoise(x: Tensor, sigma: Tensor) -> Tensor:
            return network(x, sigma, known, mask.to(x.dtype))

        return denoising_loss(self.settings.edm, denoise, x, sigma, noise)

    def field(self, y: Tensor, mask: Tensor, static: Tensor | None) -> Tensor:
        """Observations (B, T, C, H, W) -> each site's nearest sensor, and the fields that stay: (B T, C + K, H, W)."""
        nearest = fill_frames(y, mask, self.shape_.grid).flatten(0, 1)
        fields = self.fields(static, y).movedim(-1, 1)
        return torch.cat([nearest, fields.repeat_interleave(y.shape[1], 0)], 1)

    # -- predicting

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        y = self.normaliser_.encode_seen(problem.values, problem.mask).movedim(-1, 2)  # (B, T, C, H, W)
        mask = problem.mask.movedim(-1, 2)
        known = self.field(y, mask, problem.static)
        y, seen = y.flatten(0, 1)[:, None], mask.flatten(0, 1)[:, None]  # (B T, 1, C, H, W)
        members = self.settings.ensemble
        noise = draw_noise((mask.shape[1], members, *mask.shape[2:]), generators, y.device).flatten(0, 1)
        at_once = max(1, self.settings.fields // len(y))
        prepared = self.prepared(known, y, seen)
        parts = [sample(self.settings.edm, prepared, self._start(n, y, seen)) for n in noise.split(at_once, dim=1)]
        x = torch.cat(parts, 1).mean(1)  # (B T, C, H, W)
        return self.normaliser_.decode(x.unflatten(0, mask.shape[:2]).movedim(2, -1))

    def _start(self, noise: Tensor, y: Tensor, seen: Tensor) -> Tensor:
        """What sigma_max multiplies: noise where nothing is held fast, elsewhere the observation."""
        return torch.where(self._held(seen), y / self.settings.edm.sigma_max, noise)

    def _held(self, seen: Tensor) -> Tensor:
        """Where a sample stays what was observed."""
        return seen if self.settings.clean else torch.zeros_like(seen)

    def prepared(self, known: Tensor, y: Tensor, seen: Tensor) -> Denoise:
        """D(x, sigma) of members x (N, E, C, H, W); the condition is encoded once. Pixels that are held stay y."""
        net: ConditionalUNet = self.net_.net
        condition, held = net.condition(known, seen[:, 0].to(known.dtype)), self._held(seen)

        def denoise(x: Tensor, sigma: Tensor) -> Tensor:
            c, flat = precondition(self.settings.edm, sigma), x.flatten(0, 1)
            f = net.denoise(c.c_in * flat, c.c_noise[None], condition).to(x.dtype).view_as(x)
            return torch.where(held, y, c.c_skip * x + c.c_out * f)

        return denoise

    def evaluations(self, problem: Problem) -> int:
        return problem.values.shape[1] * self.settings.ensemble * self.settings.edm.evaluations


def random_sensors(shape: Sequence[int], rates: tuple[float, float], count: int, draws: torch.Generator) -> Tensor:
    """Masks (count, H, W) with a share of sensors uniform between the two rates, one sensor at least."""
    low, high = rates
    sites = shape[0] * shape[1]
    rate = low + (high - low) * uniform((count, 1), draws)
    number = (rate * sites).round().clamp(min=1)
    rank = uniform((count, sites), draws).argsort(1).argsort(1)
    return (rank < number).view(count, *shape)
