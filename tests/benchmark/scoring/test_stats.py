import subprocess
import sys

import numpy as np
import pytest

from benchmark.scoring.stats import bootstrap_interval, hierarchical_interval, holm, not_distinguishable


def test_interval_of_equal_values_is_a_point():
    assert bootstrap_interval([2.0] * 7) == pytest.approx((2.0, 2.0), abs=1e-12)
    assert bootstrap_interval([3.5]) == (3.5, 3.5)


def test_interval_of_two_values_is_hand_countable():
    # resamples of {0, 1}: mean 0, 1/2, 1 with probability 1/4, 1/2, 1/4
    assert bootstrap_interval([0.0, 1.0], level=0.95) == (0.0, 1.0)
    assert bootstrap_interval([0.0, 1.0], level=0.40) == (0.5, 0.5)


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


def test_one_seed_is_the_plain_interval():
    values = [1.0, 4.0, 2.0, 8.0]
    assert hierarchical_interval([values]) == pytest.approx(bootstrap_interval(values), abs=1e-12)


def test_seeds_widen_the_interval():
    same = hierarchical_interval([[1.0, 2.0, 3.0]] * 3)
    apart = hierarchical_interval([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]])
    assert same == pytest.approx(bootstrap_interval([1.0, 2.0, 3.0]), abs=1e-12)  # agreeing seeds add nothing
    assert apart[0] < same[0] and same[1] < apart[1]


def test_constant_seeds_leave_only_seed_variation():
    # two seeds with means 0 and 1: resampled mean 0, 1/2 or 1
    assert hierarchical_interval([[0.0] * 5, [1.0] * 5]) == pytest.approx((0.0, 1.0), abs=1e-12)
    assert hierarchical_interval([[0.0] * 5, [1.0] * 5], level=0.4) == pytest.approx((0.5, 0.5), abs=1e-12)


def test_seeds_need_the_same_trajectories():
    with pytest.raises(ValueError, match=r"equally many trajectories per seed, got \[2, 3\]"):
        hierarchical_interval([[1.0, 2.0], [1.0, 2.0, 3.0]])


def differ(a, b, alpha=0.05):
    """Whether the paired test tells two methods apart; with one pair Holm's adjustment changes nothing."""
    return len(not_distinguishable({"a": a, "b": b}, alpha)) == 1


def test_pairing_shows_a_difference_far_smaller_than_the_spread():
    difficulty = np.random.default_rng(0).lognormal(1, 1, size=40)  # far larger than the difference
    noise = 0.02 * np.random.default_rng(1).normal(size=40)
    assert differ(difficulty, difficulty + 0.05 + noise, alpha=0.01)
    assert not differ(difficulty, difficulty + noise - noise.mean(), alpha=0.3)
    assert not differ(difficulty, difficulty, alpha=1.0)  # p = 1


def test_the_same_difference_everywhere_is_as_sure_as_can_be():
    a, b = [1.0, 2.0, 3.0], [0.5, 1.5, 2.5]
    assert differ(a, b, alpha=1.01 / 2001) and not differ(a, b, alpha=0.99 / 2001)  # p = 1 / 2001


def test_one_trajectory_proves_nothing():
    assert not differ([1.0], [9.0], alpha=1.0)


@pytest.mark.parametrize("n", [4, 8, 32, 100])
def test_false_alarms_stay_near_the_level(n):
    differences = np.random.default_rng(n).normal(size=(400, n))
    alarms = [differ(d, np.zeros(n)) for d in differences]
    assert np.mean(alarms) <= 0.085  # 5 % and three standard errors


def test_holm_by_hand():
    # sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04; the running maximum lifts the last to .06
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, 1.5])


def test_not_distinguishable_keeps_the_best_and_its_equals():
    rng = np.random.default_rng(0)
    truth = rng.uniform(1, 10, size=32)
    methods = {
        "worse": (truth + 1 + 0.1 * rng.normal(size=32)).tolist(),
        "best": truth.tolist(),
        "tied": (truth + 0.02 + 0.5 * rng.normal(size=32)).tolist(),
    }
    methods["tied"] = (np.array(methods["tied"]) - np.mean(methods["tied"]) + truth.mean() + 0.02).tolist()
    assert not_distinguishable(methods) == {"best", "tied"}
    assert not_distinguishable({"alone": [1.0, 2.0]}) == {"alone"}
    assert not_distinguishable({}) == set()


def test_not_distinguishable_names_the_method_of_other_length():
    with pytest.raises(ValueError, match="got 3 for b and 2 for a"):
        not_distinguishable({"a": [1.0, 2.0], "b": [4.0, 5.0, 6.0]})


def test_needs_neither_torch_nor_scipy():
    modules = "benchmark.scoring.stats, benchmark.scoring.metric_table"
    code = f"import sys, {modules}; print({{'torch', 'scipy'}} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "set()"
