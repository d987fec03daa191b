"""Variance-preserving diffusion: x_t = mu x_0 + sigma eps with mu^2 + sigma^2 = 1, and how SDA samples it.

    mu = cos^2(w t),    w = arccos sqrt(1e-3),    sigma^2 = 1 - mu^2 + 1e-6,    t from 0 to 1

(Rozet and Louppe 2023). The samplers take any `predict(x, t)` of the noise eps, guided or not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor

Target = Literal["noise", "velocity"]
Predict = Callable[[Tensor, Tensor], Tensor]  # x_t (B, ...), t (1,) -> eps (B, ...)

RATE = math.acos(math.sqrt(1e-3))  # w: mu(1) = 1e-3
FLOOR = 1e-6  # sigma(0)^2


def cosine(t: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
    """mu and sigma at times (B,) or (1,), to multiply fields with."""
    t = t.reshape(-1, *(1,) * (like.ndim - 1)).to(like.device)
    mu = (RATE * t).cos() ** 2
    return mu.to(like.dtype), (1 - mu**2 + FLOOR).sqrt().to(like.dtype)


# -- what a network may predict ----------------------------------------------------------------------------------------


def target_of(target: Target, mu: Tensor, sigma: Tensor, x: Tensor, noise: Tensor) -> Tensor:
    """Of x_t = mu x + sigma noise: eps, or v = mu eps - sigma x (Salimans and Ho 2022)."""
    return noise if target == "noise" else mu * noise - sigma * x


def noise_of(target: Target, mu: Tensor, sigma: Tensor, x_t: Tensor, answer: Tensor) -> Tensor:
    """eps, from what a network answered: mu v + sigma x_t where that is v."""
    return answer if target == "noise" else mu * answer + sigma * x_t


# -- sampling ----------------------------------------------------------------------------------------------------------


def sample(predict: Predict, x: Tensor, steps: int, corrections: int, tau: float, draw: Callable[[], Tensor]) -> Tensor:
    """From noise x at t = 1 to t = 0 in equal steps, each with so many Langevin corrections; `draw` gives their noise.

    x <- r x + (sigma' - r sigma) eps,    r = mu' / mu,    the exponential integrator of constant eps
    """
    for now, after in pairwise(torch.linspace(1, 0, steps + 1, dtype=torch.float64, device=x.device)[:, None]):
        (mu, sigma), (mu_next, sigma_next) = cosine(now, x), cosine(after, x)
        ratio = mu_next / mu
        x = ratio * x + (sigma_next - ratio * sigma) * predict(x, now)
        for _ in range(corrections):
            x = langevin(predict(x, after), x, sigma_next, tau, draw())
    return x


def langevin(eps: Tensor, x: Tensor, sigma: Tensor, tau: float, z: Tensor) -> Tensor:
    """x <- x - (delta eps + sqrt(2 delta) z) sigma,    delta = tau / mean eps^2 of each sample."""
    size = eps.square().flatten(1).mean(1).clamp(min=torch.finfo(eps.dtype).tiny)
    delta = (tau / size).reshape(-1, *(1,) * (x.ndim - 1))
    return x - (delta * eps + (2 * delta).sqrt() * z) * sigma
