"""Navier-Stokes data: initial law, decay of its spread, enstrophy budget, residual."""

from __future__ import annotations

import pytest
import torch

from benchmark.core import Grid, keyed_generator
from benchmark.core.operators import Fourier
from datasets.navier_stokes import NavierStokes
from datasets.random_fields import periodic_modes
from tests.autograd import Autograd
from tests.datasets.physics import make, orders, relative

F64 = torch.float64


def test_initial_vorticity_has_the_published_spread():
    flow = make(NavierStokes, "paper").equation().flow(128, torch.float32, "cpu")
    modes = [periodic_modes(flow.cutoff, 2.5, 7.0, 2 * torch.pi, keyed_generator("ic", i)) for i in range(500)]
    power = torch.stack(modes).abs().square().sum((1, 2))  # (500,) the field's variance, by Parseval
    assert power.mean().sqrt().item() == pytest.approx(0.262, rel=0.02)
    w = flow.field(torch.stack(modes[:8]).to(torch.complex64))
    assert w.var((1, 2), correction=0).tolist() == pytest.approx(power[:8].tolist(), rel=1e-4)


def test_spread_at_time_one_over_the_initial_one():
    dataset = make(NavierStokes, "paper")
    w, _ = dataset.generate("train", range(48), 21)  # (48, 21, 128, 128, 1), t = 0 .. 1
    assert (w[:, -1].std() / w[:, 0].std()).item() == pytest.approx(0.977, abs=0.01)
    assert w.mean((2, 3)).abs().max() < 1e-6


def test_enstrophy_budget():
    """d/dt <w^2>/2 = -nu <|grad w|^2> + <f w>, integrated over a run by Simpson's rule."""
    dataset = make(NavierStokes, "paper", sizes={"resolution": 48})
    grid = dataset.grid(21)
    w = dataset.generate("train", range(4), 21, dtype=F64)[0][..., 0]
    equation, d = dataset.equation(), Fourier(grid, w)
    loss = equation.nu * (d(w, "x").square() + d(w, "y").square()).mean((-2, -1))
    gain = (equation.forcing(d.x, d.y) * w).mean((-2, -1))
    weights = torch.tensor([1.0] + [4.0, 2.0] * 9 + [4.0, 1.0], dtype=F64) * grid.dt / 3
    change = (w[:, -1].square() - w[:, 0].square()).mean((-2, -1)) / 2
    budget = ((gain - loss) * weights).sum(1)
    scale = ((gain.abs() + loss) * weights).sum(1)
    assert ((change - budget).abs() / scale).max() < 1e-3


def test_step_is_fine_enough():
    """Ten times as many steps change the paper's frames by less than float32 can show."""
    coarse = make(NavierStokes, "paper", sizes={"resolution": 64})
    fine = make(NavierStokes, "paper", sizes={"resolution": 64}, max_dt=0.005)
    a, b = (d.generate("train", range(2), 20, dtype=F64)[0] for d in (coarse, fine))
    assert relative(a, b) < 1e-5
    assert relative(coarse.generate("train", range(2), 20)[0].double(), b) < 2e-5


def test_frames_without_the_initial_state():
    sizes = {"frames": 4}
    after = make(NavierStokes, sizes=sizes, include_initial=False)
    before = make(NavierStokes, sizes=sizes)
    assert after.grid(4).times == pytest.approx((0.25, 0.5, 0.75, 1.0))
    assert torch.equal(after.generate("test", [0], 3)[0], before.generate("test", [0], 4)[0][:, 1:])


def solution(frames_per_unit: int) -> tuple[torch.Tensor, Grid, NavierStokes]:
    dataset = make(NavierStokes, "paper", sizes={"resolution": 32, "frames": frames_per_unit}, max_dt=0.01)
    return (
        dataset.generate("train", range(2), frames_per_unit + 1, dtype=F64)[0],
        dataset.grid(frames_per_unit + 1),
        dataset,
    )


def test_residual_of_a_solution_shrinks_with_order_two():
    residuals = []
    for frames in (10, 20, 40, 80):
        w, grid, dataset = solution(frames)
        residuals.append(dataset.equation().relative_residual(w, None, grid).max().item())
    assert all(1.9 < p < 2.1 for p in orders(residuals)), residuals
    assert residuals[-1] < 1e-3


@pytest.mark.parametrize("change", [{"nu": 2e-3}, {"amplitude": 0.05}])
def test_residual_sees_a_wrong_constant(change):
    w, grid, dataset = solution(80)
    wrong = make(NavierStokes, "paper", **change).equation()
    right = dataset.equation().relative_residual(w, None, grid)
    assert (wrong.relative_residual(w, None, grid) > 10 * right).all()


def test_trapezoidal_and_midpoint_residuals_agree():
    """The mean of two frames' space terms against the terms of the frame between them: order 2 apart."""
    gaps = []
    for frames in (20, 40):
        w, grid, dataset = solution(frames)
        equation, d = dataset.equation(), Fourier(grid, w)
        space = sum(equation.space_terms(equation.derive(w, grid), None, d).values())
        midpoint = (w[:, 2:, ..., 0] - w[:, :-2, ..., 0]) / (2 * grid.dt) + space[:, 1:-1]
        every_other = Grid(grid.shape, grid.lengths, grid.times[::2], "periodic")
        trapezoidal = equation.residual(w[:, ::2], None, every_other)
        gaps.append((trapezoidal - midpoint[:, ::2]).norm().item() / frames**0.5)
        assert relative(trapezoidal, -2 * midpoint[:, ::2]) < 1  # same leading error but for its factor
    assert 1.8 < orders(gaps)[0] < 2.2


def test_pointwise_form_agrees_with_the_grid_form():
    """On psi = sin(2 pi x) cos(4 pi y) e^-t, w = -Lap psi: autograd at the grid's points against Fourier."""
    dataset = make(NavierStokes, sizes={"resolution": 20})
    equation, grid = dataset.equation(), dataset.grid(4)
    x, y = (axis.expand(20, 20).flatten() for axis in grid.axes(F64))
    points = torch.stack([torch.full_like(x, grid.times[1]), x, y], 1).requires_grad_()
    t, px, py = points.unbind(1)
    psi = (torch.sin(2 * torch.pi * px) * torch.cos(4 * torch.pi * py) + torch.cos(2 * torch.pi * py)) * torch.exp(-t)
    d = Autograd(points)
    w = -(d(psi, "xx") + d(psi, "yy"))
    residuals = equation.pointwise({"w": w, "psi": psi}, None, d)
    assert residuals["stream function"].abs().max() < 1e-12
    frame = w.detach().reshape(1, 1, 20, 20, 1)
    terms = equation.space_terms(equation.derive(frame, grid), None, Fourier(grid, frame[..., 0]))
    on_grid = sum(terms.values())[0, 0].flatten() - frame.flatten()  # w_t = -w
    assert torch.allclose(residuals["equation"], on_grid, atol=1e-9)
