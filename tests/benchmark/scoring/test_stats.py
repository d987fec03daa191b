import subprocess
import sys

import numpy as np
import pytest

from benchmark.scoring.stats import (
    bootstrap_interval,
    seed_spread,
    student_p,
    student_quantile,
    total_interval,
)


def test_interval_of_equal_values_is_a_point():
    assert bootstrap_interval([2.0] * 7) == pytest.approx((2.0, 2.0), abs=1e-12)
    assert bootstrap_interval([3.5]) == (3.5, 3.5)


def test_interval_of_two_values_is_hand_countable():
    # resamples of {0, 1}: mean 0, 1/2, 1 with probability 1/4, 1/2, 1/4
    assert bootstrap_interval([0.0, 1.0], level=0.95) == (0.0, 1.0)
    # level 0.2 is widened to P(|z| <= sqrt(2) tan(0.2 pi / 2)) = 0.35, whose percentiles are the middle half's
    assert bootstrap_interval([0.0, 1.0], level=0.20) == (0.5, 0.5)


def test_interval_has_the_normal_width_and_is_deterministic():
    values = np.random.default_rng(3).normal(5, 2, size=400)
    low, high = bootstrap_interval(values.tolist())
    assert (low, high) == bootstrap_interval(values.tolist())
    assert (low, high) != bootstrap_interval(values.tolist(), seed=1)
    half = 1.96 * values.std() / 20
    assert low == pytest.approx(values.mean() - half, abs=0.03)
    assert high == pytest.approx(values.mean() + half, abs=0.03)


def test_interval_covers_the_mean_about_as_often_as_it_says():
    draws = np.random.default_rng(0).normal(size=(300, 50))
    covered = [low <= 0 <= high for low, high in map(bootstrap_interval, draws)]
    assert 0.90 <= np.mean(covered) <= 0.98


@pytest.mark.parametrize("bad", [[], [[1.0, 2.0]], [1.0, float("nan")]])
def test_interval_refuses_bad_values(bad):
    with pytest.raises(ValueError, match="values: expected"):
        bootstrap_interval(bad)


def test_interval_refuses_a_bad_level():
    with pytest.raises(ValueError, match="level: expected a number between 0 and 1, got 95"):
        bootstrap_interval([1.0, 2.0], level=95)


@pytest.mark.parametrize("n", [8, 32])
def test_intervals_of_few_trajectories_cover_what_they_say(n):
    """Plain percentiles of 8 normal values cover 89 %."""
    rng, trials = np.random.default_rng(5), 600
    bounds = [bootstrap_interval(rng.normal(0, 1, n).tolist(), seed=i % 7) for i in range(trials)]
    assert np.mean([low <= 0 <= high for low, high in bounds]) == pytest.approx(
        0.95, abs=0.027
    )  # three standard errors


def test_whole_runs_are_resampled():
    # two runs of three and of one trajectory: mean 0, (0 + 3) / 4, 1 with probability 1/4, 1/2, 1/4
    values, runs = [1.0, 1.0, 1.0, 0.0], [7, 7, 7, 2]
    assert bootstrap_interval(values, groups=runs) == (0.0, 1.0)
    assert bootstrap_interval(values, level=0.2, groups=runs) == (0.75, 0.75)


def test_clips_of_few_runs_tell_as_much_as_the_runs():
    runs, clips = [1.0, 4.0, 2.0, 8.0], 25
    values, groups = np.repeat(runs, clips).tolist(), np.repeat(range(4), clips).tolist()
    assert bootstrap_interval(values, groups=groups) == pytest.approx(bootstrap_interval(runs))
    low, high = bootstrap_interval(values)
    assert high - low < 0.3 * np.subtract(*bootstrap_interval(runs)[::-1])  # as if they were a hundred runs
    assert total_interval([values], groups=groups) == pytest.approx(total_interval([runs]))


def test_each_trajectory_needs_its_run():
    with pytest.raises(ValueError, match="groups: expected one for each of 3 trajectories, got 2"):
        bootstrap_interval([1.0, 2.0, 3.0], groups=[0, 1])


def test_the_spread_over_seeds_by_hand():
    assert seed_spread([[1.0, 3.0], [3.0, 5.0], [5.0, 7.0]]) == pytest.approx(2.0)  # of the means 2, 4, 6
    assert seed_spread([[1.0, 3.0]]) is None


def test_student_by_hand():
    # one degree of freedom: P(|t| <= tan a) = 2 a / pi; two: P(|t| <= x) = x / sqrt(2 + x^2)
    assert student_p(1.0, 1) == pytest.approx(0.5, abs=1e-6)
    assert student_p(-3.0, 2) == pytest.approx(1 - 3 / 11**0.5, abs=1e-6)
    assert student_quantile(0.75, 1) == pytest.approx(1.0, abs=1e-5)
    assert student_quantile(0.975, 100) == pytest.approx(1.98397, abs=1e-4)  # tables
    assert student_p(0.0, 7) == 1.0


def test_the_interval_over_trajectories_and_seeds_by_hand():
    # trajectories' means 3, 5: variance 2, over 2 = 1; seeds' means 3, 5: the same; V = 2, f = 2^2 / (1 + 1) = 2
    low, high = total_interval([[2.0, 4.0], [4.0, 6.0]])
    half = student_quantile(0.975, 2) * 2**0.5
    assert (low, high) == pytest.approx((4 - half, 4 + half))
    assert total_interval([[2.0, 2.0], [2.0, 2.0]]) == (2.0, 2.0)


@pytest.mark.parametrize("seed_sd", [0.0, 0.1, 0.5])
def test_the_interval_over_three_seeds_covers_about_as_often_as_it_says(seed_sd):
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(300):
        x = 10 + rng.normal(0, 1, (1, 32)) + rng.normal(0, seed_sd, (3, 1)) + rng.normal(0, 0.3, (3, 32))
        low, high = total_interval(x.tolist())
        covered.append(low <= 10 <= high)
    assert 0.89 <= np.mean(covered) <= 0.99


def test_seeds_need_the_same_trajectories():
    with pytest.raises(ValueError, match=r"equally many trajectories per seed, got \[2, 3\]"):
        total_interval([[1.0, 2.0], [1.0, 2.0, 3.0]])


def test_needs_neither_torch_nor_scipy():
    modules = "benchmark.scoring.paired, benchmark.scoring.metric_table"
    code = f"import sys, {modules}; print({{'torch', 'scipy'}} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "set()"
