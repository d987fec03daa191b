import numpy as np
import pytest

from benchmark.leaderboard.page.error_scale import error_scale

EXACT = np.zeros((1, 1))


def of(*values):
    return np.array(values, dtype=float).reshape(1, 1, -1)


def limits(*errors, rounding=EXACT):
    return [float(part[0, 0]) for part in error_scale(errors, rounding)]


def test_the_scale_ends_where_few_errors_of_all_methods_are_larger():
    draw = np.random.default_rng(0)
    one, other = draw.random((1, 1, 4000)), 3 * draw.random((1, 1, 4000))
    least, end = limits(one, other)
    assert end == pytest.approx(np.percentile([*one.ravel(), *other.ravel()], 99.5))
    assert least == pytest.approx(np.percentile(one, 99.5) / 100)


def test_what_is_not_predicted_does_not_count():
    assert limits(of(1, np.nan, 1), of(np.nan, np.nan, np.nan)) == pytest.approx([0.01, 1.0])


def test_a_logarithmic_scale_has_four_decades_at_most_and_one_at_least():
    assert limits(of(1e-9, 1e-9), of(1, 1)) == pytest.approx([1e-4, 1.0], rel=0.01)
    assert limits(of(0, 0), of(0, 0), rounding=np.full((1, 1), 0.5)) == pytest.approx([0.5, 5.0])


def test_rounding_is_no_error():
    """Of predictions that are exact but for what storing them rounds off, nothing is shown."""
    assert limits(of(0.01, 0.02), rounding=np.full((1, 1), 0.02))[1] == pytest.approx(0.2)


def test_each_channel_and_field_has_its_own():
    errors = np.arange(1.0, 7.0).reshape(2, 3, 1)
    assert error_scale([errors], np.zeros((2, 3)))[1].tolist() == errors[..., 0].tolist()
