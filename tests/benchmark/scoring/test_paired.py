import math

import numpy as np
import pytest

from benchmark.scoring.metric_table import NEGLIGIBLE
from benchmark.scoring.paired import compare, compare_unpaired, holm, not_distinguishable, sign_flips
from benchmark.scoring.stats import student_p


def differ(a, b, alpha=0.05, groups=None):
    """Whether b is shown to be worse than a; with one pair Holm's adjustment changes nothing."""
    return not_distinguishable({"a": [list(a)], "b": [list(b)]}, groups, alpha) == {"a"}


def logs(*seeds):
    return np.array(seeds, dtype=float)


def test_two_outliers_do_not_hide_that_a_method_is_worse_everywhere():
    best, other = [0.014] * 32, [0.05] * 30 + [53.01] * 2
    assert np.mean(other) == pytest.approx(3.36, abs=1e-2)
    # |sum| is reached by all signs as they are, or all turned: by none of the fixed flips, p = 1 / 10000
    assert differ(best, other, alpha=1.01e-4) and not differ(best, other, alpha=0.99e-4)


def test_signs_by_hand():
    assert sign_flips(np.full(6, 0.7)) == 2 / 64  # all signs as they are, or all turned
    # five up, one down: |sum| = 4 or 6 in 2 x 6 + 2 x 1 of 64 flips
    assert sign_flips(np.array([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])) == 14 / 64
    # 3 - 1 - 1 = 1 is the least |sum| that there is
    assert sign_flips(np.array([3.0, -1.0, -1.0])) == 1.0
    # 1, 2, 4: 7 and 5, each with either sign
    assert sign_flips(np.array([-1.0, 2.0, 4.0])) == 4 / 8


def test_five_trajectories_cannot_show_a_difference():
    assert not differ([1.0] * 5, [9.0] * 5)  # p = 2 / 32
    assert differ([1.0] * 6, [9.0] * 6)  # p = 2 / 64


def test_one_trajectory_proves_nothing():
    assert not differ([1.0], [9.0], alpha=1.0)


def test_the_same_method_twice():
    values = np.random.default_rng(0).lognormal(size=32).tolist()
    assert not_distinguishable({"a": [values], "b": [values]}, alpha=1.0) == {"a", "b"}  # p = 1
    assert not_distinguishable({"a": [values] * 3, "b": [values] * 3}, alpha=1.0) == {"a", "b"}


def test_zeros_count_as_rounding():
    assert compare(*(np.log(np.maximum(logs([0.0, 0.0]), NEGLIGIBLE)) for _ in range(2))) == (0.0, 1.0)
    assert not differ([0.0] * 32, [0.0] * 31 + [1e-6], alpha=1.0)  # all below float32's rounding: ratio 1
    assert differ([0.0] * 32, [1.0] * 32)
    one_zero = [0.0] + [1.0] * 31  # one exact trajectory is no proof
    assert not differ(one_zero, [1.0] * 32)


def test_pairing_shows_a_difference_far_smaller_than_the_spread():
    difficulty = np.random.default_rng(0).lognormal(1, 2, size=40)
    noise = 0.02 * np.random.default_rng(1).normal(size=40)
    assert differ(difficulty, difficulty * np.exp(0.03 + noise), alpha=0.01)
    assert not differ(difficulty, difficulty * np.exp(noise - noise.mean()), alpha=0.3)


def test_a_higher_mean_alone_is_not_worse():
    usual = [1.0] * 30 + [1.0] * 2
    often_better = [0.9] * 30 + [50.0] * 2  # mean 3.97, but better on 30 of 32
    assert not differ(usual, often_better)


@pytest.mark.parametrize("n", [4, 8, 32, 100])
def test_false_alarms_stay_near_the_level(n):
    ratios = np.random.default_rng(n).standard_t(3, size=(400, n))
    assert np.mean([sign_flips(r) <= 0.05 for r in ratios]) <= 0.085  # 5 % and three standard errors


def test_seeds_by_hand():
    # r = 2, 4: variance 2 over 2; seed means 2, 4: the same; b does not vary; f = (1 + 1)^2 / (1 / 1 + 1 / 1) = 2
    mean, p = compare(logs([1, 3], [3, 5]), logs([0, 0], [0, 0]))
    assert mean == 3.0 and p == pytest.approx(1 - 3 / math.sqrt(2 * 2 + 9), abs=1e-6)  # t = 3 / sqrt 2
    # b with one seed is taken to vary as much as a: V = 1 + 2 (1/2 + 1/1) = 4; f = 1, that of the two seeds
    assert compare(logs([1, 3], [3, 5]), logs([0, 0]))[1] == student_p(1.5, 1.0)


def test_a_lucky_training_is_no_proof():
    """On all 32 trajectories 10 % better in the mean, but seeds scatter by 20 %."""
    worse = [[1.1 * factor] * 32 for factor in (0.8, 1.0, 1.2)]
    best = [[factor] * 32 for factor in (0.8, 1.0, 1.2)]
    assert not_distinguishable({"best": best, "worse": worse}) == {"best", "worse"}
    assert not_distinguishable({"best": best[1:2], "worse": worse[1:2]}) == {"best"}  # one seed does not show it


@pytest.mark.parametrize("seeds", [(3, 3), (3, 1), (2, 1)])
@pytest.mark.parametrize("seed_sd", [0.02, 0.1, 0.3])
def test_false_alarms_stay_near_the_level_with_few_seeds_of_32_trajectories(seed_sd, seeds):
    rng, alarms, trials = np.random.default_rng(1), 0, 500
    for _ in range(trials):
        difficulty = rng.normal(0, 1, (1, 32))
        a, b = (
            difficulty + rng.normal(0, seed_sd, (n, 1)) + rng.normal(0, 0.1, (1, 32)) + rng.normal(0, 0.1, (n, 32))
            for n in seeds
        )
        alarms += compare(a, b)[1] < 0.05
    assert (0.01 if min(seeds) > 1 else 0.0) <= alarms / trials <= 0.08  # 5 % and three standard errors


def test_clips_of_one_run_are_one_observation():
    best, other, runs = [1.0] * 12, [2.0] * 12, [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    assert differ(best, other)  # 12 independent trajectories: p = 2 / 4096
    assert not differ(best, other, groups=runs)  # four runs: p = 2 / 16
    assert not differ(best, other, groups=runs, alpha=0.125) and differ(best, other, groups=runs, alpha=0.126)


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
    noise = rng.normal(size=32)
    methods = {
        "worse": [(truth * 1.1 * np.exp(0.01 * noise)).tolist()],
        "best": [truth.tolist()],
        "tied": [(truth * np.exp(0.1 * (noise - noise.mean()))).tolist()],
    }
    assert not_distinguishable(methods) == {"best", "tied"}
    assert not_distinguishable({"alone": [[1.0, 2.0]]}) == {"alone"}
    assert not_distinguishable({}) == set()


def test_not_distinguishable_names_the_method_of_other_length():
    with pytest.raises(ValueError, match="got 3 for b and 2 for a"):
        not_distinguishable({"a": [[1.0, 2.0]], "b": [[4.0, 5.0, 6.0]]})


def test_unpaired_errors_are_compared_by_welch_on_logarithms():
    a, b = logs([0.0, 1.0, 2.0, 3.0]), logs([10.0, 11.0, 12.0, 13.0, 14.0])
    mean, p = compare_unpaired(a, b)
    t = -10.5 / math.sqrt(5 / 3 / 4 + 2.5 / 5)
    freedom = (5 / 12 + 0.5) ** 2 / ((5 / 12) ** 2 / 3 + 0.5**2 / 4)
    assert mean == pytest.approx(-10.5) and p == pytest.approx(student_p(t, freedom))
    assert compare_unpaired(a, a) == (0.0, 1.0)
    assert compare_unpaired(logs([0.0]), b)[1] == 1.0  # one run shows no variance
    assert compare_unpaired(logs([1.0, 1.0]), logs([2.0, 2.0])) == (-1.0, 0.0)
