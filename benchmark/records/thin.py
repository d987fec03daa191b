"""Of trajectories that are too large to keep whole: every so-manieth point and a few frames.

What is kept follows from the size of a trajectory alone, so that all methods of a cell can stand side by side. Points
are those in the middle of their squares, with the values they had; what the sensors said is kept at all sites of the
frames. The answer can then not be scored again, and the errors of the whole trajectories are kept beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

import numpy as np

from benchmark.records.predictions import FIELDS, Predictions, Thinning

POINTS = 64  # along a side, as many as the page shows
WHOLE = 10 * POINTS**2  # values of a field of one trajectory that are all kept: at laptop all are
PART = 8 * POINTS**2  # of a larger one: 64 kB before they are packed


def thinned(p: Predictions, errors: Sequence[float]) -> Predictions:
    """`errors`: the headline of each trajectory in percent."""
    _, t, h, w, c = p.truth.shape
    if t * h * w * c <= WHOLE:
        return p
    step = min(ceil(max(h, w) / POINTS), h, w)
    count = t if p.frame_names else min(t, max(2, PART // (h // step * (w // step) * c)))
    frames = sorted({round(frame) for frame in np.linspace(0, t - 1, count)})
    rows, columns = (slice(step // 2, n // step * step, step) for n in (h, w))
    fields = {name: field[..., frames, :, :, :][..., rows, columns, :] for name in FIELDS
              if (field := getattr(p, name)) is not None}  # fmt: skip
    return replace(
        p,
        **fields,
        mask=p.mask[:, frames],
        values=p.values[:, frames],
        times=tuple(p.times[frame] for frame in frames),
        frames=None if p.frames is None else tuple(k for k, frame in enumerate(frames) if frame in p.frames),
        thinned=Thinning(step, tuple(frames), tuple(errors)),
    )
