from dataclasses import replace
from functools import cache, partial

import pytest
import torch
from torch import nn

from benchmark.planning.registry import registry
from methods.blocks.conditioning import Shape
from methods.blocks.diffusion.variance_preserving import cosine
from methods.blocks.normaliser import SIGMA_DATA
from methods.sda.method import SDA
from methods.sda.settings import SMOKE, Settings
from tasks import observation as tasks
from tests.methods.generative_case import HEAT, comes_back, data, fit, keeps_its_promises, problem, quick

QUICK = quick(SMOKE, steps=3, corrections=1)


@cache
def fitted():
    return fit(SDA(QUICK))


def restored(**changes):
    return SDA(replace(QUICK, **changes)).restore(fitted().state(), data("train"))


@pytest.mark.parametrize("task", [tasks.CONT_3, tasks.FWD_FULL, tasks.INV_PARTIAL], ids=lambda t: t.name)
def test_a_prediction_keeps_its_promises(task):
    keeps_its_promises(fitted(), problem(task), 3 * 2 * 2)  # steps, each with a correction, of both windows


def test_a_restored_method_gives_the_same_answer():
    comes_back(fitted(), problem())


# -- windows


@pytest.mark.parametrize("order, frames, window", [(2, 8, 5), (2, 5, 5), (2, 4, 3), (1, 8, 3), (3, 20, 7)])
def test_a_window_has_an_odd_number_of_frames(order, frames, window):
    shape = replace(Shape.planned(tasks.CONT_3, HEAT, False), frames=frames)
    assert SDA(replace(QUICK, order=order)).window(shape) == window


def test_a_steady_problem_is_one_window_of_its_two_fields():
    cls = registry().load("datasets", "helmholtz")
    shape = Shape.planned(tasks.CONT_3, cls(cls.profiles["smoke"]), with_coordinates=True)
    method = SDA(QUICK)
    assert method.window(shape) == 2
    assert method.network(shape)(torch.randn(3, 2, 16, 16, 1), torch.rand(1), torch.randn(3, 16, 16, 2)).shape[1] == 2


def test_the_prior_of_a_video_is_composed_of_its_windows():
    """Frame by frame: the window around it, or the nearest that lies inside the video."""
    method, seen = fitted(), problem(tasks.LONG_RANGE, count=2, frames=9)
    x, t = torch.randn(seen.values.shape), torch.tensor([0.4])
    fields, (mu, sigma) = method.fields(None, seen.values), cosine(t, x)
    with torch.no_grad():
        found = method.prior(seen)(x, t)
        for frame in range(9):
            start = min(max(frame - 1, 0), 6)
            answer = method.net_(x[:, start : start + 3], t, fields)[:, frame - start]  # (B, H, W, C)
            expected = mu[:, 0] * answer + sigma[:, 0] * x[:, frame]
            torch.testing.assert_close(found[:, frame], expected, rtol=1e-4, atol=1e-5)


def test_a_long_video_is_one_problem():
    """Sensors may lie behind what a roll-out could take, and every frame hears of them."""
    method, seen = restored(gamma=1.0), problem(tasks.CONT_3, count=2, frames=9)
    answer = method.predict(seen, 0, 2)
    assert answer.u.shape == (2, *seen.values.shape) and answer.evaluations == 3 * 2 * 7
    last = torch.zeros_like(seen.mask)
    last[:, -1] = seen.mask[:, -1]
    without = method.predict(replace(seen, mask=seen.mask & ~last), 0, 2).u
    assert (without != answer.u).flatten(3).any(-1).all()


# -- guidance


class Gaussian(nn.Module):
    """eps of frames with covariance C, each site by itself: sigma (mu^2 C + sigma^2)^-1 x."""

    def __init__(self, covariance):
        super().__init__()
        self.covariance = nn.Parameter(covariance)

    def forward(self, x, t, fields):
        mu, sigma = cosine(t, torch.zeros(1))
        inverse = torch.linalg.inv(mu**2 * self.covariance + sigma**2 * torch.eye(len(self.covariance)))
        return torch.einsum("st,nthwc->nshwc", sigma * inverse, x)


def test_with_the_exact_score_samples_follow_the_posterior():
    """x ~ N(0, C) over three frames, y = x_0 + s z:  mean C_0 y / (1 + s^2),  covariance C - C_0 C_0^T / (1 + s^2).

    Many small corrections make up for a likelihood that holds only towards t = 0.
    """
    c = 0.8 ** (torch.arange(3.0)[:, None] - torch.arange(3.0)).abs()
    method = restored(target="noise", steps=64, corrections=8, tau=0.05, gamma=0.3, std=1e-3, chunk=64)
    method.net_ = Gaussian(c)
    seen = problem(replace(tasks.FWD_FULL, noise=0.4), 1, 3)
    x = method.normaliser_.encode(method.predict(seen, 0, 32).u) / SIGMA_DATA  # (S, 1, 3, H, W, 1)
    y = method.normaliser_.encode(seen.values)[0, 0, ..., 0] / SIGMA_DATA
    gain = c[0] / (1 + 0.4**2)
    left = (x[:, 0, ..., 0] - gain[:, None, None] * y).movedim(1, 0).flatten(1)  # (3, S H W)
    torch.testing.assert_close(torch.cov(left), c - gain[:, None] * c[0], rtol=0, atol=0.04)
    bias = (left * y.flatten().repeat(32)).sum(1) / (32 * y.square().sum())
    assert bias.abs().max() < 0.04


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_the_gradient_is_that_of_the_likelihood_through_the_network(noise):
    method, seen = restored(gamma=0.3, std=0.2), problem(replace(tasks.CONT_3, noise=noise), 2)
    x, t = torch.randn(seen.values.shape), torch.tensor([0.4])
    y = method.normaliser_.encode(seen.values) / SIGMA_DATA
    (mu, sigma), prior = cosine(t, x), method.prior(seen)

    def log_p(x):
        error = (y - (x - sigma * prior(x, t)) / mu)[seen.mask]
        return -0.5 * error.square().sum() / (0.2**2 + noise**2 + 0.3 * sigma**2 / mu**2)

    with torch.no_grad():
        towards, h = torch.randn(x.shape), 1e-2
        change = (log_p(x + h * towards) - log_p(x - h * towards)) / (2 * h)
        guide = method.guided(seen)(x, t) - prior(x, t)
    expected = -float(sigma * change)
    assert float((guide * towards).sum()) == pytest.approx(expected, rel=0.02, abs=1e-3)


def test_the_limit_is_how_far_the_estimate_moves():
    """Of frames N(0, 1), each by itself, the estimate is mu x: sigma times the guide moves it by mu sigma."""
    seen, limit = problem(tasks.CONT_3, 2, 3), 0.3
    x, t = torch.randn(seen.values.shape), torch.tensor([0.4])
    mu, sigma = cosine(t, x)
    for gamma, moves in ((1e-6, limit), (10.0, mu**2 / (10 / mu**2 + 0.01 / sigma**2))):
        method = restored(target="noise", gamma=gamma, std=0.1 if gamma > 1 else 1e-6, limit=limit)
        method.net_ = Gaussian(torch.eye(3))
        misfit = method.normaliser_.encode(seen.values) / SIGMA_DATA - mu * x
        moved = -mu * sigma * (method.guided(seen)(x, t) - method.prior(seen)(x, t).detach())
        torch.testing.assert_close(moved[seen.mask], (moves * misfit)[seen.mask], rtol=1e-3, atol=1e-4)


def test_without_sensors_it_samples_the_prior():
    method, seen = restored(), problem()
    blind = replace(seen, mask=torch.zeros_like(seen.mask))
    x, t = torch.randn(seen.values.shape), torch.tensor([0.7])
    torch.testing.assert_close(method.guided(blind)(x, t), method.prior(seen)(x, t).detach())


def test_noisy_readings_are_believed_less():
    method, misfits = restored(gamma=1.0, steps=8), []
    for noise in (0.0, 2.0):
        seen = replace(problem(tasks.FWD_FULL), noise=noise)
        part = partial(method.answer, generators=[torch.Generator().manual_seed(i) for i in range(4)])
        with torch.no_grad():
            misfits.append(float((part(seen) - seen.values)[seen.mask].norm()))
    assert misfits[0] < misfits[1]


# -- settings


def test_the_size_of_the_paper():
    cls = registry().load("datasets", "kolmogorov")
    assert SDA(Settings()).parameters(tasks.CONT_3, cls(cls.profiles["paper"])) == pytest.approx(42.0e6, rel=0.005)


def test_where_there_are_walls_the_network_pads_with_zeros():
    shape = Shape.planned(tasks.CONT_3, HEAT, with_coordinates=False)
    walls = replace(shape, grid=replace(shape.grid, boundary="dirichlet"))
    paddings = [SDA(QUICK).network(s).unet.architecture.padding for s in (shape, walls)]
    assert paddings == ["circular", "zeros"]


def test_it_says_how_it_samples():
    assert SDA(Settings()).remark(tasks.CONT_3, HEAT) is None
    assert "steps 32, corrections 2" in str(SDA(Settings(steps=32, corrections=2)).remark(tasks.CONT_3, HEAT))


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"order": 0}, "order"),
        ({"steps": 0}, "steps"),
        ({"corrections": -1}, "corrections"),
        ({"gamma": 0.0}, "gamma"),
        ({"std": -0.1}, "std"),
        ({"tau": 0.0}, "tau"),
        ({"limit": 0.0}, "limit"),
    ],
)
def test_wrong_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Settings(**changes)
