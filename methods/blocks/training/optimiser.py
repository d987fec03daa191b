"""How weights move: the optimiser, its learning rate by step and share of the budget, and the average a fit returns."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from methods.blocks.training.muon import Muon


@dataclass(frozen=True)
class Optimiser:
    """Defaults: the paper's hyper-parameter table. Clipping is the HDiT reference's; the paper states none."""

    name: Literal["adamw", "muon"] = "adamw"  # muon: orthogonalised momentum for matrices, AdamW for the rest
    lr: float = 5e-4
    rest: float = 1.0  # factor on `lr` for what Muon leaves to AdamW: ends, kernels, vectors
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 1e-2
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: int = 0  # steps of linear growth from lr / warmup
    clip: float = 1.0  # largest norm of the gradient; inf: any

    def __post_init__(self) -> None:
        if min(self.lr, self.rest, self.clip) <= 0 or self.warmup < 0:
            raise ValueError(
                "optimiser: expected lr > 0, rest > 0, clip > 0, warmup >= 0, got "
                f"{self.lr}, {self.rest}, {self.clip} and {self.warmup}"
            )

    def rate(self, step: int, fraction: float) -> float:
        """The factor on `lr` at a step, when `fraction` of the budget is spent."""
        warm = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        return warm * (0.5 * (1 + math.cos(math.pi * min(1.0, fraction))) if self.schedule == "cosine" else 1.0)


@dataclass(frozen=True)
class Group:
    """Parameters that are treated alike."""

    parameters: Sequence[nn.Parameter]
    lr: float = 1.0  # factor on the learning rate
    decay: bool = True  # weight decay
    orthogonal: bool = False  # Muon, where it is the optimiser; two-dimensional real parameters only


def default_groups(model: nn.Module) -> list[Group]:
    """Matrices with Muon, if asked for, and with decay; kernels with decay; vectors and scalars without."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    matrices = [p for p in parameters if p.ndim == 2 and p.is_floating_point()]
    chosen = {id(p) for p in matrices}
    kernels = [p for p in parameters if p.ndim >= 2 and id(p) not in chosen]
    vectors = [p for p in parameters if p.ndim < 2]
    groups = [Group(matrices, orthogonal=True), Group(kernels), Group(vectors, decay=False)]
    return [group for group in groups if group.parameters]


def make_optimisers(settings: Optimiser, groups: Sequence[Group]) -> list[torch.optim.Optimizer]:
    """AdamW, or Muon and AdamW. Each group remembers its own rate as `base_lr`."""
    is_muon = settings.name == "muon"
    muon = [_options(settings, g) for g in groups if is_muon and g.orthogonal]
    rest = settings.rest if is_muon else 1.0
    adamw = [_options(settings, g, rest) for g in groups if not (is_muon and g.orthogonal)]
    optimisers: list[torch.optim.Optimizer] = []
    if muon:
        optimisers.append(Muon(muon, lr=settings.lr))
    if adamw:
        real = all(p.is_floating_point() for group in adamw for p in group["params"])
        optimisers.append(torch.optim.AdamW(adamw, lr=settings.lr, betas=settings.betas, fused=real))
    return optimisers


def set_rate(optimisers: Sequence[torch.optim.Optimizer], factor: float) -> None:
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = group["base_lr"] * factor


def _options(settings: Optimiser, group: Group, factor: float = 1.0) -> dict:
    lr, decay = settings.lr * factor * group.lr, settings.weight_decay if group.decay else 0.0
    return {"params": list(group.parameters), "lr": lr, "base_lr": lr, "weight_decay": decay}


class Ema:
    """The exponential moving average of a model's weights, which is what a fit returns.

        w_ema <- d w_ema + (1 - d) w  with  d = min(decay, 1 - (1 + step)^-power).

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
