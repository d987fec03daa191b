"""The vorticity solver against exact solutions, invariants and a second form of the advection term."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from benchmark.core import Grid
from benchmark.core.operators import Fourier
from datasets.vorticity import VorticityFlow
from tests.datasets.physics import orders, relative

F64 = torch.float64


def smooth_vorticity(n: int, batch: int = 2, seed: int = 0) -> Tensor:
    """A random field (B, N, N) of wavenumbers up to 3, on the unit torus."""
    g = torch.Generator().manual_seed(seed)
    x = 2 * torch.pi * torch.arange(n, dtype=F64) / n
    phases, amplitudes = torch.rand(2, batch, 3, 3, generator=g, dtype=F64)
    k = torch.arange(1, 4, dtype=F64)
    waves = torch.cos(
        k[:, None, None, None] * x[:, None] + k[None, :, None, None] * x + 7 * phases[..., None, None]
    )  # (B, 3, 3, N, N)
    return (amplitudes[..., None, None] * waves).sum((1, 2))


@pytest.mark.parametrize("n", [16, 20, 32, 48])
def test_the_two_forms_of_advection_agree(n):
    """-v . grad w by the z^2 form against psi_y w_x - psi_x w_y by Fourier derivatives."""
    flow = VorticityFlow(n, 1.0, nu=0.0, dtype=F64)
    w = flow.field(flow.modes(torch.randn(2, n, n, generator=torch.Generator().manual_seed(n), dtype=F64)))
    d = Fourier(Grid((n, n), (1.0, 1.0), (0.0, 1.0), "periodic"), w)
    psi = -d.inverse_laplacian(w)
    expected = -(d.product(d(psi, "y"), d(w, "x")) - d.product(d(psi, "x"), d(w, "y")))
    got = flow.field(torch.view_as_complex(flow.tendency(flow.modes(w))))
    assert relative(got, expected) < 1e-12


def test_modes_and_field_are_inverse_and_cut_above_a_third():
    flow = VorticityFlow(24, 1.0, nu=0.0, dtype=F64)
    w = smooth_vorticity(24)
    assert torch.allclose(flow.field(flow.modes(w)), w, atol=1e-13)
    x = torch.arange(24, dtype=F64) / 24
    assert flow.field(flow.modes(torch.cos(2 * torch.pi * 8 * x).expand(1, 24, 24))).abs().max() < 1e-13


@pytest.mark.parametrize(("dtype", "bound"), [(F64, 1e-9), (torch.float32, 5e-6)])
def test_taylor_green_decays_exactly(dtype, bound):
    n, nu, k = 64, 1e-3, 2
    x = 2 * torch.pi * k * torch.arange(n, dtype=F64) / n
    w0 = (2 * torch.cos(x)[:, None] * torch.cos(x)).to(dtype)[None]
    w = VorticityFlow(n, 1.0, nu, dtype=dtype).solve(w0, (0.0, 0.5, 1.0), 0.05)
    for frame, t in enumerate((0.0, 0.5, 1.0)):
        exact = w0 * torch.exp(torch.tensor(-2 * nu * (2 * torch.pi * k) ** 2 * t, dtype=dtype))
        assert relative(w[:, frame], exact) < bound


def energy_and_enstrophy(w: Tensor) -> Tensor:
    d = Fourier(Grid(tuple(w.shape[-2:]), (1.0, 1.0), (0.0, 1.0), "periodic"), w)
    psi = -d.inverse_laplacian(w)
    return torch.stack([(psi * w).mean((-2, -1)) / 2, (w * w).mean((-2, -1)) / 2])  # (2, B)


@pytest.mark.parametrize("n", [32, 48])
def test_energy_and_enstrophy_are_conserved_without_viscosity(n):
    """Exact in space (no aliases), so that the drift is the time scheme's alone: at least order 4."""
    flow, w0 = VorticityFlow(n, 1.0, nu=0.0, dtype=F64), smooth_vorticity(n)
    drifts = []
    for dt in (0.02, 0.01):
        start, end = (energy_and_enstrophy(w) for w in flow.solve(w0, (0.0, 0.5), dt).unbind(1))
        drifts.append(((end - start) / start).abs().amax(1))
    assert (drifts[1] < 1e-7).all()
    assert (torch.log2(drifts[0] / drifts[1]) > 3.7).all()


def test_mean_vorticity_stays_zero():
    flow = VorticityFlow(32, 1.0, 1e-3, forcing=lambda x, y: torch.sin(2 * torch.pi * (x + y)), dtype=F64)
    w = flow.solve(smooth_vorticity(32), (0.0, 1.0), 0.05)
    assert w.mean((-2, -1)).abs().max() < 1e-14


def test_the_scheme_has_order_four():
    flow = VorticityFlow(32, 1.0, 1e-3, 0.1, lambda x, y: torch.sin(2 * torch.pi * (x + y)), dtype=F64)
    w0 = 3 * smooth_vorticity(32)
    exact = flow.solve(w0, (0.0, 0.5), 1 / 512)[:, -1]
    errors = [relative(flow.solve(w0, (0.0, 0.5), dt)[:, -1], exact) for dt in (1 / 16, 1 / 32, 1 / 64)]
    assert all(3.7 < p < 4.4 for p in orders(errors)), errors


def test_uneven_frames_end_in_the_same_state():
    flow, w0 = VorticityFlow(32, 1.0, 1e-3, dtype=F64), smooth_vorticity(32)
    direct = flow.solve(w0, (0.0, 0.3), 0.01)[:, -1]
    assert relative(flow.solve(w0, (0.0, 0.1, 0.15, 0.3), 0.01)[:, -1], direct) < 1e-12


@pytest.mark.parametrize("n", [6, 33])
def test_odd_or_small_grid(n):
    with pytest.raises(ValueError, match=f"expected an even number of points, 8 or more, got {n}"):
        VorticityFlow(n, 1.0, 1e-3)
