"""The dimension of fields whose spectrum is known."""

import numpy as np
import pytest

from benchmark.planning.registry import registry
from benchmark.tools.calibrate import DEGENERATE, FACTOR, count_sensors, dimensions, verdict
from benchmark.tools.dimension import Dimension, dimension, dimension_of

DATASETS = ["wave_layer", "navier_stokes", "kolmogorov", "allen_cahn", "helmholtz"]


def planes(amplitudes: list[float], count: int, n: int = 16) -> np.ndarray:
    """Sums of cos(k x) with independent normal amplitudes, k = 1, 2, ..: as many components as amplitudes."""
    x = 2 * np.pi * np.arange(n) / n
    waves = np.stack([a * np.cos((k + 1) * x) for k, a in enumerate(amplitudes)])
    weights = np.random.default_rng(0).normal(size=(count, len(amplitudes)))
    return np.repeat((weights @ waves)[:, :, None], n, axis=2)


def test_components_and_tail_of_a_known_law():
    """Variances 9 : 1 : 0.01: the first component has 0.899 of the variance, two have 0.999."""
    found = dimension_of(planes([3.0, 1.0, 0.1], 20_000), periodic=True)
    assert [found.components(share) for share in (0.85, 0.99, 0.9995)] == [1, 2, 3]
    assert found.tail(1) == pytest.approx(100 * np.sqrt(1.01 / 10.01), rel=0.03)
    assert found.tail(2) == pytest.approx(100 * np.sqrt(0.01 / 10.01), rel=0.05)
    assert found.tail(3) == pytest.approx(0, abs=1e-4) and found.tail(500) == pytest.approx(0, abs=1e-4)


@pytest.mark.parametrize("periodic", [True, False])
def test_few_fields_fall_back_on_waves(periodic):
    """Six fields have five components at most, but white noise on 256 sites needs nearly all of them."""
    white = np.random.default_rng(1).normal(size=(6, 16, 16))
    assert dimension_of(white, periodic).components(0.9) > 200


def test_the_verdict_is_about_a_factor_two():
    assert [verdict(r) for r in (0.49, 0.5, 2.0, 2.1)] == [DEGENERATE, "kept", "kept", "harder"]


def test_percent_of_a_curve():
    assert Dimension(np.array([1.0, 0.04, 0.0])).tail(1) == pytest.approx(20)


@pytest.mark.slow
@pytest.mark.parametrize("name", DATASETS)
def test_the_laptop_profile_keeps_the_dimension_of_the_paper(name):
    """The rule of `data calibrate`."""
    known = registry()
    cls = known.load("datasets", name)
    *_, (figure, laptop, paper) = dimensions(known, cls(cls.profiles["laptop"]), cls(cls.profiles["paper"]))
    assert figure.startswith("tail") and 1 / FACTOR <= laptop / paper <= FACTOR


@pytest.mark.parametrize("profile", ["smoke", "laptop"])
@pytest.mark.parametrize("name", DATASETS)
def test_no_profile_is_degenerate(name, profile):
    """Sensors leave 1.5 % or more of the initial field unseen; at paper size 1.5 to 15 %."""
    known = registry()
    cls = known.load("datasets", name)
    dataset = cls(cls.profiles[profile])
    assert dimension(dataset, fields=512).tail(count_sensors(known, dataset)) >= 1.5
