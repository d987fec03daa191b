"""DDPM (Ho et al. 2020) with the deterministic steps of DDIM (Song et al. 2021).

x_t = sqrt(abar_t) x_0 + sqrt(1 - abar_t) eps,    abar_t = (1 - beta_0) .. (1 - beta_t),    the network predicts eps,
                                                  or v = sqrt(abar_t) eps - sqrt(1 - abar_t) x_0 (Salimans & Ho 2022)
x_s = sqrt(abar_s) x_0' + sqrt(1 - abar_s) eps',  x_0' = (x_t - sqrt(1 - abar_t) eps') / sqrt(abar_t),  s < t
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from methods.blocks.diffusion import variance_preserving as vp
from methods.blocks.diffusion.variance_preserving import Target
from methods.blocks.training.sharing import rows

Predict = Callable[[Tensor, Tensor], Tensor]  # x_t (B, ...), t (B,) or (1,) long -> eps (B, ...)


@dataclass(frozen=True)
class Schedule:
    """beta linear in t."""

    steps: int = 1000
    beta_first: float = 1e-4
    beta_last: float = 0.02

    def kept(self) -> Tensor:
        """abar_t for t = 0 .. steps - 1, float64."""
        return (1 - torch.linspace(self.beta_first, self.beta_last, self.steps, dtype=torch.float64)).cumprod(0)


def antithetic(schedule: Schedule, count: int, draws: torch.Generator) -> Tensor:
    """Times in pairs t and steps - 1 - t, of the whole batch: (count,)."""

    def times(count: int, g: torch.Generator) -> Tensor:
        half = torch.randint(schedule.steps, (-(-count // 2),), generator=g, device=g.device)
        return torch.cat([half, schedule.steps - 1 - half])[:count]

    return rows(count, draws, times)


def noised(schedule: Schedule, x: Tensor, t: Tensor, noise: Tensor) -> Tensor:
    """x_t, for times (B,) or ()."""
    signal, spread = _parts(schedule, t, x)
    return signal * x + spread * noise


def target_of(target: Target, schedule: Schedule, x: Tensor, t: Tensor, noise: Tensor) -> Tensor:
    """What a network should answer to x_t: eps or v."""
    return vp.target_of(target, *_parts(schedule, t, x), x, noise)


def noise_of(target: Target, schedule: Schedule, x_t: Tensor, t: Tensor, answer: Tensor) -> Tensor:
    """eps, from what a network answered."""
    return vp.noise_of(target, *_parts(schedule, t, x_t), x_t, answer)


def _parts(schedule: Schedule, t: Tensor, like: Tensor) -> tuple[Tensor, Tensor]:
    """sqrt(abar_t) and sqrt(1 - abar_t), to multiply fields with."""
    kept = schedule.kept().to(like.device)[t].reshape(-1, *(1,) * (like.ndim - 1))
    return kept.sqrt().to(like.dtype), (1 - kept).sqrt().to(like.dtype)


def ddim(
    schedule: Schedule, predict: Predict, x: Tensor, times: Sequence[int], correct: Callable[[Tensor], Tensor]
) -> Tensor:
    """From x at times[0], decreasing, to x_0; `correct` gives what is subtracted after a step, from x before it."""
    kept = [*schedule.kept()[list(times)].tolist(), 1.0]
    for t, (now, after) in zip(times, pairwise(kept), strict=True):
        eps = predict(x, torch.full((1,), t, device=x.device))
        x_0 = (x - (1 - now) ** 0.5 * eps) / now**0.5
        x = after**0.5 * x_0 + (1 - after) ** 0.5 * eps - correct(x)
    return x
