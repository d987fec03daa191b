import pytest

from benchmark.scoring.spread import pooled_spread


def test_trajectories_count_by_their_errors():
    """Variances (1 x 10)^2 and (0.5 x 40)^2 over squared errors 10^2 and 40^2: the mean of the ratios would be 0.75."""
    assert pooled_spread([1.0], [7.0]) == 1.0
    assert pooled_spread([1.0, 0.5], [10.0, 40.0]) == pytest.approx((500 / 1700) ** 0.5)
