"""Which rows may be called diffusion: those whose samples are draws of a law, not one answer reached in many steps.

A learned method that gives several samples samples if

    0.7  <=  spread-skill of 8 of them, pooled  <=  1.3                    it knows how far it may be off
    error of the mean of them  <=  1.1 x error of the one-step answer      and steps do not make it worse

The second holds for methods that can answer in one step too: their records have that answer's error, `rel_l2_one_step`.

Pooled over trajectories: the root of their summed variances over that of their summed squared errors, each relative to
its trajectory. The mean of the trajectories' own ratios is above that wherever errors vary, for a perfect sampler too.
"""

from __future__ import annotations

from benchmark.records.record import Record
from benchmark.scoring.spread import pooled_spread

ONE_STEP = "rel_l2_one_step"
SPREAD_SKILL = "spread_skill"
WORSE = 1.1  # at most this times the one-step error
SPREAD = (0.7, 1.3)  # of spread over skill
SAMPLES = 8  # fewer do not tell


def spread_of(record: Record) -> float:
    """Spread over skill of all its trajectories together."""
    return pooled_spread(*(record.metrics[name].values for name in (SPREAD_SKILL, "rel_l2_mean")))


def why_no_sampler(record: Record) -> str | None:
    """What a table says of a record that may not be called diffusion; None: it may, or it never claims to be."""
    claims = ONE_STEP in record.metrics or SPREAD_SKILL in record.metrics
    if record.state != "done" or record.is_reference or not claims:
        return None
    if record.settings.get("evaluation", {}).get("samples", 1) < SAMPLES:
        return f"not shown to be a sampler: that takes {SAMPLES} samples"
    faults = [*_worse_than_one_step(record), *_off_spread(record)]
    return f"not a sampler: {', '.join(faults)}" if faults else None


def _worse_than_one_step(record: Record) -> list[str]:
    if ONE_STEP not in record.metrics:
        return []
    error, at_once = (record.metrics[name].mean for name in ("rel_l2_mean", ONE_STEP))
    return ["the mean of its samples is worse than its answer in one step"] if error > WORSE * at_once else []


def _off_spread(record: Record) -> list[str]:
    spread = spread_of(record)
    inside = SPREAD[0] <= spread <= SPREAD[1]
    return [] if inside else [f"spread-skill is {spread:.2f}, not in {SPREAD[0]}-{SPREAD[1]}"]
