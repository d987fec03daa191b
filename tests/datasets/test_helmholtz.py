"""Helmholtz: the five-point equation, its order, its edges, its spread, its symmetry."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from benchmark.core import Grid
from datasets.helmholtz import Helmholtz, HelmholtzEquation
from tests.autograd import Autograd
from tests.datasets.physics import make, orders

F64 = torch.float64


def nodes(n: int) -> Grid:
    return Grid((n, n), (1.0, 1.0), (0.0, 1.0), "dirichlet")


def respond(a: Tensor, k: float = 1.0) -> Tensor:
    """a (B, N, N) -> u (B, N, N)."""
    return HelmholtzEquation(k).solve(a[..., None], None, nodes(a.shape[-1]))[:, 1, ..., 0]


@pytest.mark.parametrize("resolution", [16, 20, 128])
def test_five_point_equation_holds(resolution):
    dataset = make(Helmholtz, "paper", sizes={"resolution": resolution})
    video, _ = dataset.generate("train", range(4), 2, dtype=F64)
    a, u = video[..., 0].unbind(1)
    h = 1 / (resolution - 1)
    around = u[:, 2:, 1:-1] + u[:, :-2, 1:-1] + u[:, 1:-1, 2:] + u[:, 1:-1, :-2]
    inner = u[:, 1:-1, 1:-1]
    residual = (around - 4 * inner) / h**2 + inner - a[:, 1:-1, 1:-1]
    assert residual.norm() / a.norm() < 1e-9
    assert dataset.equation().relative_residual(video, None, dataset.grid(2)).max() < 1e-9


def manufactured_error(n: int) -> float:
    """u = sin(pi x) sin(2 pi y), a = (1 - 5 pi^2) u."""
    x, y = nodes(n).axes(F64)
    u = torch.sin(torch.pi * x) * torch.sin(2 * torch.pi * y)
    return (respond((1 - 5 * torch.pi**2) * u[None])[0] - u).abs().max().item()


def test_order_two_on_the_manufactured_solution():
    errors = [manufactured_error(n) for n in (17, 33, 65, 129)]
    assert all(1.95 < p < 2.05 for p in orders(errors))
    assert errors == pytest.approx([1.1e-2, 2.8e-3, 7.0e-4, 1.7e-4], rel=0.05)


def test_residual_of_the_exact_solution_shrinks_with_order_two():
    residuals = []
    for n in (17, 33, 65):
        x, y = nodes(n).axes(F64)
        u = torch.sin(torch.pi * x) * torch.sin(2 * torch.pi * y)
        video = torch.stack([(1 - 5 * torch.pi**2) * u, u])[None, ..., None]
        residuals.append(HelmholtzEquation().relative_residual(video, None, nodes(n)).item())
    assert all(1.9 < p < 2.1 for p in orders(residuals))


def test_residual_has_the_right_sign():
    dataset = make(Helmholtz)
    video, _ = dataset.generate("train", range(2), 2, dtype=F64)
    assert (
        dataset.equation().relative_residual(video * torch.tensor([1, -1])[:, None, None, None], None, dataset.grid(2))
        > 0.9
    ).all()


def test_edges_are_zero():
    video, _ = make(Helmholtz).generate("train", range(3), 2)
    assert (video[..., [0, -1], :, :] == 0).all() and (video[..., [0, -1], :] == 0).all()


def test_published_spread():
    video, _ = make(Helmholtz, "paper").generate("train", range(400), 2)
    assert video[:, 0].std().item() == pytest.approx(0.284, rel=0.03)
    assert video[:, 1].std().item() == pytest.approx(0.00428, rel=0.06)
    assert video[:, 1].mean().abs() < 5e-4


@pytest.mark.parametrize(("resolution", "spread"), [(64, 0.274), (32, 0.265)])
def test_spread_on_coarse_grids(resolution, spread):
    video, _ = make(Helmholtz, "paper", sizes={"resolution": resolution}).generate("train", range(4000), 2)
    assert video[:, 0].std().item() == pytest.approx(spread, rel=0.03)


def test_response_is_linear_and_symmetric():
    a, b = torch.randn(2, 1, 20, 20, dtype=F64)
    assert torch.allclose(respond(2 * a - 3 * b), 2 * respond(a) - 3 * respond(b), atol=1e-13)
    inner = (slice(None), slice(1, -1), slice(1, -1))
    assert torch.allclose((respond(a)[inner] * b[inner]).sum(), (respond(b)[inner] * a[inner]).sum(), atol=1e-12)
    assert torch.allclose(respond(a.mT), respond(a).mT, atol=1e-13)
    assert torch.allclose(respond(a.flip(-1)), respond(a).flip(-1), atol=1e-13)


def test_pointwise_form_agrees_with_the_exact_solution():
    points = torch.rand(40, 3, dtype=F64, requires_grad=True)
    _, x, y = points.unbind(1)
    u = torch.sin(torch.pi * x) * torch.sin(2 * torch.pi * y)
    residual = HelmholtzEquation().pointwise({"u": u, "a": (1 - 5 * torch.pi**2) * u}, None, Autograd(points))
    assert residual["equation"].abs().max() < 1e-11


def test_two_frames_only():
    with pytest.raises(ValueError, match="expected 2 frames"):
        make(Helmholtz).grid(3)
