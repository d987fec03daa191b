"""Muon (Jordan et al. 2024): momentum whose matrices are orthogonalised before the step.

    B <- mu B + (1 - mu) G,    O = polar factor of (1 - mu) G + mu B,    W <- (1 - lr wd) W - lr 0.2 sqrt(max(m, n)) O

The factor on the step (Liu et al. 2025) gives it the size of an AdamW step, so that both can share `lr` and `wd`.
`torch.optim.Muon` always orthogonalises in bfloat16, which most CPUs are slow at and some cannot do; here a CPU uses
float32.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

QUINTIC = (3.4445, -4.7750, 2.0315)  # pushes singular values in (0, 1] towards 1, not exactly onto it


class Muon(torch.optim.Optimizer):
    """For matrices only."""

    def __init__(self, params: Iterable[Any], lr: float, momentum: float = 0.95, weight_decay: float = 0.0):
        super().__init__(params, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        shapes = [tuple(p.shape) for group in self.param_groups for p in group["params"] if p.ndim != 2]
        if shapes:
            raise ValueError(f"muon: expected matrices, got a parameter of shape {shapes[0]}")

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._update(weight, weight.grad, group["lr"], group["momentum"], group["weight_decay"])

    def _update(self, weight: Tensor, gradient: Tensor, lr: float, momentum: float, decay: float) -> None:
        state = self.state[weight]
        if not state:
            state["momentum"] = torch.zeros_like(weight)
        state["momentum"].lerp_(gradient, 1 - momentum)
        direction = orthogonalise(gradient.lerp(state["momentum"], momentum))
        weight.mul_(1 - lr * decay).add_(direction.to(weight.dtype), alpha=-0.2 * lr * max(weight.shape) ** 0.5)


def orthogonalise(matrix: Tensor, iterations: int = 5) -> Tensor:
    """About U V^T of the singular value decomposition U S V^T, by a quintic Newton-Schulz iteration.

    X <- a X + b (X X^T) X + c (X X^T)^2 X
    """
    a, b, c = QUINTIC
    x = matrix if matrix.device.type == "cpu" else matrix.bfloat16()
    x = x if x.shape[0] <= x.shape[1] else x.T  # the smaller Gram matrix
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(iterations):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x if matrix.shape[0] <= matrix.shape[1] else x.T
