"""The exponential moving average of a model's weights, which is what a fit returns."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.optim.swa_utils import get_ema_multi_avg_fn


class Ema:
    """w_ema <- d w_ema + (1 - d) w  with  d = min(decay, 1 - (1 + step)^-power).

    The warm-up by `power` forgets the first, untrained weights; decay 0 keeps the last weights themselves.
    (torch's `AveragedModel` counts its steps in a tensor: a decay that depends on them would make a GPU wait at each.
    The averaging itself is torch's.)
    """

    def __init__(self, model: nn.Module, decay: float, power: float):
        self.decay, self.power = decay, power
        self.module = copy.deepcopy(model).requires_grad_(False).eval()

    def decay_at(self, step: int) -> float:
        return min(self.decay, 1 - (1 + step) ** -self.power)

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Parameters are averaged, buffers copied."""
        averaged, current = tuple(self.module.parameters()), tuple(model.parameters())
        get_ema_multi_avg_fn(self.decay_at(step))(averaged, current, step)
        for mine, theirs in zip(self.module.buffers(), model.buffers(), strict=True):
            mine.copy_(theirs)
