"""The extension: how frames are mixed from pairs, what it is not for, its networks."""

from dataclasses import replace
from functools import cache

import pytest
import torch

from benchmark.core import Run
from benchmark.planning.registry import registry
from methods.diffusionpde.ext import DiffusionPDEExt, Settings, mixing
from tests.methods.small import generators, planned, smoke

KNOWN = registry()
SMOKE = DiffusionPDEExt.profiles["smoke"]
QUICK = replace(SMOKE, training=replace(SMOKE.training, steps=2))
PAIRS = [(0, 1), (1, 2), (2, 3), (0, 1), (0, 2), (0, 3)]  # steps, then leaps


@cache
def untrained(name, settings=QUICK):
    _, train, valid = smoke(name)
    return DiffusionPDEExt(settings).fit(train, valid, [], 0, Run())


def problem(name):
    valid = smoke(name)[2]
    return KNOWN.load("tasks", "cont_3").observe(valid, generators(len(valid)))


@pytest.mark.parametrize("average", ["symmetric", "literal"])
def test_each_model_has_half_the_say_in_every_frame(average):
    weights = mixing(PAIRS, average)  # (T, P, 2)
    torch.testing.assert_close(weights[:, :3].sum((1, 2)), torch.full((4,), 0.5))
    torch.testing.assert_close(weights[:, 3:].sum((1, 2)), torch.full((4,), 0.5))
    for t, p, k in weights.nonzero().tolist():
        assert PAIRS[p][k] == t


def test_symmetric_takes_all_estimates_and_literal_the_last_written():
    symmetric, literal = mixing(PAIRS, "symmetric"), mixing(PAIRS, "literal")
    assert (symmetric[1] > 0).sum() == 3  # two steps and a leap
    assert (symmetric[0] > 0).sum() == 4  # a step and three leaps
    assert literal[1, 1, 0] == 0.5 and literal[1, 0, 1] == 0  # frame 2 from (2, 3), not from (1, 2)
    assert literal[0, 3, 0] == 0.5 and literal[3, 2, 1] == 0.5


def test_the_denoiser_mixes_what_the_pairs_say():
    """Two networks or one: a frame's estimate is the weighted sum of its pairs' estimates, each with its own label."""
    method, given = untrained("navier_stokes"), problem("navier_stokes")
    x, sigma = torch.randn(given.values.shape, generator=torch.Generator().manual_seed(0)), torch.tensor(0.7)
    with torch.no_grad():
        d = method.denoiser(given)(x, sigma)
        weights, expected = mixing(PAIRS, "symmetric"), torch.zeros_like(x)
        from methods.blocks.diffusion.edm import Denoiser

        net = Denoiser(method.net_["pair"])
        for p, pair in enumerate(PAIRS):
            estimate = net(x[:, list(pair)], sigma, torch.full((len(x),), p))
            for k, t in enumerate(pair):
                expected[:, t] += weights[t, p, k] * estimate[:, k]
    torch.testing.assert_close(d, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["navier_stokes", "wave_layer"])
@pytest.mark.parametrize(
    "changes", [{"shared": False, "physics": 1.0, "guidance": replace(QUICK.guidance, switch=0.0)}, {}]
)
def test_it_predicts_and_can_be_stored(name, changes):
    settings = replace(QUICK, **changes)
    method, given = untrained(name, settings), problem(name)
    prediction = method.predict(given, 0)
    assert prediction.frames is None and prediction.u.isfinite().all()
    assert prediction.evaluations == settings.edm.steps * 6
    restored = DiffusionPDEExt(settings).restore(method.state(), smoke(name)[1])
    assert torch.equal(restored.predict(given, 0).u, prediction.u)
    alone = method.predict(given[:1], 0).u[0]
    torch.testing.assert_close(alone, prediction.u[0, :1], rtol=1e-4, atol=1e-4)


def test_a_prediction_does_not_depend_on_how_many_pairs_are_in_memory():
    given, many = problem("navier_stokes"), untrained("navier_stokes")
    few = DiffusionPDEExt(replace(QUICK, inputs=5)).restore(many.state(), smoke("navier_stokes")[1])
    torch.testing.assert_close(few.predict(given, 0).u, many.predict(given, 0).u, rtol=1e-4, atol=1e-4)


def test_only_continuous_tasks_of_dynamic_problems():
    method, steady, dynamic = DiffusionPDEExt(QUICK), smoke("helmholtz")[0], smoke("navier_stokes")[0]
    assert "same" in (method.unsupported(KNOWN.load("tasks", "cont_3"), steady) or "")
    assert "autoregressive" in (method.unsupported(KNOWN.load("tasks", "fwd_full"), dynamic) or "")
    assert method.unsupported(KNOWN.load("tasks", "cont_1"), dynamic) is None


def test_the_paper_profile_has_two_networks():
    paper = DiffusionPDEExt.profiles["paper"]
    assert isinstance(paper, Settings) and not paper.shared
    assert planned(DiffusionPDEExt) == pytest.approx(2 * 54.4e6, rel=5e-3)
