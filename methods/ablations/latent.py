"""Ablation, rung C: the DiT of rung B in the latent space of a VAE, concat(z_t, y).

The VAE is trained first, on a share of the budget. Its blocks are the DiT's patches, so the DiT has the tokens of rung
B, and y enters them as it does there; only what is diffused differs. Latents are normalised to sigma_data, channel by
channel, over the training set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch
from torch import Tensor, nn

from benchmark.core import Problem, Run, Task, Trajectories, TrajectorySet
from methods.ablations import concat
from methods.ablations.concat import Concat
from methods.ablations.dit import DiT, pad_end
from methods.ablations.vae import Vae, VideoVae
from methods.blocks.networked import count, under
from methods.blocks.networks.tiles import Triple
from methods.blocks.training.batches import ShuffledBatches
from methods.blocks.training.budget import Training
from methods.blocks.training.checkpoint import load_weights, tensors
from methods.blocks.training.loop import fit_loop
from methods.blocks.training.optimiser import Optimiser
from methods.videopde.layers import merge

SHARE = 0.25  # of the budget, for the VAE
SCALED_ON = 256  # training trajectories that fix the scale of the latents
VAES = {"smoke": Vae(width=64, layers=1, lr=1e-2), "laptop": Vae(width=128, layers=1, lr=2e-3), "paper": Vae()}


@dataclass(frozen=True)
class Settings(concat.Settings):
    """Those of rung B, the budget shared with the VAE."""

    vae: Vae
    vae_training: Training


def shared(settings: concat.Settings, vae: Vae) -> Settings:
    whole = {field.name: getattr(settings, field.name) for field in fields(settings)}
    optimiser = Optimiser(lr=vae.lr, schedule="cosine", warmup=settings.training.optimiser.warmup)
    vae_training = replace(part(settings.training, SHARE), optimiser=optimiser)
    return Settings(**{**whole, "training": part(settings.training, 1 - SHARE)}, vae=vae, vae_training=vae_training)


def part(training: Training, share: float) -> Training:
    """A share of a budget."""
    seconds = None if training.seconds is None else share * training.seconds
    return replace(training, steps=max(1, round(share * training.steps)), seconds=seconds)


class Latent(Concat):
    """One VAE and one model for one task of a dataset."""

    profiles: Mapping[str, Any] = {name: shared(Concat.profiles[name], vae) for name, vae in VAES.items()}

    vae_: VideoVae
    centre_: Tensor  # (latents,)
    spread_: Tensor

    # -- the latent space

    def build_for(self, train: TrajectorySet) -> None:
        super().build_for(train)
        video = (self.frames, *train.grid.shape)
        self.vae_ = VideoVae(train[:1].u.shape[-1], video, self._fitted(video).patch, self.settings.vae)

    def _prepare(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> None:
        """Train the VAE and measure its latents."""
        settings: Settings = self.settings
        folder = None if run.folder is None else run.folder / "vae"
        batches = ShuffledBatches(train, settings.vae_training.batch, seed)
        examples = valid[: settings.validation].to(run.device)

        def loss(model: nn.Module, batch: Trajectories, draws: torch.Generator) -> Tensor:
            noise = torch.randn((len(batch), *self.vae_.shape), generator=draws, device=draws.device)
            return model(self.normaliser_.encode(batch.u), noise).mean()

        def validate(model: nn.Module) -> float:
            return float(loss(model, examples, torch.Generator(run.device).manual_seed(0)))

        run, check = replace(run, folder=folder), validate if len(valid) else None
        progress = fit_loop(self.vae_, loss, batches, settings.vae_training, run, seed, check)
        self.vae_steps_ = torch.tensor(progress.steps)
        self.vae_.requires_grad_(False)
        self._measure(train, run.device)

    @torch.no_grad()
    def _measure(self, train: TrajectorySet, device: torch.device) -> None:
        total = min(SCALED_ON, len(train))
        places = [i * len(train) // total for i in range(total)]
        pieces = [places[i : i + self.settings.chunk] for i in range(0, total, self.settings.chunk)]
        z = torch.cat([self._latents(train[piece].u.to(device)) for piece in pieces])
        self.centre_, self.spread_ = z.mean((0, 1, 2, 3)), z.std((0, 1, 2, 3)).clamp(min=1e-6)

    @torch.no_grad()
    def _latents(self, u: Tensor) -> Tensor:
        """In full precision for whoever asks: they are the data of the diffusion."""
        with torch.autocast(u.device.type, enabled=False):
            return self.vae_.encode(self.normaliser_.encode(u))[0]

    # -- what differs from rung B

    def given(self, problem: Problem) -> Tensor:
        """Blocks of y and of the coefficient fields, (B, T', H', W', pixels of a block x (C + Cs))."""
        return merge(pad_end(super().given(problem), self.vae_.block), self.vae_.block)

    def _network(self, channels: int, static: int, video: Triple | None = None) -> DiT:
        architecture, latents = self._fitted(video), self.settings.vae.latents
        t, h, w = architecture.patch
        return DiT(latents, t * h * w * (channels + static), replace(architecture, patch=(1, 1, 1)))

    def _encode(self, u: Tensor) -> Tensor:
        return (self._latents(u) - self.centre_) * (self.settings.edm.sigma_data / self.spread_)

    def _decode(self, x: Tensor) -> Tensor:
        z = x * (self.spread_ / self.settings.edm.sigma_data) + self.centre_
        return self.normaliser_.decode(self.vae_.decode(z))

    def _shape(self, video: Sequence[int]) -> Sequence[int]:
        return self.vae_.shape

    # -- storing

    def state(self) -> dict[str, Tensor]:
        return super().state() | {f"vae.{name}": value for name, value in tensors(self.vae_).items()}

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        super().restore(state, train)
        load_weights(self.vae_, under("vae.", state))
        self.vae_.to(self.centre_.device).eval().requires_grad_(False)
        return self

    def parameters(self) -> int:
        """Of the network and the VAE for one channel."""
        patch = self.settings.architecture.patch
        with torch.device("meta"):
            return super().parameters() + count(VideoVae(1, patch, patch, self.settings.vae))

    def cost(self) -> dict[str, float]:
        cost = super().cost()
        if not hasattr(self, "vae_"):
            return cost
        return cost | {"parameters": cost["parameters"] + count(self.vae_), "vae_steps": int(self.vae_steps_)}
