"""What is shown of predictions: frames, errors, scales."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmark.core import Grid, Prediction, Problem, Trajectories
from benchmark.errors import UserError
from benchmark.figures.videos import (
    check_alike,
    choose_channel,
    choose_frames,
    error_scale,
    field_scale,
    frame_title,
    groups,
    relative_error,
)
from benchmark.planning.registry import registry
from benchmark.records.predictions import Predictions
from benchmark.scoring.metrics import score
from tests.benchmark.figures.made import predictions, steady


def scored(p: Predictions, dataset: str) -> list[float]:
    """The headline of the suite's scorer."""
    cls = registry().load("datasets", dataset)
    equation = cls(cls.profiles["smoke"]).equation()
    grid = Grid(p.truth.shape[2:4], p.lengths, p.times, p.boundary)
    truth = Trajectories(torch.tensor(p.truth), grid, equation)
    problem = Problem(torch.tensor(p.values), torch.tensor(p.mask), grid, equation)
    answer = Prediction(torch.tensor(p.prediction)[None], frames=p.frames)
    return score(answer, truth, problem, frame_names=p.frame_names)["rel_l2"].values


@pytest.mark.parametrize(
    ("p", "dataset"),
    [
        (predictions(off=0.3), "navier_stokes"),
        (predictions(off=0.3, frames=(1, 3)), "navier_stokes"),
        (steady(off=0.2), "helmholtz"),
    ],
)
def test_errors_are_those_of_the_scorer(p, dataset):
    draw = np.random.default_rng(1)
    p = replace(p, prediction=p.prediction + 0.1 * p.truth.std() * draw.normal(size=p.truth.shape).astype(np.float32))
    assert [relative_error(p, i) for i in range(len(p))] == pytest.approx(scored(p, dataset), rel=1e-5)


def test_of_a_steady_problem_the_field_without_sensors_counts():
    p = steady()
    mask, prediction = p.mask.copy(), p.truth.copy()
    mask[:, 0], mask[:, 1] = True, False
    prediction[:, 0] *= 5
    prediction[:, 1] *= 1.5
    p = replace(p, mask=mask, prediction=prediction)
    assert [relative_error(p, 0), scored(p, "helmholtz")[0]] == pytest.approx([50.0, 50.0], rel=1e-5)


def test_frames_are_spread_evenly_or_those_asked_for():
    p = predictions()
    assert choose_frames(p, None, 3) == [0, 2, 4] and choose_frames(p, None, 9) == [0, 1, 2, 3, 4]
    assert choose_frames(p, (3, 1), 4) == [3, 1] and choose_frames(steady(), None, 1) == [0, 1]
    with pytest.raises(UserError, match="expected some of 0 to 4, got 5"):
        choose_frames(p, (1, 5), 4)


def test_frames_and_fields_have_names():
    assert frame_title(predictions(), 1) == "$t$ = 0.25" and frame_title(steady(), 1) == "field $u$"
    with pytest.raises(UserError, match="channel: expected one of w, got 'v'"):
        choose_channel(predictions(), "v")


def test_what_is_not_of_one_truth_is_refused():
    p = predictions()
    other = replace(p, mask=~p.mask)
    with pytest.raises(
        UserError, match="linear and kriging: trajectory 0 is not the same truth behind the same sensors"
    ):
        check_alike({"kriging": p, "linear": other}, 0)
    with pytest.raises(UserError, match="trajectory 2: kriging kept 2, 0 to 1"):
        check_alike({"kriging": p}, 2)
    check_alike({"kriging": p, "linear": replace(p, truth=p.truth + 1e-5)}, 1)  # what storing it rounds off


def test_signed_fields_are_centred_and_others_are_not():
    p = predictions()
    scale = field_scale({"kriging": p}, 0, [0, 1], 0)
    assert scale.high == -scale.low == pytest.approx(np.abs(p.truth[0, :2]).max())
    positive = replace(p, truth=p.truth + 5, prediction=p.truth + 5)
    scale = field_scale({"kriging": positive}, 0, [0], 0)
    assert 0 < scale.low == positive.truth[0, 0].min() and scale.extend == "neither"


def test_values_beyond_the_truths_are_marked():
    assert field_scale({"kriging": predictions(off=0.5)}, 0, [0], 0).extend == "both"


def test_all_methods_share_the_scale_of_errors():
    shown = {"kriging": predictions(off=0.01), "linear": predictions(off=0.5)}
    worst = np.abs(shown["linear"].prediction - shown["linear"].truth)[0]
    assert error_scale(shown, 0, range(5), 0).high == pytest.approx(worst.max(), rel=0.1)
    scale = error_scale(shown, 0, range(5), 0, logarithmic=True)
    assert 0 < scale.low < scale.high / 10 and scale.logarithmic


def test_fields_of_a_steady_problem_have_scales_of_their_own():
    assert groups(predictions(), [0, 2, 4]) == [[0, 1, 2]] and groups(steady(), [0, 1]) == [[0], [1]]


def test_errors_of_nothing_but_rounding_have_no_colours():
    exact = {"kriging": predictions(off=0.0)}
    for logarithmic in (False, True):
        scale = error_scale(exact, 0, range(5), 0, logarithmic)
        assert scale.high == pytest.approx(10 * np.ptp(predictions().truth[0]) / 65535, rel=1e-5)
