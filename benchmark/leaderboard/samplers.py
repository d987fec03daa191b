"""Which rows may be called diffusion: those whose samples are draws of a law, not one answer reached in many steps.

Records of methods that can answer in one step too have that answer's error, `rel_l2_one_step`. Such a method samples if

    error of the mean of 8 samples  <=  1.1 x error of the one-step answer      steps do not make it worse
    0.7  <=  spread-skill of them, pooled  <=  1.3                              and it knows how far it may be off

Pooled over trajectories: the root of their summed variances over that of their summed squared errors, each relative to
its trajectory. The mean of the trajectories' own ratios is above that wherever errors vary, for a perfect sampler too.
"""

from __future__ import annotations

import math

from benchmark.records.record import Record

ONE_STEP = "rel_l2_one_step"
WORSE = 1.1  # at most this times the one-step error
SPREAD = (0.7, 1.3)  # of spread over skill
SAMPLES = 8  # fewer do not tell


def pooled_spread(record: Record) -> float:
    """Spread over skill of all trajectories together."""
    ratios, errors = (record.metrics[name].values for name in ("spread_skill", "rel_l2_mean"))
    spread2 = sum((ratio * error) ** 2 for ratio, error in zip(ratios, errors, strict=True))
    return math.sqrt(spread2 / sum(error**2 for error in errors))


def why_no_sampler(record: Record) -> str | None:
    """What a table says of a record that may not be called diffusion; None: it may, or it never claims to be."""
    if record.state != "done" or ONE_STEP not in record.metrics:
        return None
    if record.settings.get("evaluation", {}).get("samples", 1) < SAMPLES:
        return f"not shown to be a sampler: that takes {SAMPLES} samples"
    error, at_once = (record.metrics[name].mean for name in ("rel_l2_mean", ONE_STEP))
    spread, faults = pooled_spread(record), []
    if error > WORSE * at_once:
        faults.append("the mean of its samples is worse than its answer in one step")
    if not SPREAD[0] <= spread <= SPREAD[1]:
        faults.append(f"spread-skill is {spread:.2f}, not in {SPREAD[0]}-{SPREAD[1]}")
    return f"not a sampler: {', '.join(faults)}" if faults else None
