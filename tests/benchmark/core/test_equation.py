"""The residual of an equation: how time and space meet, what is counted, what can be differentiated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from benchmark.core import Grid
from benchmark.core.equation import Equation
from benchmark.core.operators import Derivative
from tests.autograd import Autograd

F64 = torch.float64


@dataclass(frozen=True)
class Decay(Equation):
    """u_t + rate(x, y) u = 0, the rate given as static field; the simplest equation with a static field."""

    name: ClassVar[str] = "decay"
    formula: ClassVar[str] = "u_t + rate u = 0"

    def space_terms(self, fields: Mapping[str, Tensor], static: Tensor | None, d: Derivative) -> dict[str, Tensor]:
        return {"decay": static[..., 0] * fields["u"]}

    def solve(self, first: Tensor, static: Tensor | None, grid: Grid) -> Tensor:
        return torch.stack([first * torch.exp(-static * t) for t in grid.times], dim=1)


class Oscillation(Decay):
    """u_tt + rate u = 0."""

    time_order = 2

    def solve(self, first: Tensor, static: Tensor | None, grid: Grid) -> Tensor:
        return torch.stack([first * torch.cos(static.sqrt() * t) for t in grid.times], dim=1)


def case(frames: int, boundary: str = "periodic") -> tuple[Tensor, Tensor, Grid]:
    g = torch.Generator().manual_seed(0)
    grid = Grid((8, 10), (1.0, 1.0), tuple(i / (frames - 1) for i in range(frames)), boundary)
    first, rate = 0.5 + torch.rand(2, 3, 8, 10, 1, generator=g, dtype=F64)
    return first, rate, grid


def residuals(equation: Equation) -> list[float]:
    found = []
    for frames in (11, 21):
        first, rate, grid = case(frames)
        found.append(equation.relative_residual(equation.solve(first, rate, grid), rate, grid).max().item())
    return found


def test_first_order_in_time_meets_by_the_trapezoidal_rule():
    coarse, fine = residuals(Decay())
    assert coarse / fine == pytest.approx(4, rel=0.03)


def test_second_order_in_time_meets_by_numerov():
    coarse, fine = residuals(Oscillation())
    assert coarse / fine == pytest.approx(16, rel=0.03)


@pytest.mark.parametrize(("equation", "frames"), [(Decay(), 10), (Oscillation(), 9)])
@pytest.mark.parametrize(("boundary", "shape"), [("periodic", (8, 10)), ("absorbing", (6, 8)), ("dirichlet", (6, 8))])
def test_shapes(equation, frames, boundary, shape):
    first, rate, grid = case(11, boundary)
    u = equation.solve(first, rate, grid)
    terms = equation.terms(u, rate, grid)
    assert set(terms) == {"decay", "time"}
    assert all(t.shape == (3, frames, *shape) for t in terms.values())
    assert equation.residual(u, rate, grid).shape == (3, frames, *shape)


def test_relative_residual_by_hand():
    """Two frames, u = 1 then 3, rate 2, dt 0.5: time term 4, space term 4, sum 8 = all of the terms."""
    grid = Grid((8, 8), (1.0, 1.0), (0.0, 0.5), "periodic")
    u = torch.tensor([1.0, 3.0])[None, :, None, None, None].expand(1, 2, 8, 8, 1)
    rate = torch.full((1, 8, 8, 1), 2.0)
    assert torch.allclose(Decay().residual(u, rate, grid), torch.tensor(8.0))
    assert Decay().relative_residual(u, rate, grid).tolist() == [1.0]
    assert Decay().relative_residual(u, -rate, grid).tolist() == [0.0]


def test_residual_is_linear_in_the_batch():
    """Each trajectory's number is its own."""
    first, rate, grid = case(5)
    u = Decay().solve(first, rate, grid)
    together = Decay().relative_residual(u, rate, grid)
    alone = torch.cat([Decay().relative_residual(u[i : i + 1], rate[i : i + 1], grid) for i in range(3)])
    assert torch.allclose(together, alone, rtol=1e-12)


def test_pointwise_form():
    points = torch.rand(20, 3, dtype=F64, requires_grad=True)
    rate = torch.full((20, 1), 1.5, dtype=F64)
    u = torch.exp(-1.5 * points[:, 0]) * torch.sin(points[:, 1])
    v = torch.cos(1.5**0.5 * points[:, 0]) * torch.sin(points[:, 1])
    assert Decay().pointwise({"u": u}, rate, Autograd(points))["equation"].abs().max() < 1e-12
    assert Oscillation().pointwise({"u": v}, rate, Autograd(points))["equation"].abs().max() < 1e-12
    assert Oscillation().pointwise({"u": u}, rate, Autograd(points))["equation"].abs().max() > 0.1
