"""What is kept of large trajectories: small, of the values that were there, and read back as it was."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark.records.predictions import (
    Predictions,
    PredictionsError,
    predictions_path,
    read_predictions,
    write_predictions,
)
from benchmark.records.thin import thinned
from tests.benchmark.records.test_predictions import CELL, some

ERRORS = (10.0, 11.0, 12.0, 13.0)


def large(side=256, frames=20, given=None, **changes) -> Predictions:
    """Waves under noise, 3 % of the sites seen; `given`: or a frame in full."""
    draw = np.random.default_rng(0)
    x = np.arange(side) / side
    wave = np.sin(2 * np.pi * (x[:, None] + 2 * x))[None, None, :, :, None]
    shape = (4, frames, side, side, 1)
    truth = (wave + 0.1 * draw.normal(size=shape)).astype(np.float32)
    mask = np.broadcast_to(draw.random((4, 1, side, side, 1)) < 0.03, shape).copy()
    if given is not None:
        mask[:] = False
        mask[:, given] = True
    samples = truth + 0.1 * draw.normal(size=(4, *shape)).astype(np.float32)
    return Predictions(
        CELL, "key", ("w",), None, tuple(np.linspace(0, 1, frames).tolist()), "periodic", (1.0, 1.0), None, 1,
        truth, mask, np.where(mask, truth, 0), samples[0], samples, samples.std(0), **changes,
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole():
    return large()


def test_trajectories_of_a_laptop_stay_whole():
    for p in (some(), large(32, 40)):
        assert thinned(p, ERRORS) is p


@pytest.mark.parametrize(("given", "most"), [(None, 2.2e6), (0, 2.9e6)])
def test_a_cell_of_the_papers_size_takes_two_megabytes(tmp_path, given, most):
    """Noise does not pack, and a frame that was given in full is kept in full. Without samples it is 1.4 MB less."""
    p = thinned(large(given=given), ERRORS)
    path = predictions_path(tmp_path, CELL)
    for kept, room in ((p, most), (replace(p, samples=None, spread=None), most - 1.3e6)):
        write_predictions(path, kept)
        assert 0.8 * room < path.stat().st_size < room


def test_what_is_kept_are_values_that_were_there(whole):
    p = thinned(whole, ERRORS)
    assert p.thinned is not None and p.truth.shape == (4, 8, 64, 64, 1) and p.samples.shape == (4, 4, 8, 64, 64, 1)
    assert p.thinned.step == 4 and p.numbers[0] == 0 and p.numbers[-1] == 19
    for k, frame in enumerate(p.numbers):
        assert (p.truth[:, k] == whole.truth[:, frame, 2::4, 2::4]).all()
        assert (p.mask[:, k] == whole.mask[:, frame]).all() and (p.values[:, k] == whole.values[:, frame]).all()
        assert p.times[k] == whole.times[frame]
    assert str(p.thinned) == "every 4th point of 8 of 20 frames"


def test_methods_are_thinned_alike(whole):
    """With samples or without, of all frames or the last, however many trajectories."""
    one = thinned(whole, ERRORS)
    few = {name: getattr(whole, name)[:2] for name in ("truth", "mask", "values", "prediction")}
    other = thinned(replace(whole, **few, samples=None, spread=None, frames=(19,)), ERRORS[:2])
    assert other.numbers == one.numbers and (other.truth == one.truth[:2]).all()
    assert other.scored == [7]


def test_sides_that_no_step_divides():
    p = large(200, 3)
    cut = {name: getattr(p, name)[..., :150, :] for name in ("truth", "mask", "values", "prediction")}
    p = thinned(replace(p, **cut, samples=None, spread=None), ERRORS)
    assert p.truth.shape == (4, 3, 50, 37, 1) and p.mask.shape == (4, 3, 200, 150, 1)


def test_the_fields_of_a_steady_problem_all_stay():
    p = large(256, 3)
    assert thinned(replace(p, frame_names=("a", "b", "u")), ERRORS).truth.shape == (4, 3, 64, 64, 1)


def test_it_is_read_back(tmp_path, whole):
    path = predictions_path(tmp_path, CELL)
    p = thinned(whole, ERRORS)
    write_predictions(path, p)
    back = read_predictions(path)
    assert back.thinned == p.thinned and back.numbers == p.numbers
    assert (back.mask == p.mask).all() and (back.values == p.values).all()
    assert np.abs(back.prediction - p.prediction).max() <= np.ptp(p.prediction) / 65535
    write_predictions(path, replace(p, thinned=replace(p.thinned, step=2)))
    with pytest.raises(PredictionsError, match="expected fields of"):
        read_predictions(path)
