"""Ablation, rung D: HV-DiT without the mask channel, concat(x_t, y).

Against `ablation_concat` the network is hierarchical; against `videopde` it is not told which pixels are observed.
"""

from __future__ import annotations

from torch import Tensor

from benchmark.core import Problem
from methods.ablations.concat import SOURCE
from methods.blocks.networks.tiles import Triple
from methods.videopde.method import VideoPDE
from methods.videopde.model import HVDiT


class Hierarchical(VideoPDE):
    """One model for one task of a dataset, with VideoPDE's settings."""

    source = SOURCE

    def given(self, problem: Problem) -> Tensor:
        """What the network is told: y and the coefficient fields, (B, T, H, W, C + Cs)."""
        return super().given(problem)[..., problem.values.shape[-1] :]

    def _network(self, channels: int, static: int, video: Triple | None = None) -> HVDiT:
        architecture = self.settings.architecture
        return HVDiT(channels, channels + static, architecture.for_video(*video) if video else architecture)
