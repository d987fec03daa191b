"""Kolmogorov flow: laminar state, budget, order in time, stationary spread, runs and clips."""

from __future__ import annotations

import pytest
import torch

from benchmark.core import keyed_generator
from benchmark.core.operators import Fourier
from datasets.kolmogorov import Kolmogorov
from datasets.random_fields import periodic_modes
from tests.datasets.physics import make, orders, relative

F64 = torch.float64


def turbulent(resolution: int = 32, reynolds: float = 40.0, **changes: object) -> Kolmogorov:
    physics = {"wavenumber": 4, "max_dt": None, "burn_in": 4.0, "frame_dt": 1 / 16} | changes
    return make(Kolmogorov, "laptop", sizes={"resolution": resolution}, reynolds=reynolds, **physics)


def test_laminar_state_is_a_fixed_point():
    """w* = -4 cos 4y / (16/Re + 0.1): viscosity and drag balance the force, and v . grad w vanishes."""
    dataset = make(Kolmogorov, "paper", sizes={"resolution": 64})
    grid = dataset.grid(9)
    y = grid.axes(F64)[1]
    w0 = (-4 * torch.cos(4 * y) / (16 / 1000 + 0.1)).expand(1, 64, 64)[..., None]
    w = dataset.equation().solve(w0, None, grid)
    assert relative(w[:, -1], w0) < 1e-9
    assert dataset.equation().relative_residual(w, None, grid).max() < 1e-9


def test_laminar_state_is_reached_from_rest_at_low_reynolds_number():
    dataset = make(Kolmogorov, "smoke", reynolds=1.0, wavenumber=4, max_dt=None)
    flow = dataset.equation().flow(16, F64, "cpu")
    w = flow.field(flow.advance(flow.modes(torch.zeros(1, 16, 16, dtype=F64)), 3.0, 1 / 128))
    y = dataset.grid(2).axes(F64)[1]
    assert relative(w[0], (-4 * torch.cos(4 * y) / 16.1).expand(16, 16)) < 1e-6


def test_enstrophy_budget():
    """d/dt <w^2>/2 = -<|grad w|^2>/Re - 0.1 <w^2> + <f w>, by Simpson's rule over 32 frames."""
    dataset = turbulent(frame_dt=1 / 64)
    grid = dataset.grid(33)
    w = dataset.generate("train", range(4), 33, dtype=F64)[0][..., 0]
    equation, d = dataset.equation(), Fourier(grid, w)
    parts = torch.stack(
        [
            -equation.nu * (d(w, "x").square() + d(w, "y").square()).mean((-2, -1)),
            -equation.drag * w.square().mean((-2, -1)),
            (equation.forcing(d.x, d.y) * w).mean((-2, -1)),
        ]
    )  # (3, B, T)
    weights = torch.tensor([1.0] + [4.0, 2.0] * 15 + [4.0, 1.0], dtype=F64) * grid.dt / 3
    change = (w[:, -1].square() - w[:, 0].square()).mean((-2, -1)) / 2
    integrals = (parts * weights).sum(-1)  # (3, B)
    assert ((change - integrals.sum(0)).abs() / integrals.abs().sum(0)).max() < 1e-3


def test_order_four_in_the_time_step():
    dataset = turbulent(64, 200.0)
    w0 = dataset.generate("train", range(1), 2, dtype=F64)[0][:, 0, ..., 0]
    flow = dataset.equation().flow(64, F64, "cpu")
    exact = flow.solve(w0, (0.0, 0.25), 1 / 1024)[:, -1]
    errors = [relative(flow.solve(w0, (0.0, 0.25), dt)[:, -1], exact) for dt in (1 / 64, 1 / 128, 1 / 256)]
    assert all(3.6 < p < 4.4 for p in orders(errors)), errors
    assert errors[0] < 1e-3


@pytest.mark.slow
def test_stationary_spread_at_reynolds_1000():
    """Ten units after a burn-in of eight, at 128^2."""
    dataset = make(Kolmogorov, "paper", sizes={"resolution": 128}, burn_in=8.0, frame_dt=0.5)
    w, _ = dataset.generate("train", range(6), 21)
    assert w.std().item() == pytest.approx(4.66, abs=0.25)
    assert w.mean().abs() < 1e-4
    assert 10 < w.abs().max() < 40
    ring = enstrophy_by_wavenumber(w[..., 0])
    assert ring.argmax() == 4


@pytest.mark.parametrize(("resolution", "reynolds", "spread"), [(32, 100.0, 3.65), (64, 200.0, 3.99)])
def test_stationary_spread_of_small_grids(resolution, reynolds, spread):
    """Means over long runs."""
    dataset = make(Kolmogorov, "paper", sizes={"resolution": resolution}, reynolds=reynolds, frame_dt=0.25)
    w, _ = dataset.generate("train", range(16), 21)
    assert w.std().item() == pytest.approx(spread, rel=0.06)


def enstrophy_by_wavenumber(w: torch.Tensor) -> torch.Tensor:
    n = w.shape[-1]
    k = torch.fft.fftfreq(n, 1 / n)
    shell = (k[:, None] ** 2 + k**2).sqrt().round().long().flatten()
    power = torch.fft.fft2(w).abs().square().mean((0, 1)).flatten()
    return torch.zeros(n).index_add(0, shell.clamp(max=n - 1), power.to(torch.float32))


def test_residual_of_a_solution_shrinks_with_order_two():
    residuals = []
    for rate in (64, 128, 256):
        dataset = turbulent(frame_dt=1 / rate)
        w, _ = dataset.generate("train", range(2), 9, dtype=F64)
        residuals.append(dataset.equation().relative_residual(w, None, dataset.grid(9)).max().item())
    assert all(1.8 < p < 2.2 for p in orders(residuals)), residuals
    assert residuals[-1] < 1e-3


@pytest.mark.parametrize("burn_in", [0.25, 0.75])
def test_coarse_burn_in_ends_in_the_same_flow(burn_in):
    """Half the grid resolves Re = 40 at 64^2; a burn-in shorter than its coarse part is never run backwards."""
    changes = {"sizes": {"resolution": 64}, "reynolds": 40.0, "burn_in": burn_in, "frame_dt": 0.25}
    coarse = make(Kolmogorov, "paper", coarse=0.5, **changes)
    w, _ = coarse.generate("train", range(2), 3)
    assert w.isfinite().all()
    start = periodic_modes(10, 2.5, 7.0, 1.0, keyed_generator("kolmogorov", coarse.settings.seed, "train", 0))[None].to(
        torch.complex128
    )
    flow = coarse.equation().flow(64, F64, "cpu")
    fine = flow.advance(torch.nn.functional.pad(start, [11] * 4), burn_in, 1 / 64)
    assert relative(w[:1, 0, ..., 0].double(), flow.field(fine)) < 0.1


@pytest.mark.parametrize(("resolution", "reynolds"), [(50, 10.0), (32, 1000.0), (16, 10.0)])
def test_no_coarse_burn_in_where_half_the_grid_is_too_coarse(resolution, reynolds):
    changes = {"sizes": {"resolution": resolution}, "reynolds": reynolds, "burn_in": 0.5}
    a, b = (make(Kolmogorov, "paper", coarse=c, **changes).generate("train", [0], 2)[0] for c in (0.25, 0.0))
    assert torch.equal(a, b)


def test_force_varies_along_the_last_axis():
    dataset = make(Kolmogorov, wavenumber=4)
    x, y = dataset.grid(4).axes(F64)
    force = dataset.equation().forcing(x, y)
    assert force.shape == (16, 16)
    assert torch.equal(force[0], force[7])
    assert force[0, 0] == -4 and torch.allclose(force[0], -4 * torch.cos(4 * y[0]))


def test_training_runs_hold_the_clips_of_one_run_each():
    dataset = make(Kolmogorov, "paper")
    layout = dataset.layout("train")
    assert (layout.runs, layout.frames, layout.stride) == (36, 320, 1)
    assert layout.clips(20) == 301
    assert dataset.layout("test").frames == 100
    with pytest.raises(ValueError, match="expected a multiple of clips_per_run = 301, got 300"):
        make(Kolmogorov, "paper", sizes={"train": 300}).layout("train")


def test_grid_too_coarse_for_the_force():
    with pytest.raises(ValueError, match="a force of wavenumber 4 needs a resolution above 12, got 12"):
        make(Kolmogorov, sizes={"resolution": 12}, wavenumber=4).equation()
