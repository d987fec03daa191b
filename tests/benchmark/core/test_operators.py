"""Derivatives against fields whose derivatives are known."""

from __future__ import annotations

import pytest
import torch

from benchmark.core import Grid
from benchmark.core.operators import CentralDifference, Fourier, on_grid
from tests.autograd import Autograd

TAU = 2 * torch.pi
KNOWN = {  # of sin(a x) cos(b y)
    "x": lambda x, y, a, b: a * torch.cos(a * x) * torch.cos(b * y),
    "y": lambda x, y, a, b: -b * torch.sin(a * x) * torch.sin(b * y),
    "xx": lambda x, y, a, b: -(a**2) * torch.sin(a * x) * torch.cos(b * y),
    "yy": lambda x, y, a, b: -(b**2) * torch.sin(a * x) * torch.cos(b * y),
    "xy": lambda x, y, a, b: -a * b * torch.cos(a * x) * torch.sin(b * y),
}


def grid_of(shape: tuple[int, int], boundary: str, lengths: tuple[float, float] = (1.0, 2.0)) -> Grid:
    return Grid(shape, lengths, (0.0, 1.0), boundary)


def wave(x: torch.Tensor, y: torch.Tensor, a: float, b: float) -> torch.Tensor:
    return torch.sin(a * x) * torch.cos(b * y)


@pytest.mark.parametrize("axes", KNOWN)
def test_fourier_is_exact_on_a_rectangle(axes):
    grid = grid_of((20, 48), "periodic")
    x, y = grid.axes(torch.float64)
    a, b = 3 * TAU, 2 * TAU / 2
    u = wave(x, y, a, b)
    expected = KNOWN[axes](x, y, a, b)
    assert torch.allclose(Fourier(grid, u)(u, axes), expected, atol=1e-10 * a * b)


@pytest.mark.parametrize("axes", ["x", "y", "xx", "yy"])
@pytest.mark.parametrize("boundary", ["absorbing", "dirichlet"])
def test_central_difference_has_order_two(axes, boundary):
    errors = []
    for n in (32, 64):
        grid = grid_of((n, 2 * n), boundary)
        x, y = grid.axes(torch.float64)
        d = CentralDifference(grid, x)
        error = d.interior(d(wave(x, y, 5.0, 4.0), axes) - KNOWN[axes](x, y, 5.0, 4.0))
        errors.append(error.norm() / error.numel() ** 0.5)
    assert 3.6 < errors[0] / errors[1] < 4.5


def test_autograd_gives_every_derivative():
    points = torch.rand(50, 3, dtype=torch.float64, requires_grad=True)
    t, x, y = points.unbind(1)
    d, u = Autograd(points), wave(x, y, 5.0, 4.0) * torch.exp(-2 * t)
    for axes, exact in KNOWN.items():
        assert torch.allclose(d(u, axes), exact(x, y, 5.0, 4.0) * torch.exp(-2 * t))
    assert torch.allclose(d(u, "tt"), 4 * u)


@pytest.mark.parametrize("n", [16, 20, 24, 48])
def test_product_of_kept_modes_has_no_aliases(n):
    """On a grid twice as fine the same product cannot alias at all; 24 and 48 are multiples of 3."""
    g = torch.Generator().manual_seed(n)
    grid = grid_of((n, n), "periodic")
    u, v = torch.randn(2, 2 * n, 2 * n, generator=g, dtype=torch.float64)
    k = (n - 1) // 3
    low = (torch.fft.fftfreq(2 * n, 1 / (2 * n)).abs()[:, None] <= k) & (torch.arange(n + 1) <= k)
    cut = lambda f: torch.fft.irfft2(torch.fft.rfft2(f) * low, s=f.shape)  # noqa: E731
    u, v = cut(u), cut(v)
    exact = cut(u * v)
    assert torch.allclose(Fourier(grid, u).product(u[::2, ::2], v[::2, ::2]), exact[::2, ::2], atol=1e-12)


def test_inverse_laplacian_undoes_the_laplacian():
    grid = grid_of((20, 24), "periodic")
    u = torch.randn(3, 20, 24, dtype=torch.float64)
    d = Fourier(grid, u)
    zero_mean = u - u.mean((-2, -1), keepdim=True)
    assert torch.allclose(d.inverse_laplacian(d(u, "xx") + d(u, "yy")), zero_mean, atol=1e-10)


def test_odd_derivative_of_the_nyquist_mode_vanishes():
    grid = grid_of((8, 8), "periodic")
    u = torch.cos(torch.pi * torch.arange(8, dtype=torch.float64))[:, None].expand(8, 8)
    assert Fourier(grid, u)(u, "x").abs().max() < 1e-12


def test_the_boundary_chooses_the_derivative():
    u = torch.zeros(8, 8)
    assert isinstance(on_grid(grid_of((8, 8), "periodic"), u), Fourier)
    assert isinstance(on_grid(grid_of((8, 8), "absorbing"), u), CentralDifference)
    assert isinstance(on_grid(grid_of((8, 8), "dirichlet"), u), CentralDifference)


def test_bad_requests_are_named():
    with pytest.raises(ValueError, match="expected x, y, xx or yy, got 'xy'"):
        CentralDifference(grid_of((8, 8), "absorbing"), torch.zeros(1))(torch.zeros(8, 8), "xy")
    with pytest.raises(ValueError, match=r"expected \(N, 3\) with requires_grad, got \(5, 2\)"):
        Autograd(torch.zeros(5, 2))


def test_autograd_of_linear_and_constant_fields():
    points = torch.rand(5, 3, requires_grad=True)
    d = Autograd(points)
    assert torch.equal(d(3 * points[:, 1], "x"), torch.full((5,), 3.0))
    assert torch.equal(d(3 * points[:, 1], "xx"), torch.zeros(5))
    assert torch.equal(d(torch.ones(5), "t"), torch.zeros(5))
