"""Ablation, rung B: a plain video DiT that sees concat(x_t, y).

Diffusion, data, budget and optimiser are VideoPDE's; the network has neither hierarchy nor neighbourhoods, and is not
told which pixels are observed: an unseen one and an observed mean both read 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from torch import Tensor, nn

from benchmark.core import Problem
from methods.ablations.dit import Architecture, DiT
from methods.blocks.conditioning import Shape
from methods.blocks.diffusion.edm import Denoise, Edm
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
    symmetries: bool
    coordinates: bool
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
    """One model for one task of a dataset."""

    source = SOURCE
    profiles: Mapping[str, Any] = {name: plain(VideoPDE.profiles[name], depth) for name, depth in DEPTHS.items()}

    def network(self, shape: Shape) -> DiT:
        return DiT(shape.channels, shape.channels + shape.fields, self.settings.architecture.for_video(*shape.video))

    def condition(self, problem: Problem) -> Tensor:
        return without_mask(super().condition(problem), problem)

    def denoiser(self, known: Tensor) -> Denoise:
        return conditioned(self.model(), known)


def without_mask(known: Tensor, problem: Problem) -> Tensor:
    """y and the coefficient fields, (B, T, H, W, C + Cs): what VideoPDE is conditioned on, less the mask."""
    return known[..., problem.values.shape[-1] :]


def conditioned(model: nn.Module, known: Tensor) -> Denoise:
    """D(x, sigma) of a network that prepares nothing ahead."""
    return lambda x, sigma: model(x, sigma, known)
