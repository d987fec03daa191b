import math
from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import nn

from methods.blocks.conditioning import Shape
from methods.blocks.networks.fourier import Architecture
from methods.eci import ECI, SMOKE, Settings, VelocityNet, embedded
from tasks import observation as tasks
from tests.methods.generative_case import HEAT, comes_back, data, fit, keeps_its_promises, problem, quick
from tests.methods.small import planned

QUICK = quick(SMOKE, steps=3, repeats=2)
FORMS = {"2d": QUICK.architecture, "3d": Architecture("3d", width=8, modes=8, time_modes=4, layers=1)}


@cache
def fitted(form="2d"):
    return fit(ECI(replace(QUICK, architecture=FORMS[form], precondition=form == "2d")))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("task", [tasks.CONT_3, tasks.INV_PARTIAL], ids=lambda t: t.name)
def test_a_prediction_keeps_its_promises(form, task):
    keeps_its_promises(fitted(form), problem(task), 6)


@pytest.mark.parametrize("form", FORMS)
def test_a_restored_method_gives_the_same_answer(form):
    comes_back(fitted(form), problem())


@pytest.mark.parametrize("window, windows", [("drop", 3), ("keep", 3)])
def test_long_trajectories_are_covered_window_by_window(window, windows):
    task = replace(tasks.LONG_RANGE, roll_out=window)
    method, seen = fit(ECI(QUICK), task), problem(task, frames=9)
    answer = method.predict(seen, 0, 2)
    assert answer.u.shape == (2, *seen.values.shape) and answer.evaluations == 6 * windows
    assert torch.equal(answer.u[:, :, 4], answer.u[:, :, 3]) == (window == "keep")


class Exact(nn.Module):
    """The velocity of data at one point m, whatever the noise: E[x - eps | x_t] = (m - x_t) / (1 - t)."""

    def __init__(self, m):
        super().__init__()
        self.m, self.calls = nn.Parameter(m), []

    def forward(self, x, t, fields):
        self.calls.append((x, float(t)))
        return (self.m - x) / (1 - t)


def exact(**changes):
    method = fitted().__class__(replace(QUICK, **changes)).restore(fitted().state(), data("train"))
    target = method.normaliser_.encode(data("test", 4).u[:1]) * 2
    method.net_ = Exact(target)
    return method, target


def test_with_the_exact_velocity_the_prior_is_met_and_observations_are_hard_constraints():
    method, target = exact()
    mask = torch.zeros(2, *target.shape[1:], dtype=torch.bool)
    mask[:, 0] = True
    y = torch.full(mask.shape, 0.25).where(mask, 0)
    generators = [torch.Generator().manual_seed(i) for i in range(2)]
    with torch.no_grad():
        x = method.sample(y, mask, torch.zeros(1), generators)
    assert torch.equal(x[mask], y[mask])
    torch.testing.assert_close(x[~mask], target.expand_as(x)[~mask], rtol=1e-4, atol=1e-4)


def test_all_estimates_but_the_last_stay_within_their_bound():
    """x_t = (1 - t) eps + t x_1 for t = 2/3 and one noise: the difference of two states is that of their estimates."""
    states = []
    for bound in (0.5, 1e-6):
        method, target = exact(bound=bound)
        mask = torch.zeros(1, *target.shape[1:], dtype=torch.bool)
        mask[:, 0] = True
        with torch.no_grad():
            x = method.sample(torch.where(mask, 3.0, 0.0), mask, torch.zeros(1), [torch.Generator().manual_seed(0)])
        assert (x[mask] == 3).all()
        torch.testing.assert_close(x[~mask], target.expand_as(x)[~mask], rtol=1e-4, atol=1e-4)
        states.append(method.net_.calls[-1])
    (free, t), (held, _) = states
    found, expected = (free - held)[~mask], t * target.clamp(-0.5, 0.5)[~mask]
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="bound"):
        Settings(bound=0.0)


@pytest.mark.parametrize("redraw, draws", [(0, 1), (2, 3)])
def test_times_repeat_and_the_noise_is_drawn_anew_as_asked(redraw, draws):
    """Between its observed part y and the noise, x_t = (1 - t) eps + t y gives eps away."""
    method, target = exact(redraw=redraw)
    y, mask = torch.zeros(1, *target.shape[1:]), torch.ones(1, *target.shape[1:], dtype=torch.bool)
    with torch.no_grad():
        method.sample(y, mask, torch.zeros(1), [torch.Generator().manual_seed(0)])
    assert [round(t * 3) for _, t in method.net_.calls] == [0, 0, 1, 1, 2, 2]
    noises = [x / (1 - t) for x, t in method.net_.calls]
    distinct = 1 + sum(not torch.allclose(a, b, atol=1e-4) for a, b in zip(noises, noises[1:], strict=False))
    assert distinct == draws


@pytest.mark.parametrize("form", FORMS)
def test_the_velocity_net_fits_videos_and_fields(form):
    for grid, frames in ((data("train").grid, 4), (data("train").grid.first(2), 2)):
        net = VelocityNet(2, 6, grid, FORMS[form], precondition=True)
        x = torch.randn(3, frames, 16, 16, 2)
        assert net(x, torch.rand(3), torch.randn(1, 6, 16, 16)).shape == x.shape
        assert net(x, torch.rand(1), torch.randn(3, 6, 16, 16)).shape == x.shape


def test_an_untrained_preconditioned_network_starts_near_the_best_linear_answer():
    """Data and noise alike: E |v - (x - eps)|^2 = 1 / ((1 - t)^2 + t^2) on average over t, with v = c_skip x_t."""
    net = VelocityNet(1, 4, data("train").grid, FORMS["2d"], precondition=True)
    nn.init.zeros_(list(net.operator.parameters())[-1])
    nn.init.zeros_(list(net.operator.parameters())[-2])
    x, eps = (torch.randn(64, 4, 16, 16, 1) for _ in range(2))
    t = torch.full((1,), 0.3)
    with torch.no_grad():
        v = net(torch.lerp(eps, x, 0.3), t, torch.zeros(1, 4, 16, 16))
    assert (v - (x - eps)).square().mean() == pytest.approx(1 / (0.7**2 + 0.3**2), rel=0.05)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="steps and repeats"):
        Settings(repeats=0)
    with pytest.raises(ValueError, match="recurrent"):
        Settings(architecture=Architecture("recurrent"))


# -- what the source's network sees


def test_flow_time_enters_as_sines_and_cosines_of_rates_from_2000_to_1():
    code = embedded(torch.tensor([0.0, 0.37]), 16)
    assert code.shape == (2, 16) and code[0].tolist() == [0.0] * 8 + [1.0] * 8
    rates = [2000 ** (1 - i / 7) for i in range(8)]
    expected = [f(0.37 * rate) for f in (math.sin, math.cos) for rate in rates]
    assert rates[0] == 2000 and rates[-1] == 1
    torch.testing.assert_close(code[1], torch.tensor(expected), atol=2e-4, rtol=0)
    assert embedded(torch.tensor([0.37]), 1).tolist() == [[pytest.approx(-0.13)]]
    with pytest.raises(ValueError, match="time_channels"):
        Settings(time_channels=5)


@pytest.mark.parametrize("form", FORMS)
def test_the_time_channels_reach_the_operator(form):
    net = VelocityNet(2, 6, data("train").grid, FORMS[form], False, 16)
    x, fields = torch.randn(3, 4, 16, 16, 2), torch.randn(1, 6, 16, 16)
    one, other = net(x, torch.tensor([0.2]), fields), net(x, torch.tensor([0.7]), fields)
    assert one.shape == x.shape and not torch.allclose(one, other)
    torch.testing.assert_close(net(x, torch.full((3,), 0.2), fields), one, rtol=1e-4, atol=1e-6)


def test_the_paper_profile_is_the_sources_operator():
    """Lifting and projection 256, no padding, gradients clipped at 100; 9.5M parameters for one channel."""
    settings = ECI.profiles["paper"]
    a = settings.architecture
    assert a.lifting * a.width == a.projection * a.width == 256 and a.padding == 0
    assert settings.training.optimiser.clip == 100 and settings.time_channels == 16
    net = ECI(settings).network(Shape.planned(tasks.CONT_3, HEAT, with_coordinates=True))
    assert net.operator.domain_padding is None and net.operator.lifting.fcs[0].out_channels == 256
    assert net.operator.lifting.fcs[0].in_channels == 1 + 4 + 16 + 1  # field, coordinates, time, place of the frame
    assert planned(ECI) == pytest.approx(9.5e6, rel=0.01)
