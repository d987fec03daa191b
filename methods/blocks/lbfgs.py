"""L-BFGS for many independent problems at once: each has its own history, direction and step length.

Nocedal and Wright, Numerical Optimization, algorithms 7.4 (two-loop recursion) and 3.1 (backtracking).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

Objective = Callable[[Tensor], Tensor]  # (B, N) -> (B,), problem by problem


@dataclass(frozen=True)
class Minimum:
    x: Tensor  # (B, N)
    value: Tensor  # (B,)
    evaluations: int  # of the objective and its gradient, for the whole batch at once
    converged: Tensor  # (B,) bool: done before the iterations ran out


@dataclass(frozen=True)
class _Point:
    x: Tensor  # (B, N)
    value: Tensor  # (B,)
    gradient: Tensor  # (B, N)

    def where(self, take: Tensor, other: _Point) -> _Point:
        """This point for the problems in `take` (B,), the other one elsewhere."""
        rows = take[:, None]
        return _Point(
            torch.where(rows, self.x, other.x),
            torch.where(take, self.value, other.value),
            torch.where(rows, self.gradient, other.gradient),
        )


def minimise(
    objective: Objective,
    x: Tensor,
    iterations: int,
    history: int = 30,
    backtracks: int = 8,
    tolerance: float = 1e-6,
    precondition: Callable[[Tensor], Tensor] | None = None,
) -> Minimum:
    """A problem is done when its value falls by less than `tolerance` of itself, or by nothing along its gradient.

    `precondition` is a guess of the inverse Hessian, (B, N) -> (B, N), which steps start from instead of the identity.
    """
    point, evaluations = _evaluate(objective, x), 1
    pairs: list[_Pair] = []  # oldest first
    fresh = torch.ones_like(point.value, dtype=torch.bool)  # no history: the step is along the gradient
    running = torch.ones_like(fresh)
    for _ in range(iterations):
        direction = -_inverse_hessian(pairs, point.gradient, precondition)
        unit = 1 / point.gradient.norm(dim=1).clamp(min=1e-30)
        step = torch.where(fresh, unit.clamp(max=1), 1) if precondition is None else torch.ones_like(unit)
        new, moved, tries = _backtrack(objective, point, direction, step, running, backtracks)
        evaluations += tries
        pairs = [p.forget(running & ~moved) for p in pairs]
        pairs = [*pairs, _Pair.of(new.x - point.x, new.gradient - point.gradient)][-history:]
        gained = point.value - new.value > tolerance * point.value.abs()
        running &= torch.where(moved, gained, ~fresh)  # a problem that did not move tries once more, along its gradient
        fresh = ~moved
        point = new
        if not running.any():
            break
    return Minimum(point.x, point.value, evaluations, ~running)


def _backtrack(
    objective: Objective, point: _Point, direction: Tensor, step: Tensor, running: Tensor, backtracks: int
) -> tuple[_Point, Tensor, int]:
    """Shorten each problem's step until its value falls enough (Armijo); one that finds none stays where it is.

    Returns the new point, which problems moved, and the evaluations it took.
    """
    slope = _dot(direction, point.gradient)[:, 0]
    best, searching, evaluations = point, running.clone(), 0
    while searching.any() and evaluations < backtracks:
        trial = _evaluate(objective, torch.where(searching[:, None], point.x + step[:, None] * direction, best.x))
        enough = trial.value <= point.value + 1e-4 * step * slope
        good = searching & enough & trial.gradient.isfinite().all(1) & (slope < 0)
        best = trial.where(good, best)
        searching = searching & ~good
        evaluations += 1
        excess = trial.value - point.value - step * slope  # the minimum of the parabola through both values
        shorter = -slope * step / (2 * excess)
        step = step * torch.where(shorter.isfinite(), shorter, 0.1).clamp(0.1, 0.5)
    return best, running & ~searching, evaluations


def _evaluate(objective: Objective, x: Tensor) -> _Point:
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        value = objective(x)
        (gradient,) = torch.autograd.grad(value.sum(), x)
    return _Point(x.detach(), value.detach(), gradient)


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum(1, keepdim=True)  # (B, 1)


@dataclass(frozen=True)
class _Pair:
    """A step and its change of gradient; rho = 1 / (s . y), or 0 where there is no positive curvature to learn from."""

    s: Tensor  # (B, N)
    y: Tensor  # (B, N)
    rho: Tensor  # (B, 1)

    @classmethod
    def of(cls, s: Tensor, y: Tensor) -> _Pair:
        product = _dot(s, y)
        sound = product > 1e-10 * s.norm(dim=1, keepdim=True) * y.norm(dim=1, keepdim=True)
        return cls(s, y, torch.where(sound, 1 / product.clamp(min=1e-300), 0))

    def forget(self, which: Tensor) -> _Pair:
        return replace(self, rho=torch.where(which[:, None], 0, self.rho))


def _inverse_hessian(
    pairs: list[_Pair], gradient: Tensor, precondition: Callable[[Tensor], Tensor] | None = None
) -> Tensor:
    """The two-loop recursion, (B, N) -> (B, N), around the guess, or around the scale of the newest sound pair."""
    q, alphas = gradient.clone(), []
    for p in reversed(pairs):
        alphas.append(p.rho * _dot(p.s, q))
        q = q - alphas[-1] * p.y
    q = precondition(q) if precondition is not None else _scale(pairs, gradient) * q
    for p, alpha in zip(pairs, reversed(alphas), strict=True):
        q = q + p.s * (alpha - p.rho * _dot(p.y, q))
    return q


def _scale(pairs: list[_Pair], gradient: Tensor) -> Tensor:
    scale = torch.ones_like(gradient[:, :1])
    for p in pairs:
        scale = torch.where(p.rho > 0, 1 / (p.rho * _dot(p.y, p.y)).clamp(min=1e-300), scale)
    return scale
