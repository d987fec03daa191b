"""Ablation, between rungs B and D: the layers of HV-DiT without its hierarchy, concat(x_t, y).

Global attention over all tokens of rung B, at its width. So many tokens make attention dear: as many layers as cost
what rung B costs. Against `ablation_concat` the layers differ, against `ablation_hierarchical` the hierarchy does and
what it pays for: width, depth and parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from benchmark.core import Problem
from methods.ablations.concat import SOURCE, without_mask
from methods.ablations.hierarchical import hv_dit
from methods.blocks.conditioning import Shape
from methods.videopde import method as videopde
from methods.videopde.method import VideoPDE

DEPTHS = {"smoke": 7, "laptop": 4, "paper": 4}  # within 5 % of the FLOPs of rung B


def flat(settings: videopde.Settings, depth: int) -> videopde.Settings:
    """The same settings with one level only, at the width of the first."""
    a = settings.architecture
    return replace(settings, architecture=replace(a, widths=a.widths[:1], depths=(depth,), merges=()))


class Flat(VideoPDE):
    """One model for one task of a dataset."""

    source = SOURCE
    profiles: Mapping[str, Any] = {name: flat(VideoPDE.profiles[name], depth) for name, depth in DEPTHS.items()}

    def network(self, shape: Shape) -> nn.Module:
        return hv_dit(self.settings.architecture, shape)

    def condition(self, problem: Problem) -> Tensor:
        return without_mask(super().condition(problem), problem)
