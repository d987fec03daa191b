"""Ablation, rung D: HV-DiT without the mask channel, concat(x_t, y).

Against `ablation_flat` the network is hierarchical; against `videopde` it is not told which pixels are observed.
"""

from __future__ import annotations

from torch import Tensor, nn

from benchmark.core import Problem
from methods.ablations.concat import SOURCE, without_mask
from methods.blocks.conditioning import Shape
from methods.videopde.method import VideoPDE
from methods.videopde.model import Architecture, HVDiT


class Hierarchical(VideoPDE):
    """One model for one task of a dataset, with VideoPDE's settings."""

    source = SOURCE

    def network(self, shape: Shape) -> nn.Module:
        return hv_dit(self.settings.architecture, shape)

    def condition(self, problem: Problem) -> Tensor:
        return without_mask(super().condition(problem), problem)


def hv_dit(architecture: Architecture, shape: Shape) -> HVDiT:
    """A network that sees concat(x_t, y) and the coefficient fields."""
    return HVDiT(shape.channels, shape.channels + shape.fields, architecture.for_video(*shape.video))
