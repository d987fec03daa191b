"""Spread over skill of samples, of a whole test set."""

from __future__ import annotations

import math
from collections.abc import Sequence


def pooled_spread(ratios: Sequence[float], errors: Sequence[float]) -> float:
    """Spread over skill of all trajectories together, from each one's ratio and its relative error of the mean."""
    spread2 = sum((ratio * error) ** 2 for ratio, error in zip(ratios, errors, strict=True))
    return math.sqrt(spread2 / sum(error**2 for error in errors))
