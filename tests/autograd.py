"""The reference that other derivatives are tested against: exact ones, of a network's outputs at scattered points."""

from __future__ import annotations

from functools import reduce
from operator import mul

import torch
from torch import Tensor


class Autograd:
    """Exact derivatives of a network's outputs at scattered points (N, 3) = (t, x, y)."""

    def __init__(self, points: Tensor):
        if points.ndim != 2 or points.shape[1] != 3 or not points.requires_grad:
            raise ValueError(f"points: expected (N, 3) with requires_grad, got {tuple(points.shape)}")
        self.points = points
        self.x, self.y = points[:, 1], points[:, 2]

    def __call__(self, u: Tensor, axes: str) -> Tensor:
        for axis in axes:
            if not u.requires_grad:  # a constant
                return torch.zeros_like(u)
            (gradient,) = torch.autograd.grad(u.sum(), self.points, create_graph=True, materialize_grads=True)  # (N, 3)
            u = gradient[:, "txy".index(axis)]
        return u

    def product(self, *factors: Tensor) -> Tensor:
        return reduce(mul, factors)
