"""Ablation, rung B: a plain video DiT that sees concat(x_t, y).

Diffusion, data, budget and optimiser are VideoPDE's; the network has neither hierarchy nor neighbourhoods, and is not
told which pixels are observed: an unseen one and an observed mean both read 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from torch import Tensor

from benchmark.core import Problem
from methods.ablations.dit import Architecture, DiT
from methods.blocks.diffusion.edm import Denoise, Edm
from methods.blocks.networks.tiles import Triple
from methods.blocks.training.budget import Training
from methods.videopde import method as videopde
from methods.videopde.method import VideoPDE

SOURCE = f"{VideoPDE.source}; table 'Ablation study'"
DEPTHS = {"smoke": 6, "laptop": 6, "paper": 12}  # paper: VDT-S; laptop: as many as HV-DiT has down, middle and up


@dataclass(frozen=True)
class Settings:
    """VideoPDE's, with another network."""

    architecture: Architecture
    edm: Edm
    training: Training
    mapping_lr: float
    validation: int
    chunk: int


def plain(settings: videopde.Settings, depth: int) -> Settings:
    """The same settings for a DiT with HV-DiT's patches, heads, and width of its first level."""
    a = settings.architecture
    architecture = Architecture(a.patch, a.widths[0], depth, a.head_dim)
    shared = {field.name: getattr(settings, field.name) for field in fields(Settings)}
    return Settings(**{**shared, "architecture": architecture})


class Concat(VideoPDE):
    """One model for one task of a dataset; also the base of the other rungs with a DiT."""

    source = SOURCE
    profiles: Mapping[str, Any] = {name: plain(VideoPDE.profiles[name], depth) for name, depth in DEPTHS.items()}

    net_: DiT

    def given(self, problem: Problem) -> Tensor:
        """What the network is told: y and the coefficient fields, (B, T, H, W, C + Cs)."""
        return super().given(problem)[..., problem.values.shape[-1] :]

    def _network(self, channels: int, static: int, video: Triple | None = None) -> DiT:
        return DiT(channels, channels + static, self._fitted(video))

    def _fitted(self, video: Triple | None) -> Architecture:
        architecture: Architecture = self.settings.architecture
        return architecture.for_video(*video) if video else architecture

    def _denoise(self, given: Tensor) -> Denoise:
        denoiser = self._denoiser()
        return lambda x, sigma: denoiser(x, sigma, given)
