"""Voronoi fill: the value of the nearest sensor in space, then of the nearest observed frame in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from benchmark.core import Dataset, Method, Prediction, Problem, Run, Task, TrajectorySet
from methods.blocks.voronoi import fill


@dataclass(frozen=True)
class Settings:
    pass


class Nearest(Method):
    kind = "reference"
    scope = "instance"
    profiles = {"smoke": Settings(), "laptop": Settings(), "paper": Settings()}

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if dataset.steady and task.family != "continuous":
            return "the unseen field of a steady problem has no sensors to copy from"
        return None

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        return self

    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        values, mask = (v.movedim(-1, 2).flatten(3) for v in (problem.values, problem.mask))  # (B, T, C, HW)
        seen = mask.any(-1)  # (B, T, C)
        shape = problem.grid.shape
        filled = values.clone()
        filled[seen] = fill(values[seen].unflatten(-1, shape), mask[seen].unflatten(-1, shape), problem.grid).flatten(1)
        frame = _nearest_frame(seen)[..., None].expand_as(filled)  # (B, T, C, HW)
        return Prediction(filled.gather(1, frame).unflatten(-1, shape).movedim(2, -1)[None])


def _nearest_frame(seen: Tensor) -> Tensor:
    """The observed frame nearest to each frame, the earlier of two: (B, T, C) bool -> (B, T, C) long."""
    t = torch.arange(seen.shape[1], device=seen.device)
    distance = (t[:, None] - t).abs().float()  # (T, T')
    far = torch.where(seen, 0.0, torch.inf)  # (B, T', C)
    return (distance[None, :, :, None] + far[:, None]).argmin(2)
