"""Is the difference real? Intervals and tests over test trajectories and seeds. Numpy only.

Resampling is deterministic and cheap: a bootstrap sample of n trajectories is a row of weights, the rows depend on
(n, resamples, seed) alone, and all means come from one matrix product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

RESAMPLES = 2000


@lru_cache(maxsize=32)
def _weights(n: int, resamples: int, seed: int) -> np.ndarray:
    """(resamples, n): how often each of n values is drawn, over n; each row sums to 1."""
    draws = np.random.default_rng(seed).integers(n, size=(resamples, n))
    rows = np.arange(resamples)[:, None]
    counts = np.bincount((rows * n + draws).ravel(), minlength=resamples * n).reshape(resamples, n)
    weights = counts / n
    weights.flags.writeable = False
    return weights


def _checked(name: str, values: Sequence[float]) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name}: expected one or more numbers, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: expected finite numbers, got {array[~np.isfinite(array)][0]}")
    return array


def _interval(means: np.ndarray, level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise ValueError(f"level: expected a number between 0 and 1, got {level}")
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bootstrap_interval(
    values: Sequence[float], level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Percentile interval of the mean, resampling trajectories."""
    x = _checked("values", values)
    return _interval(_weights(len(x), resamples, seed) @ x, level)


def hierarchical_interval(
    values_by_seed: Sequence[Sequence[float]], level: float = 0.95, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float, float]:
    """Percentile interval of the mean over seeds and trajectories, resampling seeds, then trajectories.

    All seeds are scored on the same test trajectories, so a resample draws those once for all its seeds: drawn anew for
    each seed, they would average out and the interval would be too narrow. One seed gives `bootstrap_interval`.
    """
    rows = [_checked("values_by_seed", values) for values in values_by_seed]
    if len({len(row) for row in rows}) != 1:
        raise ValueError(f"values_by_seed: expected equally many trajectories per seed, got {[len(r) for r in rows]}")
    x = np.stack(rows)  # (seeds, n)
    seeds = _weights(len(x), resamples, seed + 1)  # another stream than the trajectories'
    trajectories = _weights(x.shape[1], resamples, seed)
    return _interval(((seeds @ x) * trajectories).sum(1), level)


def _difference(name_a: str, a: np.ndarray, name_b: str, b: np.ndarray) -> np.ndarray:
    if len(a) != len(b):
        raise ValueError(f"expected the same trajectories, got {len(a)} for {name_a} and {len(b)} for {name_b}")
    return a - b


def _bootstrap_t(differences: np.ndarray, seed: int) -> np.ndarray:
    """Two-sided p-values (m,) of mean 0, for m rows of n differences.

    t = mean / sd is compared with its law under resampling of the centred differences:
    p = (1 + #{|t*| >= |t|}) / (R + 1).
    The division by the resample's own sd keeps the test honest for few trajectories. A resample without spread says
    nothing and counts against a difference, as does a single trajectory.
    """
    m, n = differences.shape
    mean = differences.mean(1)
    centred = differences - mean[:, None]
    sd = np.sqrt((centred**2).mean(1))
    exact = sd <= 1e-12 * np.abs(mean)  # the same difference everywhere
    if n == 1:
        return np.ones(m)
    weights = _weights(n, RESAMPLES, seed)
    means = weights @ centred.T  # (R, m)
    spread2 = np.maximum(weights @ (centred**2).T - means**2, 0)
    # |mean*| / sd* >= |mean| / sd, without the divisions
    beyond = (means * sd) ** 2 >= mean**2 * spread2 * (1 - 1e-12)
    p = (1 + beyond.sum(0)) / (RESAMPLES + 1)
    return np.where(exact, np.where(mean == 0, 1.0, 1 / (RESAMPLES + 1)), p)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given: max over smaller p of (m - rank) p, at most 1."""
    p = np.asarray(p_values, dtype=np.float64)
    if ((p < 0) | (p > 1) | np.isnan(p)).any():
        raise ValueError(f"p_values: expected numbers between 0 and 1, got {p.tolist()}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]), 1)
    return adjusted.tolist()


def not_distinguishable(per_method: Mapping[str, Sequence[float]], alpha: float = 0.05) -> set[str]:
    """The method of lowest mean, and those whose paired difference from it is not significant after Holm's adjustment.

    `per_method` holds each method's errors on the same trajectories, lower is better (negate what should be high).
    """
    values = {name: _checked(name, x) for name, x in per_method.items()}
    if not values:
        return set()
    best = min(values, key=lambda name: values[name].mean())
    others = [name for name in values if name != best]
    if not others:
        return {best}
    differences = np.stack([_difference(name, values[name], best, values[best]) for name in others])
    adjusted = holm(_bootstrap_t(differences, seed=0).tolist())
    return {best} | {name for name, p in zip(others, adjusted, strict=True) if p >= alpha}
