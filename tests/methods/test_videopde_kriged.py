from functools import cache

import pytest
import torch

from benchmark.core import Run
from methods.blocks.training.examples import Observations
from methods.kriging import Kriging
from methods.videopde.method import VideoPDE
from methods.videopde_kriged import FLOOR, VideoPDEKriged
from tasks import observation as tasks
from tests.methods.generative_case import comes_back, data, keeps_its_promises, problem, quick

SETTINGS = quick(VideoPDEKriged.profiles["smoke"])


@cache
def fitted(task=tasks.FWD_PARTIAL):
    return VideoPDEKriged(SETTINGS).fit(data("train"), data("valid"), [task], 0, Run())


def untrained(task):
    """Its network answers 0, which is the mean of what is diffused."""
    method = fitted(task)
    fresh = VideoPDEKriged(SETTINGS).restore(method.state(), data("train"))
    fresh.build(data("train"), seed=0)
    return fresh


@pytest.mark.parametrize("task", [tasks.CONT_3, tasks.FWD_PARTIAL], ids=lambda task: task.name)
def test_a_prediction_keeps_its_promises(task):
    keeps_its_promises(fitted(task), problem(task), evaluations=2)


def test_a_restored_method_gives_the_same_answer():
    comes_back(fitted(), problem())


def test_kriging_is_that_of_the_method_kriging():
    kriging = Kriging(SETTINGS.kriging).fit(data("train"), data("valid"), [tasks.CONT_3], 0, Run())
    seen = problem(tasks.CONT_3)
    assert torch.equal(fitted(tasks.CONT_3).kriged(seen), kriging.predict(seen, 0).u[0])


def test_the_remainder_has_the_scale_of_the_diffusion_in_every_frame():
    method, examples = fitted(), Observations([tasks.FWD_PARTIAL]).fixed(data("train"), 8)
    left = (examples.truth.u - method.kriged(examples.problem)) / method.spread_
    torch.testing.assert_close(left.square().mean((0, 2, 3)).sqrt(), torch.ones(4, 1))


def test_what_kriging_knows_is_left_with_a_floor():
    """Heat that is seen at first is linear in what was seen."""
    method = fitted(tasks.FWD_FULL)
    torch.testing.assert_close(method.spread_, (FLOOR * method.normaliser_.std).expand(4, 1, 1, 1))


def test_samples_spread_around_kriging_by_the_remainder():
    """Where nothing is learned, answers are kriging's plus noise of the size that the sampler leaves."""
    seen = problem(tasks.CONT_3)
    method = untrained(tasks.CONT_3)
    answer = method.predict(seen, 0, 1).u[0]
    gap = (answer - method.kriged(seen)) / method.spread_
    assert gap[~seen.mask].abs().max() < 50 and gap[seen.mask].abs().max() < 1e-3


def test_it_is_told_one_channel_more_than_videopde_and_says_so():
    shape, plain = fitted().shape_, VideoPDE(VideoPDE.profiles["smoke"]).network(fitted().shape_)
    net = fitted().network(shape)
    assert net.channels[1] == plain.channels[1] + shape.channels
    assert "what kriging answers as input" in fitted().aids(tasks.CONT_3)


def test_the_settings_beside_kriging_are_those_of_videopde():
    for profile, settings in VideoPDEKriged.profiles.items():
        of, own = vars(VideoPDE.profiles[profile]), vars(settings)
        assert all(own[name] == value for name, value in of.items() if name not in ("training", "edm"))
        assert settings.kriging == Kriging.profiles[profile]
