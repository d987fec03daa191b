"""Allen-Cahn: exact parts, bounds, energy, order, spread, for both boundaries."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from benchmark.core import Grid
from benchmark.core.operators import CentralDifference, Fourier
from datasets.allen_cahn import AllenCahn, AllenCahnEquation
from tests.autograd import Autograd
from tests.datasets.physics import make, orders, relative

F64 = torch.float64
BOUNDARIES = ("periodic", "dirichlet")


def square(n: int, duration: float, frames: int = 2, boundary: str = "periodic") -> Grid:
    return Grid((n, n), (1.0, 1.0), tuple(duration * i / (frames - 1) for i in range(frames)), boundary)


def smooth(grid: Grid) -> Tensor:
    """(2, N, N, 1), within [-1, 1], zero on the edges, smooth as a periodic field."""
    x, y = (2 * torch.pi * axis for axis in grid.axes(F64))
    fields = [
        0.9 * torch.sin(x) * torch.sin(2 * y),
        0.5 * torch.sin(2 * x) * torch.sin(y) + 0.4 * torch.sin(x + 0 * y) * torch.sin(y),
    ]
    return torch.stack(fields)[..., None]


def test_uniform_state_follows_the_ode():
    """u' = g2 u (1 - u^2): u / sqrt(u^2 + (1 - u^2) e^(-2 g2 t))."""
    equation, grid = AllenCahnEquation(15100.0, 10), square(16, 2e-4, 5)
    values = torch.tensor([0.01, -0.3, 1.0, 1.2, 0.0], dtype=F64)
    u = equation.solve(values[:, None, None, None].expand(5, 16, 16, 1), None, grid)
    for frame, t in enumerate(grid.times):
        exact = values / (values**2 + (1 - values**2) * math.exp(-2 * 15100 * t)).sqrt()
        assert torch.allclose(u[:, frame, 3, 5, 0], exact, rtol=1e-12)


def test_single_mode_decays_without_reaction():
    n = 20
    for boundary, k in (("periodic", 2 * torch.pi * 3), ("dirichlet", torch.pi * 3)):
        grid = square(n, 1e-3, 4, boundary)
        x, y = grid.axes(F64)
        u0 = (torch.sin(k * x) * torch.sin(k * y))[None, ..., None]
        u = AllenCahnEquation(0.0, 3).solve(u0, None, grid)
        assert relative(u[:, -1], u0 * math.exp(-2 * k**2 * 1e-3)) < 1e-10


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_maximum_principle(boundary):
    u, _ = make(AllenCahn, "paper", boundary=boundary).generate("train", range(6), 20, dtype=F64)
    assert u.abs().max() <= 1 + 1e-9


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_free_energy_never_grows(boundary):
    """int |grad u|^2 / 2 + g2 (u^2 - 1)^2 / 4."""
    dataset = make(AllenCahn, "paper", boundary=boundary)
    grid, g2 = dataset.grid(20), dataset.equation().g2
    u = dataset.generate("train", range(6), 20, dtype=F64)[0][..., 0]
    well = g2 / 4 * (u.square() - 1).square()
    energy = (gradient_square(u, grid) / 2 + well).mean((-2, -1))
    assert (energy.diff(dim=1) <= 0).all()


def gradient_square(u: Tensor, grid: Grid) -> Tensor:
    h = grid.spacing[0]
    if grid.boundary == "periodic":
        d = Fourier(grid, u)
        return d(u, "x").square() + d(u, "y").square()
    steps = torch.nn.functional.pad(u.diff(dim=-1), (0, 1)).square()
    return (steps + torch.nn.functional.pad(u.diff(dim=-2), (0, 0, 0, 1)).square()) / h**2


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_order_two_in_the_substep(boundary):
    grid = square(32, 1e-3, 2, boundary)
    u0 = smooth(grid)
    exact = AllenCahnEquation(3000.0, 640).solve(u0, None, grid)
    errors = [relative(AllenCahnEquation(3000.0, m).solve(u0, None, grid), exact) for m in (10, 20, 40)]
    assert all(1.9 < p < 2.1 for p in orders(errors)), errors


def test_ten_substeps_are_enough():
    coarse, _ = make(AllenCahn, "paper").generate("train", range(2), 20, dtype=F64)
    fine, _ = make(AllenCahn, "paper", substeps=40).generate("train", range(2), 20, dtype=F64)
    assert relative(coarse, fine) < 1e-4
    single, _ = make(AllenCahn, "paper").generate("train", range(2), 20)
    assert relative(single.double(), coarse) < 1e-5


def test_flat_interface_stands_still():
    """tanh(gamma x / sqrt 2) is stationary; two of them far apart make it periodic."""
    gamma = 2000**0.5
    grid = square(128, 2e-3, 3)
    x, y = grid.axes(F64)
    profile = torch.tanh(gamma * (x - 0.25) / 2**0.5) - torch.tanh(gamma * (x - 0.75) / 2**0.5) - 1
    u0 = (profile + 0 * y)[None, ..., None]
    u = AllenCahnEquation(gamma**2, 100).solve(u0, None, grid)
    assert (u - u0).abs().max() < 5e-5


def test_circle_shrinks_by_its_curvature():
    """R^2 = R_0^2 - 2 t for a thin interface."""
    gamma, radius = 123.0, 0.3
    grid = square(128, 0.02, 3)
    x, y = grid.axes(F64)
    r = ((x - 0.5) ** 2 + (y - 0.5) ** 2).sqrt()
    u0 = torch.tanh(gamma * (radius - r) / 2**0.5)[None, ..., None]
    u = AllenCahnEquation(gamma**2, 1000).solve(u0, None, grid)[0, ..., 0]
    area = (u + 1).mean((-2, -1)) / 2
    for frame, t in enumerate(grid.times):
        assert (area[frame] / torch.pi).item() == pytest.approx(radius**2 - 2 * t, rel=0.02)


def test_zoom_keeps_the_published_spread():
    """Zoomed two times at 64^2, all is equal in pixels."""
    u, _ = make(AllenCahn, "paper", sizes={"resolution": 64}, zoom=2.0).generate("train", range(256), 20)
    assert u.std().item() == pytest.approx(0.65, abs=0.03)
    assert u.mean().abs() < 0.05


@pytest.mark.slow
def test_published_spread_at_full_size():
    u, _ = make(AllenCahn, "paper").generate("train", range(240), 20)
    assert u.std().item() == pytest.approx(0.65, abs=0.03)
    assert u.mean().abs() < 0.05


def test_paper_variant_misses_the_published_spread():
    u, _ = make(AllenCahn, "paper", variant="paper", sizes={"resolution": 64}).generate("train", range(32), 20)
    assert u.std().item() == pytest.approx(0.38, abs=0.05)


def test_dirichlet_edges_are_zero():
    u, _ = make(AllenCahn, boundary="dirichlet").generate("train", range(2), 4, dtype=F64)
    edges = torch.cat([u[..., [0, -1], :, :].flatten(), u[..., [0, -1], :].flatten()])
    assert edges.abs().max() < 1e-14


def test_residual_of_a_solution_shrinks_with_order_two_in_the_frame_spacing():
    residuals = []
    for frames in (11, 21, 41):
        grid, equation = square(32, 1e-3, frames), AllenCahnEquation(1000.0, 40)
        u = equation.solve(smooth(grid), None, grid)
        residuals.append(equation.relative_residual(u, None, grid).max().item())
    assert all(1.9 < p < 2.1 for p in orders(residuals)), residuals
    assert residuals[-1] < 1e-3


def test_residual_shrinks_with_order_two_in_space_between_walls():
    residuals = []
    for n in (33, 65, 129):
        grid, equation = square(n, 1e-4, 21, "dirichlet"), AllenCahnEquation(500.0, 4)
        u = equation.solve(smooth(grid), None, grid)
        residuals.append(equation.relative_residual(u, None, grid).max().item())
    assert all(1.8 < p < 2.2 for p in orders(residuals)), residuals


def test_residual_sees_the_other_reaction_constant():
    dataset = make(AllenCahn, "paper")
    u, grid = dataset.generate("train", range(2), 20)[0], dataset.grid(20)
    right = dataset.equation().relative_residual(u, None, grid)
    wrong = make(AllenCahn, "paper", variant="paper").equation().relative_residual(u, None, grid)
    assert (wrong > 5 * right).all()


def test_pointwise_form_agrees_with_the_grid_forms():
    equation = AllenCahnEquation(15100.0, 10)
    grid = square(64, 1e-4)
    x, y = (axis.expand(64, 64).flatten() for axis in grid.axes(F64))
    points = torch.stack([torch.zeros_like(x), x, y], 1).requires_grad_()
    t, px, py = points.unbind(1)
    u = 0.9 * torch.sin(2 * torch.pi * px) * torch.sin(4 * torch.pi * py) * torch.exp(-t)
    pointwise = equation.pointwise({"u": u}, None, Autograd(points))["equation"].reshape(64, 64).detach()
    frame = u.detach().reshape(1, 1, 64, 64)
    for d, bound in ((Fourier(grid, frame), 1e-10), (CentralDifference(grid, frame), 1e-3)):
        space = sum(equation.space_terms({"u": frame}, None, d).values()) - frame  # u_t = -u
        assert relative(d.interior(space[0, 0]), d.interior(pointwise)) < bound
