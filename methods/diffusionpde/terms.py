"""What guides a sample: observations of its frames, and the equation's residual.

The residual is the equation's own, `Equation.residual`, wherever the frames are close enough for it: a steady problem's
two fields, two adjacent frames of an equation of first order in time, or a whole video. For the first and the last
frame of a trajectory it means nothing; there DiffusionPDE's code takes w_x + w_y of the last frame, in grid units,
which is available as `far = "divergence"` and is not zero for true solutions either.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from benchmark.core import Grid, TrajectorySet
from benchmark.core.equation import Equation
from methods.blocks.diffusion.guidance import Term
from methods.blocks.normaliser import Normaliser
from methods.blocks.statistics import pieces


@dataclass(frozen=True)
class Seen:
    """Observations of B samples of T frames, in normalised units."""

    values: Tensor  # (B, T, H, W, C)
    mask: Tensor  # (B, T, H, W, C) bool


def observation(seen: Seen, frames: slice, weight: float, late: float, full: float) -> Term:
    """(x - y) where observed, of some of the frames; `full` and `late` multiply the weight where they apply."""
    y, mask = seen.values[:, frames], seen.mask[:, frames]
    weight = full * weight if mask.all() else weight
    count = mask.flatten(1).sum(1).clamp(min=1)

    def residual(x: Tensor) -> Tensor:
        return torch.where(mask, x[:, frames] - y, 0).flatten(1)

    return Term(residual, weight, late * weight, count)


def physics(
    equation: Equation, normaliser: Normaliser, static: Tensor | None, grid: Grid, scale: float, weight: float
) -> Term:
    """The residual over the size of its terms, after the switch only."""

    def residual(x: Tensor) -> Tensor:
        return equation.residual(normaliser.decode(x), static, grid).flatten(1) / scale

    frames = max(1, len(grid.times) - equation.time_order)
    return Term(residual, 0.0, weight, float(frames * grid.shape[0] * grid.shape[1]))


def divergence(normaliser: Normaliser, grid: Grid, scale: float, weight: float) -> Term:
    """w_x + w_y of the last frame, central differences in grid units, without the outermost cells; weighed likewise."""

    def residual(x: Tensor) -> Tensor:
        w = normaliser.decode(x)[:, -1]  # (B, H, W, C)
        slope = (w[:, 2:, 1:-1] - w[:, :-2, 1:-1] + w[:, 1:-1, 2:] - w[:, 1:-1, :-2]) / 2
        return slope.flatten(1) / scale

    return Term(residual, 0.0, weight, float(grid.shape[0] * grid.shape[1]))


def residual_size(train: TrajectorySet, frames: int, at_most: int = 64) -> float:
    """The typical size of a cell's largest possible residual: sum of the terms' root mean squares over true fields.

    Of windows of `frames` frames from the start of `at_most` trajectories, spread over the set; 1 where the equation
    needs more frames.
    """
    equation, grid = train.equation, train.grid.first(frames)
    if frames <= equation.time_order:
        return 1.0
    sizes = []
    for part in pieces(train, at_most):
        terms = equation.terms(part.u[:, :frames], part.static, grid).values()
        sizes.append(float(sum(term.square().mean().sqrt() for term in terms)))
    return sum(sizes) / len(sizes)
