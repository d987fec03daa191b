"""How sure is a mean? Intervals over test trajectories and seeds. Numpy only; `paired` asks whether two differ.

Clips that are cut out of one long run, or several masks on one trajectory, are not independent: `groups` names the run
of each value, and everything here then draws or counts whole runs. Without it every value is a run of its own.

Resampling is deterministic and cheap: a bootstrap sample of n runs is a row of weights, the rows depend on
(n, resamples, seed) alone, and all means come from one matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

RESAMPLES = 2000
Groups = Sequence[int] | None  # the run of each trajectory; None: each is its own


@lru_cache(maxsize=32)
def _weights(n: int, resamples: int, seed: int) -> np.ndarray:
    """(resamples, n): how often each of n values is drawn, over n; each row sums to 1."""
    draws = np.random.default_rng(seed).integers(n, size=(resamples, n))
    rows = np.arange(resamples)[:, None]
    counts = np.bincount((rows * n + draws).ravel(), minlength=resamples * n).reshape(resamples, n)
    weights = counts / n
    weights.flags.writeable = False
    return weights


def checked(name: str, values: Sequence[float]) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name}: expected one or more numbers, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got {array[~np.isfinite(array)][0]}")
    return array


def checked_seeds(name: str, values_by_seed: Sequence[Sequence[float]]) -> np.ndarray:
    """(seeds, n)"""
    rows = [checked(name, values) for values in values_by_seed]
    if len({len(row) for row in rows}) != 1:
        raise ValueError(f"{name}: expected equally many trajectories per seed, got {[len(r) for r in rows]}")
    return np.stack(rows)


def run_sums(x: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Sums (..., runs) of x (..., n) over the trajectories of each run, and how many those are (runs,)."""
    if groups is None:
        return x, np.ones(x.shape[-1])
    if len(groups) != x.shape[-1]:
        raise ValueError(f"groups: expected one for each of {x.shape[-1]} trajectories, got {len(groups)}")
    _, index, counts = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    member = np.eye(len(counts))[index]  # (n, runs)
    return x @ member, counts.astype(np.float64)


def bootstrap_interval(
    values: Sequence[float], level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0, groups: Groups = None
) -> tuple[float, float]:
    """Percentile interval of the mean over trajectories, resampling runs with all their trajectories.

    A bootstrap sees (n - 1) / n of the variance, and few runs have heavier tails than a normal law. The percentiles are
    therefore those that make the interval of normal data Student's (expanded percentiles, Hesterberg 2015).
    """
    _check_level(level)
    sums, counts = run_sums(checked("values", values), groups)
    weights, wide = _weights(len(counts), resamples, seed), _expanded(level, len(counts))
    means = weights @ sums if groups is None else (weights @ sums) / (weights @ counts)
    low, high = np.quantile(means, [(1 - wide) / 2, (1 + wide) / 2])
    return float(low), float(high)


@lru_cache(maxsize=64)
def _expanded(level: float, n: int) -> float:
    """The level whose normal quantile is sqrt(n / (n - 1)) times Student's of the level asked for."""
    if n == 1:
        return level
    return math.erf(math.sqrt(n / (n - 1)) * student_quantile((1 + level) / 2, n - 1.0) / math.sqrt(2))


def seed_spread(values_by_seed: Sequence[Sequence[float]]) -> float | None:
    """Standard deviation of the seeds' means; None for one seed, which does not show it."""
    means = checked_seeds("values_by_seed", values_by_seed).mean(1)
    return float(means.std(ddof=1)) if len(means) > 1 else None


def total_interval(
    values_by_seed: Sequence[Sequence[float]], level: float = 0.95, groups: Groups = None
) -> tuple[float, float]:
    """Interval of the mean over trajectories and trainings: what other test data and other seeds might give.

    mean +- t sqrt(V), V = Var_runs / runs + Var_seeds / seeds, with Satterthwaite's degrees of freedom. All seeds are
    scored on the same trajectories, so the first variance is that of the seeds' mean on a run. Resampling three seeds
    would give too narrow an interval: a bootstrap sees only (seeds - 1) / seeds of their variance.
    """
    _check_level(level)
    x = checked_seeds("values_by_seed", values_by_seed)  # (seeds, n)
    sums, counts = run_sums(x, groups)
    runs = sums.mean(0) / counts.mean()  # (runs,), its mean is that over trajectories
    mean = float(x.mean())
    residual = runs - mean * counts / counts.mean()
    parts = [Part.of_mean(residual), Part.of_mean(x.mean(1))]
    variance, freedom = combined([part for part in parts if part])
    half = student_quantile((1 + level) / 2, freedom) * variance**0.5 if variance else 0.0
    return mean - half, mean + half


class Part(NamedTuple):
    """One source of variance: its share in the variance of a mean, and the degrees of freedom it is estimated with."""

    variance: float
    freedom: int

    @classmethod
    def of_mean(cls, values: np.ndarray) -> Part | None:
        """Of the mean of independent values; None where a single one shows no variance."""
        n = len(values)
        return cls(float(values.var(ddof=1)) / n, n - 1) if n > 1 else None


def combined(parts: Sequence[Part]) -> tuple[float, float]:
    """The sum of the variances, and its degrees of freedom after Satterthwaite: V^2 / sum_i (V_i^2 / f_i)."""
    variance = sum(part.variance for part in parts)
    spread = sum(part.variance**2 / part.freedom for part in parts)
    return variance, variance**2 / spread if spread else 1.0


def student_p(t: float, freedom: float) -> float:
    """Two-sided p-value of Student's t."""
    angle, cumulative = _student(freedom)
    return float(1 - np.interp(np.arctan2(abs(t), freedom**0.5), angle, cumulative))


def student_quantile(p: float, freedom: float) -> float:
    """Where Student's distribution reaches p >= 1/2."""
    angle, cumulative = _student(freedom)
    return float(freedom**0.5 * np.tan(np.interp(2 * p - 1, cumulative, angle)))


def _student(freedom: float, points: int = 4001) -> tuple[np.ndarray, np.ndarray]:
    """P(|t| <= sqrt(f) tan theta) = int_0^theta cos^(f-1) / int_0^(pi/2) cos^(f-1), on a grid; exact to about 1e-7."""
    angle = np.linspace(0, np.pi / 2, points)
    density = np.maximum(np.cos(angle), 0) ** (freedom - 1)
    cumulative = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    return angle, cumulative / cumulative[-1]


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level: expected a number between 0 and 1, got {level}")
