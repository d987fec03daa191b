"""Waves: free space, walls, layers and energy, each against what theory says."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from benchmark.core import Grid
from benchmark.core.operators import CentralDifference
from datasets.wave_layer import WaveLayer, WaveLayerEquation, leapfrog
from tests.autograd import Autograd
from tests.datasets.physics import make, orders, relative

F64 = torch.float64
UNIT = WaveLayerEquation(factor=1.0, max_speed=1.0)  # c is the speed itself


def cells(n: int, times: tuple[float, ...]) -> Grid:
    return Grid((n, n), (1.0, 1.0), times, "absorbing")


def gaussian(grid: Grid, sigma: float, centre: tuple[float, float] = (0.5, 0.5)) -> Tensor:
    x, y = grid.axes(F64)
    return torch.exp(-((x - centre[0]) ** 2 + (y - centre[1]) ** 2) / (2 * sigma**2))[None, ..., None]  # (1, N, N, 1)


def free_space(grid: Grid, sigma: float, t: float) -> Tensor:
    """cos(|k| t) applied to the Gaussian on a periodic box four times as wide, cut back to the unit square."""
    n, h = grid.shape[0], grid.spacing[0]
    z = (torch.arange(4 * n, dtype=F64) + 0.5) * h - 2.0  # centred
    u0 = torch.exp(-(z[:, None] ** 2 + z**2) / (2 * sigma**2))
    k = 2 * torch.pi * torch.fft.fftfreq(4 * n, h, dtype=F64)
    u = torch.fft.ifft2(torch.fft.fft2(u0) * torch.cos((k[:, None] ** 2 + k**2).sqrt() * t)).real
    middle = slice(3 * n // 2, 5 * n // 2)
    return u[middle, middle][None, ..., None]


def solve(grid: Grid, u0: Tensor, c: Tensor | float = 1.0) -> Tensor:
    return UNIT.solve(u0, torch.as_tensor(c, dtype=F64).expand_as(u0), grid)


def test_free_space_before_the_wall_with_order_two():
    errors = []
    for n in (32, 64, 128):
        grid = cells(n, (0.0, 0.1, 0.2))
        errors.append(relative(solve(grid, gaussian(grid, 0.06))[:, -1], free_space(grid, 0.06, 0.2)))
    assert all(1.85 < p < 2.15 for p in orders(errors)), errors
    assert errors[-1] < 4e-3


@pytest.mark.parametrize("n", [32, 64, 128])
def test_walls_send_at_most_two_percent_back(n):
    """At t = 1.2 the pulse has left: what differs from free space came back from the walls."""
    grid = cells(n, (0.0, 0.6, 1.2))
    back = solve(grid, gaussian(grid, 0.06))[:, -1] - free_space(grid, 0.06, 1.2)
    assert back.abs().max() < 0.02


@pytest.mark.parametrize(("c1", "c2"), [(1.0, 0.5), (0.5, 1.0)])
def test_reflection_and_transmission_at_a_layer(c1, c2):
    """A plane pulse at rest splits in halves; at the layer (c2-c1)/(c2+c1) of a half returns, 2 c2/(c1+c2) passes."""
    n, start, layer = 256, 0.4, 0.55
    grid = cells(n, (0.0, 0.15, 0.3) if c1 == 1 else (0.0, 0.2, 0.4))
    y = grid.axes(F64)[1][0]
    u0 = torch.exp(-((y - start) ** 2) / (2 * 0.02**2)).expand(1, n, n)[..., None]
    c = torch.where(y < layer, c1, c2).expand(1, n, n)[..., None]
    line = solve(grid, u0, c)[0, -1, n // 2, :, 0]  # the walls along x are not felt here yet
    t = grid.times[-1]
    after = t - (layer - start) / c1  # since the pulse met the layer
    reflected = line[(y - (layer - c1 * after)).abs() < 0.02]
    passed = line[(y - (layer + c2 * after)).abs() < 0.02]
    assert peak(reflected) / 0.5 == pytest.approx((c2 - c1) / (c2 + c1), abs=0.015)
    assert peak(passed) / 0.5 == pytest.approx(2 * c2 / (c1 + c2), abs=0.025)


def peak(values: Tensor) -> float:
    return values[values.abs().argmax()].item()


def energy(video: Tensor, courant: Tensor) -> Tensor:
    """The scheme's own energy between two steps, 1/2 sum (du/C)^2 + grad u . grad u+, of (B, T, N, N) -> (B, T-1)."""
    a, b = video[:, :-1], video[:, 1:]
    kinetic = ((b - a) / courant[:, None])[..., 1:-1, 1:-1].square().sum((-2, -1))
    along_x = (a.diff(dim=-2) * b.diff(dim=-2))[..., 1:-1].sum((-2, -1))
    along_y = (a.diff(dim=-1) * b.diff(dim=-1))[..., 1:-1, :].sum((-2, -1))
    return (kinetic + along_x + along_y) / 2


def layered_run(steps: int) -> tuple[Tensor, Tensor]:
    dataset = make(WaveLayer, "paper", sizes={"resolution": 64})
    u, c = dataset.generate("train", range(6), 2, dtype=F64)
    courant = dataset.equation().factor * c[..., 0] * 64 / 160  # eight steps a frame
    return leapfrog(u[:, 0, ..., 0], courant, 1, steps + 1), courant


def test_energy_never_grows():
    video, courant = layered_run(320)
    e = energy(video, courant)
    assert (e.diff(dim=1) <= 1e-12 * e[:, :1]).all()
    assert (e[:, -1] < 0.5 * e[:, 0]).all()  # the walls do absorb


def test_energy_is_constant_until_the_wall_is_met():
    """In a layered medium, so that the layers neither make nor eat energy."""
    grid = cells(64, (0.0, 1.0))
    y = grid.axes(F64)[1]
    courant = torch.where(y < 0.45, 0.2, 0.4).expand(1, 64, 64)
    e = energy(leapfrog(gaussian(grid, 0.04)[..., 0], courant, 1, 40), courant)
    assert (e / e[:, :1] - 1).abs().max() < 1e-6


def test_potential_energy_stays_below_the_initial_energy():
    """What can be checked on stored frames: from rest, 1/2 int |grad u|^2 never exceeds its first value."""
    dataset = make(WaveLayer, "paper", sizes={"resolution": 64})
    u = dataset.generate("valid", range(8), 20)[0][..., 0]
    potential = u.diff(dim=-1).square().sum((-2, -1)) + u.diff(dim=-2).square().sum((-2, -1))
    assert (potential <= potential[:, :1]).all()


def test_twice_the_steps_change_frames_by_little():
    u, c = make(WaveLayer, "paper").generate("train", range(2), 20)
    fine, _ = make(WaveLayer, "paper", courant=0.25).generate("train", range(2), 20)
    assert relative(u, fine) < 1e-2


@pytest.mark.parametrize("resolution", [64, 128])
def test_calibrated_mean_and_spread_are_in_the_published_band(resolution):
    u, c = make(WaveLayer, "paper", sizes={"resolution": resolution}).generate("train", range(96), 20)
    assert 0.02 < u.mean() < 0.05
    assert 0.09 < u.std() < 0.13
    assert c.mean().item() == pytest.approx(3500, rel=0.04)
    assert c.min() >= 2000 and c.max() <= 5000


def test_paper_variant_has_wider_pulses():
    u, _ = make(WaveLayer, "paper", sizes={"resolution": 32}, variant="paper").generate("train", range(64), 20)
    assert u.std().item() == pytest.approx(0.23, abs=0.04)


def test_pulses_and_layers_follow_the_settings():
    dataset = make(WaveLayer, "paper")
    for i in range(4):
        (u, c) = (field[0] for field in dataset.generate("valid", [i], 2))
        assert 0.9 < u[0].max() < 3
        assert 3 <= len(c.unique()) <= 6
        change = c[:, 1:, 0] != c[:, :-1, 0]
        assert (change.sum(1) == len(c.unique()) - 1).all()  # layers are stacked along y and never cross


def test_first_frame_setting_drops_the_initial_state():
    after = make(WaveLayer, first_frame=1)
    assert after.grid(4).times[0] == pytest.approx(0.25)
    u = after.generate("train", [0], 3)[0]
    assert relative(u, make(WaveLayer).generate("train", [0], 4)[0][:, 1:]) < 1e-6


def standing_wave(grid: Grid) -> Tensor:
    """cos(w t) cos(2 pi x) cos(pi y), w^2 = 5 pi^2 c^2, at c = 0.7."""
    x, y = grid.axes(F64)
    t = torch.tensor(grid.times, dtype=F64)[:, None, None]
    u = torch.cos(0.7 * 5**0.5 * torch.pi * t) * torch.cos(2 * torch.pi * x) * torch.cos(torch.pi * y)
    return u[None, ..., None]


def standing_residual(n: int, dt: float) -> float:
    grid = cells(n, tuple(dt * i for i in range(7)))
    c = torch.full((1, n, n, 1), 0.7, dtype=F64)
    return UNIT.relative_residual(standing_wave(grid), c, grid).item()


def test_residual_has_order_two_in_space_and_four_in_time():
    space = [standing_residual(n, 0.005) for n in (16, 32, 64)]
    assert all(1.9 < p < 2.1 for p in orders(space)), space
    time = [standing_residual(512, dt) for dt in (0.2, 0.1)]
    assert 3.7 < orders(time)[0] < 4.3, time


def test_residual_of_the_solver_shrinks_with_the_frame_spacing():
    residuals = []
    for frames in (6, 11):
        grid = cells(64, tuple(0.4 * i / (frames - 1) for i in range(frames)))
        u0 = gaussian(grid, 0.1)
        c = torch.ones_like(u0)
        residuals.append(UNIT.relative_residual(UNIT.solve(u0, c, grid), c, grid).item())
    assert residuals[0] > 8 * residuals[1]  # then the solver's own dispersion takes over
    assert residuals[1] < 1e-3


def test_residual_has_the_right_sign():
    """With the plus sign of the printed equation a true wave leaves a residual of order one."""
    grid = cells(32, tuple(0.005 * i for i in range(7)))
    c = torch.full((1, 32, 32, 1), 0.7, dtype=F64)
    terms = UNIT.terms(standing_wave(grid), c, grid)
    right = (terms["time"] + terms["laplacian"]).norm()
    wrong = (terms["time"] - terms["laplacian"]).norm()
    assert right < 0.01 * wrong


def test_pointwise_form_agrees_with_the_grid_form():
    points = torch.rand(40, 3, dtype=F64, requires_grad=True)
    t, x, y = points.unbind(1)
    u = torch.cos(0.7 * 5**0.5 * torch.pi * t) * torch.cos(2 * torch.pi * x) * torch.cos(torch.pi * y)
    c = torch.full((40, 1), 0.7, dtype=F64)
    assert UNIT.pointwise({"u": u}, c, Autograd(points))["equation"].abs().max() < 1e-10
    grid = cells(256, (0.1, 0.2))
    video = standing_wave(grid)[..., 0]
    static = torch.full((1, 1, 256, 256, 1), 0.7, dtype=F64)
    d = CentralDifference(grid, video)
    term = d.interior(UNIT.space_terms({"u": video}, static, d)["laplacian"])
    assert relative(term, d.interior(0.49 * 5 * torch.pi**2 * video)) < 1e-3


def test_speed_field_and_start_at_rest_are_required():
    grid = cells(16, (0.0, 0.1))
    with pytest.raises(ValueError, match="the speed field c is needed"):
        UNIT.solve(gaussian(grid, 0.1), None, grid)
    with pytest.raises(ValueError, match="the speed field c is needed"):
        UNIT.residual(torch.zeros(1, 3, 16, 16, 1), None, cells(16, (0.0, 0.1, 0.2)))
    with pytest.raises(ValueError, match="first frame must be at rest"):
        solve(cells(16, (0.1, 0.2)), gaussian(grid, 0.1))
