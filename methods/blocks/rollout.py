"""A model of T frames on a longer trajectory: window after window, each from the last frame of the one before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from benchmark.core import Problem

WINDOWS = ("drop", "keep")


def rollout(predict: Callable[[Problem], Tensor], problem: Problem, frames: int, window: str = "drop") -> Tensor:
    """`predict` maps a problem of `frames` frames to videos (B, frames, H, W, C); returns all frames of `problem`.

    window = "drop": a window's first frame repeats the last one known and is dropped; "keep": it counts as a new frame.
    Only the first window sees observations; what is seen later than that is refused.
    """
    total = problem.values.shape[1]
    if problem.mask[:, frames:].any():
        raise ValueError(f"rollout: expected observations in the first {frames} frames only")
    if window not in WINDOWS:
        raise ValueError(f"window: expected drop or keep, got {window!r}")
    current = replace(
        problem, values=problem.values[:, :frames], mask=problem.mask[:, :frames], grid=problem.grid.window(frames)
    )
    video = predict(current)
    while video.shape[1] < total:
        values, mask = torch.zeros_like(current.values), torch.zeros_like(current.mask)
        values[:, 0], mask[:, 0] = video[:, -1], True
        new = predict(replace(current, values=values, mask=mask))
        video = torch.cat([video, new[:, 1:] if window == "drop" else new], dim=1)
    return video[:, :total]


def windows(total: int, frames: int, window: str = "drop") -> int:
    """How many of `frames` frames cover `total`."""
    return 1 + max(0, -(-(total - frames) // (frames - (window == "drop"))))
