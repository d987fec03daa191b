"""Muon (Jordan et al. 2024): momentum whose matrices are orthogonalised before the step.

    B <- mu B + (1 - mu) G,    O = polar factor of (1 - mu) G + mu B,    W <- (1 - lr wd) W - lr 0.2 sqrt(max(m, n)) O

The factor on the step (Liu et al. 2025) gives it the size of an AdamW step, so that both can share `lr` and `wd`.
Matrices of one shape are orthogonalised together, and in terms of their smaller Gram matrix. (`torch.optim.Muon`
iterates on each matrix itself, in bfloat16, which most CPUs are slow at; here a CPU uses float32.)
"""

from __future__ import annotations

from collections import defaultdict
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
            alike = defaultdict(list)
            for weight in group["params"]:
                if weight.grad is not None:
                    alike[weight.shape].append(weight)
            for weights in alike.values():
                self._update(weights, group["lr"], group["momentum"], group["weight_decay"])

    def _update(self, weights: list[Tensor], lr: float, momentum: float, decay: float) -> None:
        """Of matrices of one shape."""
        directions = orthogonalise(torch.stack([self._averaged(weight, momentum) for weight in weights]))
        size = 0.2 * lr * max(weights[0].shape) ** 0.5
        for weight, direction in zip(weights, directions.to(weights[0].dtype), strict=True):
            weight.mul_(1 - lr * decay).sub_(direction, alpha=size)

    def _averaged(self, weight: Tensor, momentum: float) -> Tensor:
        gradient, state = weight.grad, self.state[weight]
        assert gradient is not None
        if not state:
            state["momentum"] = torch.zeros_like(weight)
        state["momentum"].lerp_(gradient, 1 - momentum)
        return gradient.lerp(state["momentum"], momentum)


def orthogonalise(matrices: Tensor, iterations: int = 5) -> Tensor:
    """About U V^T of the singular value decomposition U S V^T of each, (N, m, n), by a quintic Newton-Schulz iteration

        X <- p(X X^T) X,    p(G) = a + b G + c G^2.

    All p(G) commute, so with m <= n it is enough to follow G <- p(G) G p(G) and the product of all p: every iteration
    costs some m^3 instead of m^2 n.
    """
    x = matrices if matrices.device.type == "cpu" else matrices.bfloat16()
    x = x if x.shape[-2] <= x.shape[-1] else x.mT
    x = x / torch.linalg.matrix_norm(x, keepdim=True).clamp(min=1e-7)
    product = _polar(x @ x.mT, iterations) @ x
    return product if matrices.shape[-2] <= matrices.shape[-1] else product.mT


def _polar(gram: Tensor, iterations: int) -> Tensor:
    """About G^(-1/2), the product of the polynomials, (N, m, m)."""
    a, b, c = QUINTIC
    identity = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    product = identity
    for k in range(iterations):
        p = torch.baddbmm(torch.add(a * identity, gram, alpha=b), gram, gram, alpha=c)
        product = p @ product if k else p
        gram = p @ gram @ p if k < iterations - 1 else gram
    return product
