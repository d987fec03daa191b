"""Ablation, rung C: the DiT of rung B in the latent space of a VAE, concat(z_t, y).

The VAE is trained first, in steps of its own: the DiT is trained for as many steps as on every rung. The VAE's blocks
are the DiT's patches, so the DiT has the tokens of rung B, and y enters them as it does there; only what is diffused
differs. Latents are normalised to sigma_data, channel by
channel, over the training set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor, nn

from benchmark.core import Problem, Task, Trajectories, TrajectorySet
from methods.ablations import concat
from methods.ablations.concat import SOURCE, Concat, conditioned, without_mask
from methods.ablations.dit import DiT, pad_end
from methods.ablations.vae import Vae, VideoVae
from methods.blocks.conditioning import Shape
from methods.blocks.diffusion.edm import Denoise, Denoiser
from methods.blocks.statistics import pieces
from methods.blocks.training.budget import MEMORY, Training
from methods.blocks.training.examples import Whole
from methods.blocks.training.loop import Stage
from methods.blocks.training.optimiser import Group, Optimiser
from methods.blocks.training.sharing import normal
from methods.videopde.layers import merge
from methods.videopde.method import VideoPDE, parameter_groups

SHARE = 0.25  # steps of the VAE over those of the DiT
SCALED_ON = 256  # training trajectories that fix the scale of the latents
VAES = {"smoke": Vae(width=64, layers=1, lr=1e-2), "laptop": Vae(width=128, layers=1, lr=2e-3), "paper": Vae()}


@dataclass(frozen=True)
class Settings(concat.Settings):
    """Those of rung B, and the VAE's."""

    vae: Vae
    vae_training: Training


def with_vae(settings: concat.Settings, vae: Vae) -> Settings:
    whole = {field.name: getattr(settings, field.name) for field in fields(settings)}
    optimiser = Optimiser(lr=vae.lr, schedule="cosine", warmup=settings.training.optimiser.warmup)
    steps = max(1, round(SHARE * settings.training.steps))
    return Settings(**whole, vae=vae, vae_training=replace(settings.training, steps=steps, optimiser=optimiser))


class Latent(VideoPDE):
    """One VAE and one model for one task of a dataset."""

    source = SOURCE
    memory_settings = (*VideoPDE.memory_settings, *(f"vae_training.{name}" for name in MEMORY))
    budget_settings = (*VideoPDE.budget_settings, "vae_training.steps")
    profiles: Mapping[str, Any] = {name: with_vae(Concat.profiles[name], vae) for name, vae in VAES.items()}

    centre_: Tensor  # (latents,)
    spread_: Tensor

    @property
    def vae(self) -> VideoVae:
        return self.net_["vae"]

    def network(self, shape: Shape) -> nn.ModuleDict:
        architecture, s = self.settings.architecture.for_video(*shape.video), self.settings
        known = math.prod(architecture.patch) * (shape.channels + shape.fields)
        dit = DiT(s.vae.latents, known, replace(architecture, patch=(1, 1, 1)))
        return nn.ModuleDict({"dit": dit, "vae": VideoVae(shape.channels, shape.video, architecture.patch, s.vae)})

    def model(self) -> Denoiser:
        return Denoiser(self.net_["dit"], self.settings.edm)

    def groups(self) -> list[Group]:
        return parameter_groups(self.net_["dit"], self.settings.mapping_lr)

    # -- learning: the VAE, then the model

    def stages(
        self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], device: torch.device
    ) -> Iterator[Stage]:
        s: Settings = self.settings
        yield Stage(self.vae, Whole(), self.vae_losses, s.vae_training, s.validation, name="vae")
        self._measure(train, device)
        yield from super().stages(train, valid, tasks, device)

    def vae_losses(self, network: nn.Module, batch: Trajectories, draws: torch.Generator) -> Tensor:
        noise = normal((len(batch), *self.vae.shape), draws)
        return network(self.normaliser_.encode(batch.u), noise)

    @torch.no_grad()
    def _measure(self, train: TrajectorySet, device: torch.device) -> None:
        """The scale of the latents."""
        z = torch.cat([self._latents(piece.u.to(device)) for piece in pieces(train, SCALED_ON)])
        self.centre_, self.spread_ = z.mean((0, 1, 2, 3)), z.std((0, 1, 2, 3)).clamp(min=1e-6)

    @torch.no_grad()
    def _latents(self, u: Tensor) -> Tensor:
        """In full precision for whoever asks: they are the data of the diffusion."""
        with torch.autocast(u.device.type, enabled=False):
            return self.vae.encode(self.normaliser_.encode(u))[0]

    # -- what differs from rung B

    def condition(self, problem: Problem) -> Tensor:
        """Blocks of y and of the coefficient fields, (B, T', H', W', pixels of a block x (C + Cs))."""
        known = without_mask(super().condition(problem), problem)
        return merge(pad_end(known, self.vae.block), self.vae.block)

    def encode(self, u: Tensor) -> Tensor:
        return (self._latents(u) - self.centre_) * (self.settings.edm.sigma_data / self.spread_)

    def decode(self, x: Tensor) -> Tensor:
        z = x * (self.spread_ / self.settings.edm.sigma_data) + self.centre_
        return self.normaliser_.decode(self.vae.decode(z))

    def diffused(self, problem: Problem) -> Sequence[int]:
        return self.vae.shape

    def denoiser(self, known: Tensor) -> Denoise:
        return conditioned(self.model(), known)

    def cost(self) -> dict[str, float]:
        vae_steps, steps = self.steps_.tolist()
        return super().cost() | {"steps": steps, "vae_steps": vae_steps}
