"""Physics-informed neural operator (Li et al. 2021): FNO, and its answer must fulfil the equation.

    loss = |u - u_true| / |u_true| + residual_weight max(0, rho(u) - rho(u_true)) + anchor_weight |u_0 - y| / |y|

rho(u) = |sum of the equation's terms at u| / sum of |term at u_true|. A true solution sampled at a few frames has a
residual too (0.2 of its terms on wave_layer at profile laptop), so only what exceeds that counts. The anchor is on what
the network says of the observed frame, before the observation is put back.

The paper's optimisation at test time is a method of its own, `pino_refined`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Task
from methods import fno
from methods.blocks.regression import regress, regression_error, relative_error, relative_l2
from methods.blocks.residual import relative_residual, term_sizes
from methods.blocks.roll_out import keep_observed
from methods.blocks.training.examples import Observed


@dataclass(frozen=True)
class Settings(fno.Settings):
    """Weights: the reference code's ratios 5 : 1 : 1 of data, residual and initial frame."""

    residual_weight: float = 0.2
    anchor_weight: float = 0.2


def _like(settings: fno.Settings, **weights: Any) -> Settings:
    shared: dict[str, Any] = {field.name: getattr(settings, field.name) for field in fields(settings)}
    return Settings(**shared, **weights)


class PINO(fno.FNO):
    """FNO with a physics loss, for one whole frame given; sparse frames are left to `fno`."""

    uses_equation = True
    source = "Li et al., Physics-Informed Neural Operator for Learning Partial Differential Equations, 2021"
    profiles = {
        "smoke": _like(fno.SMOKE),
        "laptop": _like(fno.LAPTOP, anchor_weight=0.02),
        "paper": Settings(),
    }

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if task.is_sparse:
            return "PINO is defined for one frame given in full; fno has an extension to sparse observations"
        return super().unsupported(task, dataset)

    def losses(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        settings: Settings = self.settings
        problem, truth = batch.problem, batch.truth
        raw = regress(self, network, problem)
        video = keep_observed(raw, problem)
        value = relative_error(video, batch)
        if settings.residual_weight:
            sizes = term_sizes(truth.u, problem)
            excess = relative_residual(video, problem, sizes) - relative_residual(truth.u, problem, sizes)
            value = value + settings.residual_weight * excess.relu()
        if settings.anchor_weight:
            seen = list(self.shape_.observed.frames)
            value = value + settings.anchor_weight * relative_l2(raw[:, seen], problem.values[:, seen], steady=False)
        return value

    def errors(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        """Without the physics."""
        return regression_error(self, network, batch)
