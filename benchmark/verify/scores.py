"""Every mean and interval is computed again from the values stored with it.

The headline is stored in full, other metrics' values to DIGITS significant digits, of which a mean and the bounds of an
interval, being weighted means with weights that sum to 1, are off by no more than the largest value. Curves have no
values: their mean over frames is `rel_l2_frame`, and one end of them `rel_l2_end`. Intervals of an earlier scorer
follow another law and are not computed again.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmark.records.record import DIGITS, HEADLINE, SCORER_VERSION, MetricScore, Record
from benchmark.scoring.stats import bootstrap_interval
from benchmark.verify.check import Check, Selection

TIER = "scores"
ROUNDING = 0.5 * 10.0 ** (1 - DIGITS)  # relative, of a stored value
ARITHMETIC = 1e-9  # relative, of a sum of floats in another order


def check(selection: Selection) -> Iterator[Check]:
    for path, record in selection.records:
        if record.state == "done":
            selection.progress(str(path))
            old = f", intervals of scorer version {record.basis.scorer} not checked" if _is_old(record) else ""
            yield Check(TIER, path, tuple(score_faults(record)), f"{len(record.metrics)} metrics{old}")


def score_faults(record: Record) -> list[str]:
    faults = []
    for name, score in record.metrics.items():
        if score.values:
            share = ARITHMETIC + (0.0 if name == HEADLINE else ROUNDING)
            slack = share * max(map(abs, score.values))
            faults += [] if _is_old(record) else _interval(name, score, slack, record.groups)
            faults += _differ(f"{name}: mean", score.mean, sum(score.values) / len(score.values), slack)
    return [*faults, *_curve(record)]


def _is_old(record: Record) -> bool:
    return record.basis.scorer < SCORER_VERSION


def _interval(name: str, score: MetricScore, slack: float, groups: tuple[int, ...] | None) -> list[str]:
    low, high = bootstrap_interval(score.values, groups=groups)
    return _differ(f"{name}: low", score.low, low, slack) + _differ(f"{name}: high", score.high, high, slack)


def _differ(what: str, stored: float, computed: float, slack: float) -> list[str]:
    off = abs(stored - computed) > slack
    return [f"{what} {stored:.8g}, recomputed {computed:.8g}"] if off else []


def _curve(record: Record) -> list[str]:
    metrics = record.metrics
    if not {"rel_l2_curve", "rel_l2_frame", "rel_l2_end"} <= set(metrics):
        return []
    curve, frame, end = (metrics[f"rel_l2_{part}"].mean for part in ("curve", "frame", "end"))
    slack = (ARITHMETIC + ROUNDING) * max(map(abs, curve))
    nearest = min(curve[0], curve[-1], key=lambda value: abs(value - end))
    faults = _differ("curve: rel_l2_frame", frame, sum(curve) / len(curve), slack)
    return faults + _differ("curve: rel_l2_end", end, nearest, slack)
