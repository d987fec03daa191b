"""VideoPDE: a PDE solver as a video diffusion model that fills in what is not seen.

Training draws a trajectory x_0, a mask m and a noise level sigma, and asks HV-DiT to remove the noise:

    y = m x_0,    x = x_0 + sigma eps,    loss = lambda(sigma) |D(x, sigma; m, y) - x_0|^2

Prediction starts from noise and follows dx/dsigma = (x - D(x, sigma; m, y)) / sigma down to sigma = 0. Observations
enter through the network's input alone: no guidance and no equation. `README.md` says what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Problem, Run, Task, TrajectorySet
from methods.blocks.diffusion.edm import (
    EDM,
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
from methods.blocks.networked import Sampled, count, draw_noise, static_channels
from methods.blocks.networks.tiles import Triple
from methods.blocks.normaliser import Normaliser
from methods.blocks.training.budget import LAPTOP_SECONDS, Training
from methods.blocks.training.examples import Observed, ObservedBatches, fixed_examples
from methods.blocks.training.loop import fit_loop
from methods.blocks.training.optimiser import Group, Optimiser
from methods.blocks.training.validation import at_fixed_noise, in_parts
from methods.videopde.model import UNIFIED, Architecture, HVDiT


@dataclass(frozen=True)
class Settings:
    """Defaults: the paper, column "Ours"; what it leaves open follows EDM and HDiT."""

    architecture: Architecture = field(default_factory=Architecture)
    edm: Edm = EDM
    training: Training = field(default_factory=Training)
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
    Architecture((2, 4, 4), (64, 128), (1, 4), (2, 5, 5), head_dim=32, mapping_width=128),
    Edm(log_mean=3.0, log_std=1.0, sampler="dpmpp_2m", steps=2),
    Training(
        seconds=LAPTOP_SECONDS,
        batch=8,
        optimiser=Optimiser("muon", lr=2e-2, schedule="cosine", warmup=50),
        ema=0.99,
    ),
)


class VideoPDE(Sampled):
    """One model for one task of a dataset."""

    scope = "task"
    source = "Li et al., VideoPDE: Unified Generative PDE Solving via Video Inpainting Diffusion Models, 2025"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}
    sampling_settings = SAMPLING

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        return self.settings.edm.remark

    # -- learning

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        settings: Settings = self.settings
        self.normaliser_ = Normaliser.fit(train).to(run.device)
        self.note(tasks)
        self.build(train, seed)
        self._prepare(train, valid, tasks, seed, run)
        model = self._denoiser()
        batches = ObservedBatches(train, tasks, settings.training.batch, seed)
        parts = in_parts(fixed_examples(valid, tasks, settings.validation), settings.chunk) if len(valid) else []
        validate = at_fixed_noise(self._losses, parts) if parts else None
        groups = parameter_groups(self.net_, settings.mapping_lr)
        progress = fit_loop(model, self._loss, batches, settings.training, run, seed, validate, groups)
        self.steps_ = torch.tensor(progress.steps)
        return self

    def given(self, problem: Problem) -> Tensor:
        """What the network is told: m, y and the coefficient fields, (B, T, H, W, 2 C + Cs)."""
        y = self.normaliser_.encode_seen(problem.values, problem.mask)
        parts = [problem.mask.to(y.dtype), y]
        static = self.static(problem)
        if static is not None:
            parts.append(static[:, None].expand(-1, y.shape[1], -1, -1, -1))
        return torch.cat(parts, dim=-1)

    def build_for(self, train: TrajectorySet) -> None:
        first = train[:1]
        video = (self.frames, *train.grid.shape)
        self.net_ = self._network(first.u.shape[-1], static_channels(first), video)

    def _network(self, channels: int, static: int, video: Triple | None = None) -> Any:
        """For videos T x H x W, or of any shape that needs no other patches."""
        architecture = self.settings.architecture
        return HVDiT(channels, 2 * channels + static, architecture.for_video(*video) if video else architecture)

    def _prepare(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> None:
        """What has to be learned before the denoiser: nothing here."""

    def _denoiser(self) -> nn.Module:
        """D(x, sigma, given), the model that is trained."""
        return Denoiser(self.net_, self.settings.edm.sigma_data)

    def _denoise(self, given: Tensor) -> Denoise:
        """The same for the sampler."""
        return prepared(self.net_, given, self.settings.edm)

    def _encode(self, u: Tensor) -> Tensor:
        """Videos in physical units -> what is diffused."""
        return self.normaliser_.encode(u)

    def _decode(self, x: Tensor) -> Tensor:
        return self.normaliser_.decode(x)

    def _shape(self, video: Sequence[int]) -> Sequence[int]:
        """Of what is diffused for a video (T, H, W, C)."""
        return video

    def _loss(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        return self._losses(network, batch, draws).mean()

    def _losses(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        """Of each example, at noise levels spread over the batch: (B,)."""
        x, given = self._encode(batch.truth.u), self.given(batch.problem)
        sigma = noise_levels(self.settings.edm, len(x), draws)
        noise = torch.randn(x.shape, generator=draws, device=draws.device)
        return denoising_loss(self.settings.edm, lambda x, sigma: network(x, sigma, given), x, sigma, noise)

    # -- predicting

    def video(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        return self.covered(lambda part: self._window(part, generators), problem)

    def _window(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        noise = draw_noise(self._shape(problem.values.shape[1:]), generators, problem.values.device)
        x = sample(self.settings.edm, self._denoise(self.given(problem)), noise)
        return self.put_back(self._decode(x), problem)

    def evaluations(self, problem: Problem) -> int:
        return self.settings.edm.evaluations * self.windows(problem.values.shape[1])

    def parameters(self) -> int:
        with torch.device("meta"):
            return count(self._network(1, 0))


class VideoPDEUnified(VideoPDE):
    """One model for all tasks of a dataset: each training example draws one of them."""

    scope = "dataset"
    profiles = {
        "smoke": SMOKE,
        "laptop": LAPTOP,
        "paper": Settings(architecture=UNIFIED, training=Training(steps=100_000, batch=64)),
    }


def prepared(net: HVDiT, given: Tensor, edm: Edm) -> Denoise:
    """D(x, sigma) at the sampler's noise levels; what depends on them alone, or on `given` alone, is computed once."""
    levels = karras_sigmas(edm)[:-1].to(given)  # (N,)
    gains, known = net.condition(precondition(levels, edm.sigma_data).noise), net.observe(given)

    def denoise(x: Tensor, sigma: Tensor) -> Tensor:
        c, level = precondition(sigma, edm.sigma_data), (levels - sigma).abs().argmin()
        return c.skip * x + c.out * net.network(c.into * x, known, gains.index_select(0, level[None]))

    return denoise


def parameter_groups(net: Any, mapping_lr: float) -> list[Group]:
    """Matrices decay, and those of the layers may be orthogonalised; the mapping network has a rate of its own."""
    ends = [*net.patch_in.parameters(), *net.patch_out.parameters()]
    mapping = list(net.mapping.parameters())
    apart = {id(p) for p in (*ends, *mapping)}
    layers = [p for p in net.parameters() if id(p) not in apart]
    return [
        Group([p for p in layers if p.ndim == 2], orthogonal=True),
        Group(ends),
        Group([p for p in layers if p.ndim < 2], decay=False),
        Group([p for p in mapping if p.ndim == 2], lr=mapping_lr),
        Group([p for p in mapping if p.ndim < 2], lr=mapping_lr, decay=False),
    ]
