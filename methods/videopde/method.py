"""VideoPDE: a PDE solver as a video diffusion model that fills in what is not seen.

Training draws a trajectory x_0, a mask m and a noise level sigma, and asks HV-DiT to remove the noise:

    y = m x_0,    x = x_0 + sigma eps,    loss = lambda(sigma) |D(x, sigma; m, y) - x_0|^2

Prediction starts from noise and follows dx/dsigma = (x - D(x, sigma; m, y)) / sigma down to sigma = 0. Observations
enter through the network's input alone: no guidance and no equation. `README.md` says what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Problem, Task
from methods.blocks.conditioning import Shape
from methods.blocks.diffusion.edm import (
    HDIT,
    SAMPLING,
    Denoise,
    Denoiser,
    Edm,
    denoising_loss,
    karras_sigmas,
    noise_levels,
    precondition,
    sample,
)
from methods.blocks.learned import Learned
from methods.blocks.training.batches import draw_noise
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Observed
from methods.blocks.training.optimiser import Group, Optimiser
from methods.blocks.training.sharing import normal
from methods.videopde.model import UNIFIED, Architecture, HVDiT


@dataclass(frozen=True)
class Settings:
    """Defaults: the paper, column "Ours"; what it leaves open follows EDM and HDiT."""

    architecture: Architecture = field(default_factory=Architecture)
    edm: Edm = HDIT
    training: Training = field(default_factory=Training)
    symmetries: bool = False  # ours
    coordinates: bool = False  # ours
    mapping_lr: float = 1 / 3  # open (HDiT); factor on the learning rate of the noise level's network
    validation: int = 64  # open; examples of `valid`, each with a fixed task, mask and noise
    chunk: int = 16  # videos that are sampled at once


SMOKE = Settings(  # two steps from a high noise level: hardly more than a regression, but it runs all there is
    Architecture((2, 4, 4), (32, 64), (1, 1), (2, 3, 3), head_dim=16, mapping_width=32),
    Edm(log_mean=2.0, log_std=1.0, sigma_max=20.0, sampler="dpmpp_2m", steps=2),
    Training(steps=100, batch=8, optimiser=Optimiser("muon", lr=2e-2, warmup=10), ema=0.95, validations=2),
    validation=8,
)
LAPTOP = Settings(  # chosen on `valid`; TUNING.md says against what
    Architecture((2, 4, 4), (32, 64), (1, 4), (2, 5, 5), head_dim=16, mapping_width=128),
    Edm(target="x", log_mean=0.8, log_std=1.6, sigma_min=0.2, sigma_max=40.0, sampler="dpmpp_2m", steps=6),
    Training(
        steps=6500,
        curriculum=1 / 3,
        batch=8,
        optimiser=Optimiser("muon", lr=2e-2, schedule="cosine", warmup=50),
        ema=0.99,
    ),
    symmetries=True,
    coordinates=True,
)


class VideoPDE(Learned):
    """One model for one task of a dataset."""

    version = 2
    source = "Li et al., VideoPDE: Unified Generative PDE Solving via Video Inpainting Diffusion Models, 2025"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}
    sampling_settings = SAMPLING
    conditional = True

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        return self.settings.edm.remark

    # -- learning

    def network(self, shape: Shape) -> nn.Module:
        architecture = self.settings.architecture.for_video(*shape.video)
        return HVDiT(shape.channels, 2 * shape.channels + shape.fields, architecture)

    def model(self) -> nn.Module:
        """D(x, sigma, known)."""
        return Denoiser(self.net_, self.settings.edm)

    def groups(self) -> list[Group]:
        return parameter_groups(self.net_, self.settings.mapping_lr)

    def losses(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        """At noise levels spread over the batch: (B,)."""
        return self.denoising(network, self.encode(batch.truth.u), self.condition(batch.problem), draws)

    def denoising(self, network: nn.Module, x: Tensor, known: Tensor, draws: torch.Generator) -> Tensor:
        """The loss of each of what is diffused, (B,)."""
        sigma = noise_levels(self.settings.edm, len(x), draws)
        noise = normal(x.shape, draws)
        return denoising_loss(self.settings.edm, lambda x, sigma: network(x, sigma, known), x, sigma, noise)

    def condition(self, problem: Problem) -> Tensor:
        """What the network is conditioned on: m, y and the fields that stay, (B, T, H, W, 2 C + K)."""
        y = self.normaliser_.encode_seen(problem.values, problem.mask)
        fields = self.fields(problem.static, y)[:, None].expand(-1, y.shape[1], -1, -1, -1)
        return torch.cat([problem.mask.to(y.dtype), y, fields], dim=-1)

    def encode(self, u: Tensor) -> Tensor:
        """Videos in physical units -> what is diffused."""
        return self.normaliser_.encode(u)

    def decode(self, x: Tensor) -> Tensor:
        return self.normaliser_.decode(x)

    # -- predicting

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        return self.decode(self.sampled(problem, self.condition(problem), generators))

    def sampled(self, problem: Problem, known: Tensor, generators: Sequence[torch.Generator]) -> Tensor:
        """A draw of what is diffused for each video."""
        noise = draw_noise(self.diffused(problem), generators, problem.values.device)
        return sample(self.settings.edm, self.denoiser(known), noise)

    def diffused(self, problem: Problem) -> Sequence[int]:
        """The shape of what is diffused for one video."""
        return problem.values.shape[1:]

    def denoiser(self, known: Tensor) -> Denoise:
        """D(x, sigma) for the sampler."""
        return prepared(self.net_, known, self.settings.edm)

    def evaluations(self, problem: Problem) -> int:
        return self.settings.edm.evaluations


class VideoPDEUnified(VideoPDE):
    """One model for all tasks of a dataset: each training example draws one of them."""

    scope = "dataset"
    profiles = {
        "smoke": SMOKE,
        "laptop": replace(LAPTOP, training=replace(LAPTOP.training, steps=19_500)),  # one fit for all tasks
        "paper": Settings(architecture=UNIFIED, training=Training(steps=100_000, batch=64)),
    }


def prepared(net: HVDiT, known: Tensor, edm: Edm) -> Denoise:
    """D(x, sigma) at the sampler's noise levels; what depends on them alone, or on `known` alone, is computed once."""
    levels = karras_sigmas(edm)[:-1].to(known)  # (N,)
    gains, observed = net.condition(precondition(edm, levels).c_noise), net.observe(known)

    def denoise(x: Tensor, sigma: Tensor) -> Tensor:
        c, level = precondition(edm, sigma), (levels - sigma).abs().argmin()
        return c.c_skip * x + c.c_out * net.network(c.c_in * x, observed, gains.index_select(0, level[None]))

    return denoise


def parameter_groups(net: Any, mapping_lr: float) -> list[Group]:
    """Matrices decay, and those of the layers may be orthogonalised. The mapping network has a rate of its own, but for
    the map that enters it, which is trained as the rest and does not decay (HDiT)."""
    ends, embed = [*net.patch_in.parameters(), *net.patch_out.parameters()], list(net.mapping.embed.parameters())
    mapping = [p for name, p in net.mapping.named_parameters() if not name.startswith("embed.")]
    apart = {id(p) for p in (*ends, *embed, *mapping)}
    layers = [p for p in net.parameters() if id(p) not in apart]
    return [
        Group([p for p in layers if p.ndim == 2], orthogonal=True),
        Group(ends),
        Group([*embed, *(p for p in layers if p.ndim < 2)], decay=False),
        Group([p for p in mapping if p.ndim == 2], lr=mapping_lr),
        Group([p for p in mapping if p.ndim < 2], lr=mapping_lr, decay=False),
    ]
