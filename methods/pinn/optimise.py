"""Adam on changing points, then L-BFGS on fixed ones, for a batch of independent problems."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi

import torch
from torch import Tensor

from methods.blocks.lbfgs import minimise


@dataclass(frozen=True)
class Schedule:
    """How long, and how fast. Evaluations are of the loss and its gradient."""

    adam: int
    lr: float
    lbfgs: int
    history: int = 30
    warmup: int = 20


def optimise(loss: Callable[[Tensor, int | None], Tensor], weights: Tensor, schedule: Schedule) -> tuple[Tensor, int]:
    """`loss(weights (B, P), step)` is (B,), each entry of its own row only; step None: on the fixed points.

    Returns the weights with the least loss on the fixed points, before or after L-BFGS, and the evaluations spent.
    """
    weights = _adam(loss, weights, schedule)
    if not schedule.lbfgs:
        return weights, schedule.adam
    found = minimise(lambda w: loss(w, None), weights, schedule.lbfgs, schedule.history, tolerance=0.0)
    return found.x, schedule.adam + found.evaluations


def _adam(loss: Callable[[Tensor, int | None], Tensor], weights: Tensor, schedule: Schedule) -> Tensor:
    weights = weights.clone().requires_grad_()
    adam = torch.optim.Adam([weights], lr=schedule.lr)
    for step in range(schedule.adam):
        for group in adam.param_groups:
            group["lr"] = schedule.lr * _rate(step, schedule)
        (weights.grad,) = torch.autograd.grad(loss(weights, step).sum(), weights)
        adam.step()
    return weights.detach()


def _rate(step: int, schedule: Schedule) -> float:
    """Linear warm-up, then half a cosine down to nothing."""
    return min(1.0, (step + 1) / schedule.warmup) * (1 + cos(pi * step / schedule.adam)) / 2
