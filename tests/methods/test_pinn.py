"""The parts of the PINN against automatic differentiation, and the whole against exact solutions of every equation."""

from dataclasses import replace
from math import pi

import pytest
import torch
from torch import Tensor

from benchmark.core import Grid, Problem
from benchmark.planning.registry import registry
from methods.blocks.networks.deepxde import fnn
from methods.pinn.jets import Axes, tanh
from methods.pinn.method import PINN, SMOKE, Settings, make_answer
from methods.pinn.network import evaluate, start
from methods.pinn.optimise import Schedule
from methods.pinn.points import Points, Sampling
from methods.pinn.residuals import Lookup, axes_of, squared_speed
from tasks import observation as tasks
from tests.autograd import Autograd
from tests.methods.small import generators, load

KNOWN = registry()
DATASETS = ("navier_stokes", "kolmogorov", "allen_cahn", "wave_layer", "helmholtz")
QUICK = replace(SMOKE, schedule=Schedule(adam=5, lr=1e-2, lbfgs=5))


def dataset(name):
    cls = KNOWN.load("datasets", name)
    return cls(cls.profiles["smoke"])


def problem(name, task, count=2):
    return KNOWN.load("tasks", task).observe(load(dataset(name), "valid")[:count], generators(count))


def some_weights(answer, seed=0):
    """Of two networks, with a last layer that is not zero."""
    weights = start(answer.sizes, 2, seed)
    return weights + 0.1 * torch.randn(weights.shape[1], generator=torch.Generator().manual_seed(seed))


def relative(a: Tensor, b: Tensor) -> float:
    return float((a - b).norm() / b.norm())


def test_tanh_of_a_jet_has_the_right_gradient():
    axes = Axes.of({"t", "x", "xx", "yy"})
    z = torch.randn(2, len(axes), 3, 4, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z, bias: tanh(z, bias, axes), (z, bias))


def test_a_jet_holds_the_derivatives_of_its_network():
    """deepxde's own network, differentiated by torch at (t, x, y), against one forward pass."""
    network, weights = fnn([3, 8, 8, 2], "tanh", seed=0), start([3, 8, 8, 2], 1, seed=0)
    last = network.linears[-1].weight.detach().T.flatten()
    weights[:, -len(last) - 2 : -2] = last  # an answer starts without its last layer
    points = torch.rand(5, 3, requires_grad=True)
    u, d = network(points)[:, 1], Autograd(points)
    axes = Axes.of({"tt", "xx", "yy", "t", "x", "y"})
    features = torch.zeros(1, len(axes), 5, 3)
    features[:, 0] = points.detach()
    for i in range(3):
        features[:, 1 + i, :, i] = 1  # d(t, x, y) / dt, dx, dy
    jet = evaluate(weights, [3, 8, 8, 2], features, axes)[0, :, :, 1]
    for name, row in zip(axes.names, jet, strict=True):
        torch.testing.assert_close(row, d(u, name), rtol=1e-4, atol=1e-5)


def test_only_pure_second_derivatives_are_carried():
    assert Axes.of({"t", "xx", "yy", "x"}).names == ("", "t", "x", "y", "xx", "yy")
    with pytest.raises(ValueError, match="xy"):
        Axes.of({"xy"})


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("task", ["fwd_full", "cont_3"])
def test_jets_of_an_answer_agree_with_differences_in_time_and_space(name, task):
    """On the sites of the grid, of a smooth answer: second-order differences are close, and closer than any slip."""
    p = problem(name, task)
    answer = make_answer(p, replace(SMOKE, waves=1))
    axes, weights = answer.features.axes, some_weights(answer, 0)
    h, w = p.grid.shape
    site = torch.arange(h * w)[None]
    t, step = 0.4 * p.grid.times[-1], 1e-2 * p.grid.times[-1]
    at = [answer.jets(weights, Points(site, torch.full((1, h * w), t + k * step))) for k in (-1, 0, 1)]
    change = at[1] - answer.ansatz.base[:, : len(axes)]  # of what the network adds: known frames may be rough
    video = change.view(2, len(axes), h, w, -1)
    inner = (slice(None), slice(2, -2), slice(2, -2))
    rows = dict(zip(axes.names, video.unbind(1), strict=True))
    for name_, dim, spacing in (("x", 1, p.grid.spacing[0]), ("y", 2, p.grid.spacing[1])):
        slope = torch.gradient(rows[""], spacing=spacing, dim=dim)[0]
        assert relative(slope[inner], rows[name_][inner]) < 0.1
        curve = torch.gradient(slope, spacing=spacing, dim=dim)[0]
        assert relative(curve[inner], rows[2 * name_][inner]) < 0.25
    if "t" in rows:
        row = axes.names.index("t")
        assert relative((at[2] - at[0])[:, 0] / (2 * step), at[1][:, row]) < 1e-2


@pytest.mark.parametrize("name", ["navier_stokes", "kolmogorov", "allen_cahn", "wave_layer"])
@pytest.mark.parametrize("task, frame", [("fwd_full", 0), ("inv_full", -1)])
def test_an_answer_passes_through_a_frame_seen_in_full(name, task, frame):
    p = problem(name, task)
    answer = make_answer(p, SMOKE)
    site = torch.arange(p.grid.shape[0] * p.grid.shape[1])[None]
    points = Points(site, torch.full(site.shape, p.grid.times[frame]))
    u = answer.values(some_weights(answer, 1), points)[..., 0]
    torch.testing.assert_close(u, p.values[:, frame].flatten(1), rtol=1e-4, atol=1e-4)


def test_a_wave_starts_from_rest():
    p = problem("wave_layer", "cont_3")
    answer = make_answer(p, SMOKE)
    jet = answer.jets(some_weights(answer, 1), Points(torch.arange(9)[None], torch.zeros(1, 9)))
    assert (jet[:, answer.features.axes.names.index("t")] == 0).all()


def test_an_answer_is_periodic_where_the_domain_is():
    p = problem("navier_stokes", "cont_3")
    answer = make_answer(p, SMOKE)
    names, (h, w) = answer.features.axes.names, p.grid.shape
    jet = answer.jets(some_weights(answer, 1), Points(torch.arange(h * w)[None], torch.full((1, h * w), 0.3)))
    u, slope = (jet[:, names.index(name), :, 0].view(2, h, w) for name in ("", "x"))
    around = (u.roll(-1, 1) - u.roll(1, 1)) / (2 * p.grid.spacing[0])  # central differences, across the edge too
    assert relative(around, slope) < 0.1
    assert (slope.mean(1).abs() < 1e-3 * slope.abs().max()).all()  # u comes back to where it was


def test_the_speed_of_waves_is_read_off_the_equation():
    p = problem("wave_layer", "fwd_full")
    static = p.static.flatten(1, 2)
    found = squared_speed(p.equation, static, (2, static.shape[1]))
    torch.testing.assert_close(found, (p.equation.factor * static[..., 0]) ** 2)


def test_an_equation_may_only_differentiate_its_unknowns():
    axes = Axes.of({"x"})
    d = Lookup({"u": torch.ones(1, 2, 3)}, axes, torch.zeros(1, 3), torch.zeros(1, 3), None)
    assert torch.equal(d(d.fields["u"], "x"), torch.ones(1, 3))
    with pytest.raises(ValueError, match="unknowns"):
        d(2 * d.fields["u"], "x")


def test_axes_come_from_the_equation():
    p = problem("wave_layer", "fwd_full")
    assert axes_of(p.equation, p.static).names == ("", "t", "x", "y", "tt", "xx", "yy")
    assert axes_of(dataset("helmholtz").equation(), None).names == ("", "x", "y", "xx", "yy")


BATCHED = [
    ("navier_stokes", "cont_3"),
    ("allen_cahn", "cont_1"),
    ("wave_layer", "inv_full"),
    ("helmholtz", "fwd_partial"),
]


@pytest.mark.parametrize("name, task", BATCHED)
def test_an_instance_does_not_depend_on_its_batch(name, task):
    p = problem(name, task, count=4)
    together = PINN(QUICK).predict(p, 0).u
    for part in (slice(0, 1), slice(1, 3)):
        assert torch.equal(PINN(QUICK).predict(p[part], 0).u, together[:, part])
    chunked = PINN(replace(QUICK, chunk=2)).predict(p, 0).u
    assert torch.equal(chunked, together)


def test_the_seed_matters_and_evaluations_are_counted():
    p = problem("navier_stokes", "cont_3")
    a, b = (PINN(QUICK).predict(p, seed) for seed in (0, 1))
    assert not torch.equal(a.u, b.u)
    assert a.evaluations is not None and a.evaluations > 10


def test_a_network_is_counted_once_it_is_there():
    pinn = PINN(QUICK)
    pinn.predict(problem("navier_stokes", "cont_3"), 0)
    answer = make_answer(problem("navier_stokes", "cont_3"), QUICK)
    assert pinn.cost()["parameters"] == start(answer.sizes, 1, 0).numel() > QUICK.width**2


def test_noisy_observations_are_not_kept():
    p = problem("navier_stokes", "fwd_full")
    u = PINN(replace(QUICK, exact=False)).predict(p, 0).u[0]
    assert not torch.equal(u[:, 0], p.values[:, 0])


def test_task_options_it_cannot_serve_are_refused():
    pinn, data = PINN(QUICK), dataset("navier_stokes")
    assert pinn.unsupported(tasks.CONT_3, data) is None
    assert "exact=false" in str(pinn.unsupported(replace(tasks.CONT_3, noise=0.1), data))
    assert PINN(replace(QUICK, exact=False)).unsupported(replace(tasks.CONT_3, noise=0.1), data) is None
    assert "roll_out" in str(pinn.unsupported(replace(tasks.LONG_RANGE, roll_out="keep"), data))


# Exact solutions, a quarter of whose sites is seen at all frames (or both fields of the steady problem).
DENSE = Settings(24, 2, 2, 2.0, Sampling(1, 3, 512), Schedule(adam=100, lr=1e-2, lbfgs=400), weight=10.0)


def taylor_green():
    """A mode of the Laplacian is not moved by its own flow: it decays at the rate nu |k|^2 (forcing off)."""
    equation = replace(dataset("navier_stokes").equation(), amplitude=0.0, nu=0.01)
    grid = Grid((16, 16), (1.0, 1.0), tuple(0.25 * i for i in range(5)), "periodic")
    x, y = grid.axes()
    t = torch.tensor(grid.times)[:, None, None]
    return equation, grid, torch.sin(2 * pi * x) * torch.sin(2 * pi * y) * torch.exp(-0.01 * 8 * pi**2 * t), None


def kolmogorov_laminar():
    """A shear flow at the forced wavenumber relaxes to -n cos(n y) / (nu n^2 + drag)."""
    equation = dataset("kolmogorov").equation()
    n, rate = equation.wavenumber, equation.nu * equation.wavenumber**2 + equation.drag
    grid = Grid((16, 16), (2 * pi, 2 * pi), tuple(1.0 * i for i in range(5)), "periodic")
    _, y = grid.axes()
    t = torch.tensor(grid.times)[:, None, None]
    size = n / rate * (1 - torch.exp(-rate * t)) + torch.exp(-rate * t)
    return equation, grid, -size * torch.cos(n * y) * torch.ones(16, 1), None


def allen_cahn_decay():
    """A uniform state: u_t = g2 u (1 - u^2) has u = (1 + c exp(-2 g2 t))^-1/2."""
    equation = dataset("allen_cahn").equation()
    grid = Grid((16, 16), (1.0, 1.0), tuple(i * 0.5 / equation.g2 for i in range(5)), "periodic")
    t = torch.tensor(grid.times)[:, None, None]
    return equation, grid, (1 + 20 * torch.exp(-2 * equation.g2 * t)) ** -0.5 * torch.ones(16, 16), None


def ring_wave():
    """A Gaussian pulse at rest spreads as sum_k exp(-k^2 s^2 / 2) s^2 k J0(k r) cos(c k t) dk, short of the walls."""
    equation = dataset("wave_layer").equation()
    grid = Grid((16, 16), (1.0, 1.0), tuple(0.04 * i for i in range(5)), "absorbing")
    x, y = grid.axes(torch.float64)
    static = torch.full((2, 16, 16, 1), 4000.0)
    k = torch.linspace(0, 60, 600, dtype=torch.float64)[:, None, None, None]
    t = torch.tensor(grid.times, dtype=torch.float64)[:, None, None]
    r = ((x - 0.5) ** 2 + (y - 0.5) ** 2).sqrt()
    modes = torch.exp(-((0.12 * k) ** 2) / 2) * 0.12**2 * k * torch.special.bessel_j0(k * r)
    return equation, grid, (modes * torch.cos(4000 * equation.factor * k * t)).sum(0) * 60 / 599, static


def helmholtz_sine():
    """a = (k^2 - 2 pi^2 m^2) u for a sine mode."""
    equation = dataset("helmholtz").equation()
    grid = Grid((17, 17), (1.0, 1.0), (0.0, 1.0), "dirichlet")
    x, y = grid.axes()
    u = torch.sin(pi * x) * torch.sin(2 * pi * y)
    return equation, grid, torch.stack([(equation.k**2 - 5 * pi**2) * u, u]), None


SHARPER = replace(DENSE, waves=3, weight=100.0)  # for a front: a wall that lets it out is only nearly a free space


@pytest.mark.parametrize(
    "exact, settings",
    [
        (taylor_green, DENSE),
        (kolmogorov_laminar, DENSE),
        (allen_cahn_decay, DENSE),
        (ring_wave, SHARPER),
        (helmholtz_sine, DENSE),
    ],
)
def test_an_exact_solution_is_recovered_from_dense_observations(exact, settings):
    equation, grid, u, static = exact()
    u = u[None, ..., None].repeat(2, 1, 1, 1, 1).float()
    seen = torch.rand(1, 1, *grid.shape, 1, generator=torch.Generator().manual_seed(0)) < 0.25
    p = Problem(torch.where(seen, u, 0), seen.expand_as(u).clone(), grid, equation, static)
    found = PINN(settings).predict(p, 0).u[0]
    for frame in range(len(grid.times)) if equation.time_order == 0 else [slice(None)]:
        hidden = ~p.mask[:, frame]
        assert relative(found[:, frame][hidden], u[:, frame][hidden]) < 0.02
