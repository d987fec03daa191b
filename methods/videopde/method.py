"""VideoPDE: a PDE solver as a video diffusion model that fills in what is not seen.

Training draws a trajectory x_0, a mask m and a noise level sigma, and asks HV-DiT to remove the noise:

    y = m x_0,    x = x_0 + sigma eps,    loss = lambda(sigma) |D(x, sigma; m, y) - x_0|^2

Prediction starts from noise and follows dx/dsigma = (x - D(x, sigma; m, y)) / sigma down to sigma = 0. Observations
enter through the network's input alone: no guidance and no equation. `README.md` says what the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Self

import torch
from torch import Tensor, nn

from benchmark.core import Method, Prediction, Problem, Run, Task, TrajectorySet
from methods.blocks.batches import derived_seed
from methods.blocks.budget import LAPTOP_SECONDS, Training
from methods.blocks.checkpoint import load_weights, tensors
from methods.blocks.edm import (
    EDM,
    Denoise,
    Denoiser,
    Edm,
    denoising_loss,
    karras_sigmas,
    noise_levels,
    precondition,
    sample,
)
from methods.blocks.normaliser import Normaliser
from methods.blocks.observed import Observed, ObservedBatches, fixed_examples
from methods.blocks.optimiser import Group, Optimiser
from methods.blocks.rollout import rollout
from methods.blocks.tiles import Triple
from methods.blocks.train import Validate, fit_loop
from methods.videopde.model import UNIFIED, Architecture, HVDiT

NOISE = 4  # the stream of random numbers that samples start from
WINDOWS = ("drop", "keep")


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
LAPTOP = Settings(  # chosen on `valid`; README.md says against what
    Architecture((2, 4, 4), (64, 128), (1, 4), (2, 5, 5), head_dim=32, mapping_width=128),
    Edm(log_mean=3.0, log_std=1.0, sampler="dpmpp_2m", steps=2),
    Training(
        seconds=LAPTOP_SECONDS,
        batch=8,
        optimiser=Optimiser("muon", lr=2e-2, schedule="cosine", warmup=50),
        ema=0.99,
    ),
)


class VideoPDE(Method):
    """One model for one task of a dataset."""

    scope = "task"
    source = "Li et al., VideoPDE: Unified Generative PDE Solving via Video Inpainting Diffusion Models, 2025"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}

    net_: Any  # an HVDiT, or what a subclass builds
    normaliser_: Normaliser

    # -- learning

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        settings: Settings = self.settings
        self.normaliser_ = Normaliser.fit(train).to(run.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._build(train)
        self.noise_ = torch.tensor(max(float(getattr(task, "noise", 0.0)) for task in tasks))
        self.window_ = torch.tensor(max(WINDOWS.index(getattr(task, "window", "drop")) for task in tasks))
        self._prepare(train, valid, tasks, seed, run)
        model = self._denoiser()
        batches = ObservedBatches(train, tasks, settings.training.batch, seed)
        validate = self._validation(fixed_examples(valid, tasks, settings.validation)) if len(valid) else None
        groups = parameter_groups(self.net_, settings.mapping_lr)
        progress = fit_loop(model, self._loss, batches, settings.training, run, seed, validate, groups)
        self.steps_ = torch.tensor(progress.steps)
        return self

    def given(self, problem: Problem) -> Tensor:
        """What the network is told: m, y and the coefficient fields, (B, T, H, W, 2 C + Cs)."""
        y = self.normaliser_.encode_seen(problem.values, problem.mask)
        parts = [problem.mask.to(y.dtype), y]
        if problem.static is not None:
            static = self.normaliser_.encode_static(problem.static)[:, None]  # (B, 1, H, W, Cs)
            parts.append(static.expand(-1, y.shape[1], -1, -1, -1))
        return torch.cat(parts, dim=-1)

    def _build(self, train: TrajectorySet) -> None:
        """An untrained network for videos like those of the training set."""
        first = train[:1]
        channels, static = first.u.shape[-1], 0 if first.static is None else first.static.shape[-1]
        self.frames = first.u.shape[1]
        self.net_ = self._network(channels, static, (self.frames, *train.grid.shape))

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

    def _validation(self, examples: Observed) -> Validate:
        """The loss of a model at fixed masks, noise levels and noise."""

        def validate(model: nn.Module) -> float:
            device = next(model.parameters()).device
            draws = torch.Generator(device).manual_seed(0)
            parts = [examples[i : i + self.settings.chunk] for i in range(0, len(examples), self.settings.chunk)]
            return float(torch.cat([self._losses(model, part.to(device), draws) for part in parts]).mean())

        return validate

    # -- predicting

    @torch.inference_mode()
    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        """Sample s of trajectory i starts from noise of its own, seeded by (seed, s, i) whatever else is predicted."""
        places = list(product(range(samples), range(len(problem))))
        videos = []
        for start in range(0, len(places), self.settings.chunk):
            chunk = places[start : start + self.settings.chunk]
            generators = [torch.Generator().manual_seed(derived_seed(seed, *place, NOISE)) for place in chunk]
            videos.append(self._video(_pick(problem, [i for _, i in chunk]), generators))
        u = torch.cat(videos).unflatten(0, (samples, -1)).to(problem.values)
        return Prediction(u, evaluations=self._evaluations(problem.values.shape[1]))

    def _video(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        """(B, T, H, W, C), window by window where the video is longer than those of the training set."""
        problem = problem.to(next(self.net_.parameters()).device)
        if problem.values.shape[1] == self.frames:
            return self._window(problem, generators)
        return rollout(lambda part: self._window(part, generators), problem, self.frames, WINDOWS[int(self.window_)])

    def _window(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        values, edm = problem.values, self.settings.edm
        shape = self._shape(values.shape[1:])
        noise = torch.stack([torch.randn(shape, generator=g) for g in generators]).to(values.device)
        bf16 = values.device.type == "cuda" and self.settings.training.precision == "bf16-mixed"
        with torch.autocast(values.device.type, torch.bfloat16, enabled=bf16):
            x = sample(edm, self._denoise(self.given(problem)), noise)
        video = self._decode(x)
        return video if self.noise_ > 0 else torch.where(problem.mask, values, video)

    def _evaluations(self, frames: int) -> int:
        """Of the network, for a video of so many frames."""
        edm, new = self.settings.edm, self.frames - (WINDOWS[int(self.window_)] == "drop")
        windows = 1 + -(-(frames - self.frames) // new)
        return windows * (2 * edm.steps - 1 if edm.sampler == "heun" else edm.steps)

    # -- storing

    def state(self) -> dict[str, Tensor]:
        weights = {f"net.{name}": value for name, value in tensors(self.net_).items()}
        scales = {f"normaliser.{name}": value for name, value in self.normaliser_.state().items()}
        return weights | scales | super().state()

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        with torch.random.fork_rng(devices=[]):
            self._build(train)
        weights = _under("net.", state)
        load_weights(self.net_, weights)
        self.net_.to(next(iter(weights.values())).device).eval()
        self.normaliser_ = Normaliser.restore(_under("normaliser.", state))
        return super().restore({name: value for name, value in state.items() if name.endswith("_")}, train)

    def parameters(self) -> int:
        """Of the network for one channel, without building it."""
        with torch.device("meta"):
            return count(self._network(1, 0))

    def cost(self) -> dict[str, float]:
        fitted = hasattr(self, "net_")
        return {
            "parameters": count(self.net_) if fitted else self.parameters(),
            "steps": int(self.steps_) if fitted else 0,
        }


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


def count(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


def _pick(problem: Problem, indices: list[int]) -> Problem:
    static = None if problem.static is None else problem.static[indices]
    return replace(problem, values=problem.values[indices], mask=problem.mask[indices], static=static)


def _under(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
