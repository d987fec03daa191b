"""A PDE written once: its terms, its residual on a grid, its pointwise form, its classical solution.

Every equation of the suite reads  d^n u / dt^n + sum of space terms = 0,  n = `time_order` (0: steady).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import ClassVar

import torch
from torch import Tensor

from benchmark.core.grid import Grid
from benchmark.core.operators import Derivative, on_grid


class Equation(ABC):
    """`fields` holds the unknowns by name, each of any shape that `d` understands.

    A local equation has one unknown. Where the grid form is not local (vorticity), `unknowns` has more and `closure`
    ties them together: pointwise they are predicted together, on a grid `derive` computes them from the first.
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    unknowns: ClassVar[tuple[str, ...]] = ("u",)
    time_order: ClassVar[int] = 1

    @abstractmethod
    def space_terms(self, fields: Mapping[str, Tensor], static: Tensor | None, d: Derivative) -> dict[str, Tensor]:
        """Every term but the time derivative, each with the sign it has on the left-hand side."""

    def closure(self, fields: Mapping[str, Tensor], d: Derivative) -> dict[str, Tensor]:
        """Relations between the unknowns that must vanish too."""
        return {}

    def derive(self, u: Tensor, grid: Grid) -> dict[str, Tensor]:
        """The unknowns on a grid, from the stored video (B, T, H, W, 1)."""
        return {self.unknowns[0]: u[..., 0]}

    def terms(self, u: Tensor, static: Tensor | None, grid: Grid) -> dict[str, Tensor]:
        """The terms of the residual on the grid, each (B, T', H', W').

        The time derivative and the space terms meet half-way between two frames (trapezoidal rule, order 2 in dt) for
        `time_order` 1, and at the inner frames with weights 1/12, 10/12, 1/12 (Numerov, order 4) for 2.
        """
        d = on_grid(grid, u)
        fields = self.derive(u, grid)
        space_static = None if static is None else static[:, None]  # (B, 1, H, W, Cs): broadcasts over frames
        terms = self.space_terms(fields, space_static, d)
        if self.time_order:
            terms = {k: self._meet(v.expand_as(u[..., 0])) for k, v in terms.items()}
            terms["time"] = self._time_derivative(fields[self.unknowns[0]], grid.dt)
        return {k: d.interior(v) for k, v in terms.items()}

    def residual(self, u: Tensor, static: Tensor | None, grid: Grid) -> Tensor:
        """Left-hand side on the grid (B, T', H', W'): at truncation level for a true solution."""
        return reduce(add, self.terms(u, static, grid).values())

    def relative_residual(self, u: Tensor, static: Tensor | None, grid: Grid) -> Tensor:
        """||sum of terms|| / sum of ||term|| for each trajectory (B,), between 0 and 1; 0 where every term vanishes."""
        terms = [t.flatten(1) for t in self.terms(u, static, grid).values()]
        size = reduce(add, (t.norm(dim=1) for t in terms))
        return reduce(add, terms).norm(dim=1) / size.clamp(min=torch.finfo(size.dtype).tiny)

    def pointwise(self, fields: Mapping[str, Tensor], static: Tensor | None, d: Derivative) -> dict[str, Tensor]:
        """Residuals at scattered points: the equation and the closure, each (N,)."""
        terms = [*self.space_terms(fields, static, d).values()]
        if self.time_order:
            terms.append(d(fields[self.unknowns[0]], "t" * self.time_order))
        return {"equation": reduce(add, terms), **self.closure(fields, d)}

    @abstractmethod
    def solve(self, first: Tensor, static: Tensor | None, grid: Grid) -> Tensor:
        """The classical solution (B, T, H, W, 1) from the first frame (B, H, W, 1); differentiable in it."""

    def _meet(self, f: Tensor) -> Tensor:
        if self.time_order == 1:
            return (f[:, 1:] + f[:, :-1]) / 2
        return (f[:, 2:] + 10 * f[:, 1:-1] + f[:, :-2]) / 12

    def _time_derivative(self, u: Tensor, dt: float) -> Tensor:
        if self.time_order == 1:
            return (u[:, 1:] - u[:, :-1]) / dt
        return (u[:, 2:] - 2 * u[:, 1:-1] + u[:, :-2]) / dt**2
