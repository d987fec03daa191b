"""Metrics of K > 1 samples: fair CRPS, energy score, spread-skill, coverage, sample errors; see `metric_table`.

One frame at a time, so that memory grows with neither frames nor trajectories.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmark.scoring.spectra import relative, total

LEVELS = (50, 80, 95)  # percent


def ensemble_metrics(samples: Tensor, v: Tensor, hidden: Tensor, target: Tensor, steady: bool) -> dict[str, float]:
    """`samples` (K, F, C, H, W) of any dtype; `v` (F, C, H, W) float64; `hidden` (F, C, H, W) bool; `target` (F,)."""
    k = len(samples)
    rows = [_frame_sums(s.to(torch.float64).flatten(1), *rest) for s, *rest in _frames(samples, v, hidden)]
    sums = {name: total(torch.stack([row[name] for row in rows]), steady) for name in rows[0]}  # (G, ...)
    norm = sums["norm2"].sqrt()  # (G,)
    errors = relative(sums["error2"].sqrt(), norm[:, None])  # (G, K)
    mean_error = relative(sums["mean_error2"].sqrt(), norm)  # (G,)
    asked = target if steady else slice(None)  # the groups that `rel_l2` is of
    distance = relative(_pair_distances(sums["gram"]).sum((1, 2)), norm) / (k * (k - 1))  # (G,) mean over pairs
    spread = ((k + 1) / k * sums["variance"]).sqrt()
    coverage = (sums["inside"].sum(0) / sums["hidden"].sum().clamp_min(1)).tolist()
    return {
        "crps": 100 * float(relative(sums["crps"], sums["abs"]).mean()),
        "energy_score": 100 * float((errors.mean(1) - distance / 2).mean()),
        "spread_skill": float(relative(spread, sums["mean_error2"].sqrt()).mean()),
        **{f"coverage_{level}": 100 * c for level, c in zip(LEVELS, coverage, strict=True) if level <= reach(k)},
        "rel_l2_mean": 100 * float(mean_error[asked].mean()),
        "rel_l2_samples": 100 * float(errors[asked].mean()),
        "rel_l2_best": 100 * float(errors[asked].mean(0).min()),
        "diversity": 100 * float(distance.mean()),
    }


def reach(samples: int) -> float:
    """The widest interval, in percent, that so many samples can tell: from the lowest to the highest of them."""
    return 100 * (samples - 1) / (samples + 1)


def _frames(samples: Tensor, v: Tensor, hidden: Tensor):
    return ((samples[:, f], v[f].flatten(), hidden[f].flatten()) for f in range(len(v)))


def _frame_sums(s: Tensor, v: Tensor, hidden: Tensor) -> dict[str, Tensor]:
    """Sums over the sites of one frame; s (K, N), v (N,), hidden (N,)."""
    k = len(s)
    error = s - v
    mean = s.mean(0)
    deviation = s - mean
    ordered = s.sort(0).values
    # sum_{k<l} |s_k - s_l| = sum_j (2j - K + 1) s_(j), j = 0 .. K-1
    rank = torch.arange(1 - k, k, 2, dtype=s.dtype)
    return {
        "crps": error.abs().mean(0).sum() - (rank @ ordered).sum() / (k * (k - 1)),
        "abs": v.abs().sum(),
        "error2": error.square().sum(1),  # (K,)
        "norm2": v.square().sum(),
        "gram": deviation @ deviation.T,  # (K, K)
        "variance": deviation.square().sum() / (k - 1),
        "mean_error2": (mean - v).square().sum(),
        "inside": torch.stack([(_inside(ordered, v, level / 100) & hidden).sum() for level in LEVELS]),
        "hidden": hidden.sum(),
    }


def _inside(ordered: Tensor, v: Tensor, level: float) -> Tensor:
    """Whether v (N,) lies in the central interval of the sorted samples (K, N)."""
    tail = (1 - level) / 2
    return (_quantile(ordered, tail) <= v) & (v <= _quantile(ordered, 1 - tail))


def _quantile(ordered: Tensor, p: float) -> Tensor:
    """At position p (K+1), which puts a new draw of the same law below it with probability p."""
    k = len(ordered)
    position = min(max(p * (k + 1), 1.0), float(k)) - 1
    below = min(int(position), k - 2)
    return torch.lerp(ordered[below], ordered[below + 1], position - below)


def _pair_distances(gram: Tensor) -> Tensor:
    """||s_k - s_l|| (G, K, K) from the inner products of the deviations from the mean."""
    square = gram.diagonal(dim1=1, dim2=2)
    distance2 = square[:, :, None] + square[:, None, :] - 2 * gram
    distance2 = distance2.clamp_min(0)
    distance2.diagonal(dim1=1, dim2=2).zero_()
    return distance2.sqrt()
