"""The scale of errors: one for all methods of a task and dataset, so that two of them can be compared by eye.

    linear        0 to the 99.5th percentile of what all of them are off by
    logarithmic   to the same end, from a hundredth of that percentile of the best of them alone

as `plot` has them. A method that is off by a hundredth of what others are is blank on the first, and shows on the
second.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

OUTLIERS = 99.5  # percentile at which the scale ends
DECADES = 2  # below the end of the best method that a logarithmic scale shows
DEEPEST = 4  # decades that it has at most
TINY = 1e-30


def error_scale(errors: Sequence[np.ndarray], rounding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the logarithmic scale begins and both end (C, groups), from what each method is off by (C, groups, n).

    NaN is what a method does not predict. `rounding` (C, groups): what storing the predictions leaves of an exact one.
    """
    ends = np.stack([_ends(one) for one in errors])  # (methods, C, groups)
    end = np.maximum(np.maximum(_ends(np.concatenate(errors, axis=2)), 10 * rounding), TINY)
    best = np.min(np.where(ends > 0, ends, np.inf), axis=0)  # an exact one has no place on the scale
    return np.clip(best / 10**DECADES, end / 10**DEEPEST, end / 10), end


def _ends(errors: np.ndarray) -> np.ndarray:
    """(C, groups, n) -> (C, groups); 0 where nothing is predicted."""
    known = [[group[~np.isnan(group)] for group in channel] for channel in errors]
    return np.array([[np.percentile(group, OUTLIERS) if len(group) else 0.0 for group in own] for own in known])
