"""FunDPS: its noise, its weights and losses, and that the rest is DiffusionPDE's."""

from dataclasses import replace
from functools import cache

import pytest
import torch

from benchmark.core import Grid, Run
from benchmark.planning.registry import registry
from methods.blocks.diffusion.edm import evaluator, heun_step, karras_sigmas
from methods.blocks.diffusion.guidance import Guidance, sample_guided
from methods.fundps.method import SMOKE, FunDPS, Settings
from methods.fundps.noise import Noise, gaussian_field, spectrum
from tests.methods.small import generators, planned, smoke

QUICK = replace(SMOKE, training=replace(SMOKE.training, steps=2))


def grid(n=16, boundary="periodic"):
    return Grid((n, n), (1.0, 1.0), (0.0, 1.0), boundary)


def fields(noise, on, count=4000):
    draws = torch.Generator().manual_seed(0)
    n = on.shape[0]
    return gaussian_field(noise, on, (count, n, n, 1), lambda s: torch.randn(s, generator=draws))[..., 0]


@cache
def untrained(name):
    _, train, valid = smoke(name)
    return FunDPS(QUICK).fit(train, valid, [], 0, Run())


def problem(name, task):
    valid = smoke(name)[2]
    return registry().load("tasks", task).observe(valid, generators(len(valid)))


def with_settings(name, **changes):
    return FunDPS(replace(QUICK, **changes)).restore(untrained(name).state(), smoke(name)[1])


# -- noise


@pytest.mark.parametrize("kernel", ["exponential", "squared"])
@pytest.mark.parametrize("boundary", ["periodic", "dirichlet"])
def test_fields_have_the_covariance_of_the_kernel(kernel, boundary):
    noise = Noise(kernel, length=0.2, nugget=0.01)
    x = fields(noise, grid(boundary=boundary))
    for dx, dy in ((0, 1), (2, 1), (0, 15)):
        across = min(dy, 16 - dy) if boundary == "periodic" else dy
        d = (dx**2 + across**2) ** 0.5 / 16
        expected = torch.tensor(-(d if kernel == "exponential" else d**2) / (2 * 0.2**2)).exp() / 1.01
        assert (x[:, 0, 0] * x[:, dx, dy]).mean() == pytest.approx(float(expected), abs=0.06)
    assert x.mean() == pytest.approx(0, abs=0.02) and x.square().mean() == pytest.approx(1, abs=0.02)


def test_the_released_kernel_is_nearly_white():
    """Correlation of neighbours, read off the eigenvalues."""
    found = {
        (kernel, n): float(torch.fft.ifft2(spectrum(Noise(kernel), (n, n), 2)).real[0, 1])
        for kernel in ("exponential", "squared")
        for n in (64, 128)
    }
    assert [round(found["exponential", n], 2) for n in (64, 128)] == [0.04, 0.21]
    assert [round(found["squared", n], 2) for n in (64, 128)] == [0.95, 0.99]


def test_samples_start_from_fields_of_their_own_generators():
    method = untrained("navier_stokes")
    given = problem("navier_stokes", "cont_3")
    u = method.predict(given, 3, samples=2).u
    torch.testing.assert_close(method.predict(given[:1], 3).u[0], u[0, :1], rtol=1e-4, atol=1e-4)
    assert not torch.allclose(u[0], u[1])


def test_the_kernel_enters_the_training():
    _, train, valid = smoke("navier_stokes")
    white = FunDPS(replace(QUICK, noise=Noise(length=1e-3))).fit(train, valid, [], 0, Run()).state()
    smooth = untrained("navier_stokes").state()
    assert any(not torch.equal(white[name], smooth[name]) for name in white if name.startswith("net."))


def test_refusals():
    with pytest.raises(ValueError, match="length > 0 and nugget >= 0"):
        Noise(length=0.0)


# -- guidance


@pytest.mark.parametrize(
    "name, task, seen, loss, pde",
    [
        ("navier_stokes", "fwd_partial", 5e3, "mean_square", 1.0),
        ("navier_stokes", "inv_partial", 7.5e3, "root_mean_square", 10.0),
        ("helmholtz", "fwd_partial", 1e4, "mean_square", 1.0),
        ("helmholtz", "inv_partial", 5e3, "mean_square", 1.0),
        ("allen_cahn", "cont_3", 5e3, "mean_square", 1.0),
    ],
)
def test_published_weights(name, task, seen, loss, pde):
    method = with_settings(name, guidance=Settings().guidance, physics=1.0, observation=1.0, full=1.0, far="divergence")
    *sensors, equation = method.plan(problem(name, task)).terms
    assert [(t.early, t.late, t.loss) for t in sensors] == [(seen, seen, loss)] * (2 if task == "cont_3" else 1)
    assert equation.early == 0 and equation.loss == "huber"
    assert equation.late == pytest.approx(pde)


@pytest.mark.parametrize("sigma, factor", [(2.0, 1.0), (0.5, 0.5)])
def test_a_guided_step_is_heun_s_less_the_gradient_of_the_second_estimate_s_loss(sigma, factor):
    """Against the formula: 5000 mean over sensors of (D - y)^2, through both evaluations."""
    method = with_settings("navier_stokes", guidance=Settings().guidance, observation=1e-3, physics=0.0)
    plan = method.plan(problem("navier_stokes", "fwd_partial")[:1])
    (sensors,) = plan.terms
    x = torch.randn(1, *plan.shape[1:], generator=torch.Generator().manual_seed(0)) * sigma
    levels = torch.tensor([sigma, sigma / 2], dtype=torch.float64)
    found = sample_guided(plan.denoise, x, levels, plan.terms, method.settings.guidance, "heun")
    leaf, estimates = x.double().requires_grad_(), []

    def recorded(x, sigma):
        estimates.append(evaluator(plan.denoise, torch.float32)(x, sigma))
        return estimates[-1]

    step = heun_step(recorded, leaf, sigma, sigma / 2)
    loss = 5.0 * sensors.residual(estimates[1]).square().sum() / float(sensors.count)
    (gradient,) = torch.autograd.grad(loss, leaf)
    torch.testing.assert_close(found, (step - factor * gradient).detach().float(), rtol=1e-4, atol=1e-5)


def test_profiles():
    paper = Settings()
    assert planned(FunDPS) == 42_915_522 and len(karras_sigmas(paper.edm)) == 501
    assert (paper.guidance.schedule, paper.guidance.late, paper.noise.kernel) == ("sigma", 1.0, "exponential")
    assert FunDPS.profiles["laptop"].guidance == paper.guidance == Guidance(schedule="sigma", late=1.0)
