"""Squares stand where samples differ, and each sample has its own error."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from benchmark.errors import UserError
from benchmark.figures.noise_seeds import differences, noise_seeds, side
from benchmark.figures.videos import frame_error
from tests.benchmark.figures.made import check_text, predictions


def planted():
    """Samples that differ in two places of 4 x 4."""
    samples = np.zeros((3, 16, 16))
    samples[:, 2:6, 10:14] += np.array([0.0, 2.0, 4.0])[:, None, None]
    samples[:, 9:13, 1:5] += np.array([0.0, 1.0, 2.0])[:, None, None]
    return samples


def test_squares_are_found_in_the_order_of_their_differences():
    assert side((16, 16)) == (4, 4) and differences(planted()) == [(2, 10), (9, 1)]


def test_squares_do_not_overlap_and_equal_samples_have_none():
    found = differences(np.random.default_rng(0).normal(size=(4, 16, 16)), count=3)
    assert len(found) == 3
    assert all(abs(a[0] - b[0]) >= 4 or abs(a[1] - b[1]) >= 4 for a in found for b in found if a != b)
    assert differences(np.ones((4, 16, 16))) == []


def test_panels_hold_the_samples_their_errors_and_the_squares():
    p = predictions(samples=3)
    p = replace(p, samples=p.truth + planted()[:, None, None, ..., None].astype(np.float32))
    figure = noise_seeds(p, 1, [2])
    found = {axes.get_label(): axes for axes in figure.axes}
    for s in range(3):
        axes = found[f"0 {2 + s}"]
        assert np.asarray(axes.images[0].get_array()) == pytest.approx(p.samples[s, 1, 2, ..., 0])
        error = frame_error(p.samples[s, 1, 2], p.truth[1, 2])
        label = axes.get_xlabel().removeprefix("error ").removesuffix(" %")
        assert float(label.replace("<", "")) == pytest.approx(error, rel=0.01, abs=0.011)
        squares = [patch.get_xy() for patch in axes.patches if isinstance(patch, Rectangle)]
        assert squares == [(9.5, 1.5), (0.5, 8.5)]
    assert (np.asarray(found["0 5"].images[0].get_array()) == p.spread[1, 2, ..., 0]).all()
    assert len({found[f"0 {k}"].images[0].get_clim() for k in (0, 2, 3, 4)}) == 1


def test_a_method_with_one_answer_has_no_noise_seeds():
    with pytest.raises(UserError, match="kriging gives one answer"):
        noise_seeds(predictions())


def test_text_is_on_the_page_and_apart():
    check_text(noise_seeds(predictions(samples=4)))
