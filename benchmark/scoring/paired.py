"""Is one method better than another? Paired tests on log ratios of errors, over test trajectories and seeds.

The question: on trajectories like these (and, with several seeds, after trainings like these), does the method's error
differ from that of the best by a factor other than 1? With errors e_i of the method and b_i of the best,

    r_i = ln(e_i / b_i),   null hypothesis: r_i and -r_i are equally likely.

Ratios, as trajectories differ in difficulty by orders of magnitude: in plain differences two hard trajectories can hide
that a method is worse on all of them. Errors below NEGLIGIBLE count as NEGLIGIBLE; so two exact
zeros have ratio 1, and a zero against an error is a large but finite ratio.

One seed each: sign flips. If exchanging the two methods on a trajectory changes nothing, each sign of r_i is a fair
coin: p is the share of flips with |mean| at least that observed, of all 2^n of them up to n = EXACT, else
p = (1 + #) / (FLIPS + 1) with FLIPS fixed random ones. Nothing is assumed of the law of r, but nothing is known of
other trainings: the answer is about these two networks.

Several seeds: with A and B seeds, D = mean of r over seeds and trajectories has three sources of variance,

    V = Var_i(r_i averaged over seeds) / n + Var(seed means of one) / A + Var(seed means of the other) / B,

and D / sqrt(V) is compared with Student's t at Satterthwaite's degrees of freedom. Signs of two or three seeds could
never reach 5 %, and resampling them sees only a part of their variance; the t-test needs the seeds' mean logarithms to
be about normal. Noise that belongs to a seed and a trajectory at once is counted in two of the three terms: the test is
a little conservative. Where only one of the two has several seeds, the other is taken to vary as much, and the degrees
of freedom are those of the seeds: Satterthwaite's would reject too often.

`groups` names the run of each trajectory where runs are shared (see `stats`): r_i is then the mean over a run's
trajectories, and whole runs are flipped and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from benchmark.scoring.metric_table import NEGLIGIBLE
from benchmark.scoring.stats import Groups, Part, checked_seeds, combined, run_sums, student_p

EXACT = 12  # runs up to which all sign flips are tried
FLIPS = 9999


def not_distinguishable(
    per_method: Mapping[str, Sequence[Sequence[float]]], groups: Groups = None, alpha: float = 0.05
) -> set[str]:
    """The method of lowest mean, and those that are not shown to be worse than it.

    Shown to be worse: the ratio to the best is above 1 on average (geometric mean) and the two-sided test, adjusted
    after Holm for all comparisons of the table's column, says so at level `alpha`. A method of higher mean that has the
    lower error on most trajectories is therefore never told apart. The best is chosen on the same trajectories, which
    the level does not account for.

    `per_method`: errors in percent (seeds, n) of each on the same trajectories, lower is better.
    """
    errors = {name: checked_seeds(name, values) for name, values in per_method.items()}
    if not errors:
        return set()
    best = min(errors, key=lambda name: errors[name].mean())
    others = [name for name in errors if name != best]
    logs = {name: run_logs(_same_length(name, x, best, errors[best]), groups) for name, x in errors.items()}
    tests = [compare(logs[name], logs[best]) for name in others]
    adjusted = holm([p for _, p in tests])
    worse = {name for name, (ratio, _), p in zip(others, tests, adjusted, strict=True) if ratio > 0 and p < alpha}
    return set(errors) - worse


def can_tell(per_method: Mapping[str, Sequence[Sequence[float]]], groups: Groups = None, alpha: float = 0.05) -> bool:
    """Whether any outcome could show one of these methods to be worse; with one seed each, few signs never do."""
    errors = [checked_seeds(name, values) for name, values in per_method.items()]
    if len(errors) < 2 or any(len(x) > 1 for x in errors):
        return True
    runs = run_logs(errors[0], groups).shape[1]
    return least_p(runs) * (len(errors) - 1) < alpha


def least_p(runs: int) -> float:
    """The smallest p-value of sign flips: all signs alike, which is two of the flips."""
    return 2 / 2**runs if runs <= EXACT else 1 / (FLIPS + 1)


def compare(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Mean log ratio and two-sided p-value, from logarithms (seeds, runs) of the errors of two methods."""
    ratios = a.mean(0) - b.mean(0)
    mean, parts = float(ratios.mean()), [Part.of_mean(ratios), *_training(a.mean(1), b.mean(1))]
    variance, freedom = combined([part for part in parts if part])
    if 1 in (len(a), len(b)) and len(parts) > 1:  # one training stands for many: no more freedom than the others give
        freedom = min(freedom, max(len(a), len(b)) - 1.0)
    if len(parts) == 1 or parts[0] is None or variance <= (1e-12 * mean) ** 2:  # one seed, or nothing varies at all
        return mean, sign_flips(ratios)
    return mean, student_p(mean / variance**0.5, freedom)


def compare_unpaired(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """As `compare`, of errors on different data, (seeds, runs) each: Welch's test on the mean logarithms of runs."""
    mean, parts = float(a.mean() - b.mean()), [Part.of_mean(x.mean(0)) for x in (a, b)]
    if None in parts:  # a single run shows no variance
        return mean, 1.0
    variance, freedom = combined([part for part in (*parts, *_training(a.mean(1), b.mean(1))) if part])
    if not variance:
        return mean, 0.0 if mean else 1.0
    return mean, student_p(mean / variance**0.5, freedom)


def _training(a: np.ndarray, b: np.ndarray) -> list[Part | None]:
    """Variance that comes from training, from the mean logarithm of each seed."""
    if len(a) > 1 and len(b) > 1:
        return [Part.of_mean(a), Part.of_mean(b)]
    many = max(a, b, key=len)
    if len(many) == 1:
        return []
    return [Part(float(many.var(ddof=1)) * (1 / len(a) + 1 / len(b)), len(many) - 1)]


def sign_flips(ratios: np.ndarray) -> float:
    """Two-sided p-value of n log ratios; 1 for a single one."""
    flips = _flips(len(ratios))
    rounding = 1e-12 * np.abs(ratios).sum()
    beyond = int((np.abs(flips @ ratios) >= abs(ratios.sum()) - rounding).sum())
    return beyond / len(flips) if len(ratios) <= EXACT else (1 + beyond) / (FLIPS + 1)


@lru_cache(maxsize=8)
def _flips(n: int) -> np.ndarray:
    """(flips, n) of +1 and -1: all of them, or FLIPS that depend on n alone."""
    if n <= EXACT:
        bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
    else:
        bits = np.random.default_rng(0).integers(2, size=(FLIPS, n))
    signs = 1.0 - 2.0 * bits
    signs.flags.writeable = False
    return signs


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given: max over smaller p of (m - rank) p, at most 1."""
    p = np.asarray(p_values, dtype=np.float64)
    if ((p < 0) | (p > 1) | np.isnan(p)).any():
        raise ValueError(f"p_values: expected numbers between 0 and 1, got {p.tolist()}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]), 1)
    return adjusted.tolist()


def run_logs(errors: np.ndarray, groups: Groups) -> np.ndarray:
    """Errors (seeds, n) -> (seeds, runs): the mean logarithm over the trajectories of each run."""
    sums, counts = run_sums(np.log(np.maximum(errors, NEGLIGIBLE)), groups)
    return sums / counts


def _same_length(name: str, x: np.ndarray, best: str, other: np.ndarray) -> np.ndarray:
    if x.shape[1] != other.shape[1]:
        raise ValueError(f"expected the same trajectories, got {x.shape[1]} for {name} and {other.shape[1]} for {best}")
    return x
