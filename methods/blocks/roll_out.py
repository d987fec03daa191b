"""A model of T frames on a longer trajectory: window after window, each from the last frame of the one before.

`Problem.roll_out` says what becomes of the frame that two windows share: `drop` it from the second,
or `keep` it there as a new frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from benchmark.core import Problem


def roll_out(answer: Callable[[Problem], Tensor], problem: Problem, frames: int) -> Tensor:
    """`answer` maps a problem of `frames` frames to videos (B, frames, H, W, C); returns all frames of `problem`.

    Only the first window sees observations; what is seen later than that is refused.
    """
    total = problem.values.shape[1]
    if total == frames:
        return answer(problem)
    if problem.mask[:, frames:].any():
        raise ValueError(f"roll-out: expected observations in the first {frames} frames only")
    current = replace(
        problem, values=problem.values[:, :frames], mask=problem.mask[:, :frames], grid=problem.grid.first(frames)
    )
    video = answer(current)
    while video.shape[1] < total:
        values, mask = torch.zeros_like(current.values), torch.zeros_like(current.mask)
        values[:, 0], mask[:, 0] = video[:, -1], True
        new = answer(replace(current, values=values, mask=mask))
        video = torch.cat([video, new[:, 1:] if problem.roll_out == "drop" else new], dim=1)
    return video[:, :total]


def windows(problem: Problem, frames: int) -> int:
    """How many windows of `frames` frames cover the problem."""
    total = problem.values.shape[1]
    return 1 + max(0, -(-(total - frames) // (frames - (problem.roll_out == "drop"))))


def keep_observed(video: Tensor, problem: Problem) -> Tensor:
    """What was observed is known, unless it is noisy."""
    return video if problem.noise > 0 else torch.where(problem.mask, problem.values, video)
