"""Nothing moves: the observed frame at all times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch

from benchmark.core import Dataset, Method, Prediction, Problem, Run, Task, TrajectorySet
from methods.blocks.voronoi import fill


@dataclass(frozen=True)
class Settings:
    pass


class Persistence(Method):
    """Repeats the one observed frame; where only some of its sites are seen, the nearest sensor fills the others."""

    kind = "reference"
    scope = "instance"
    profiles = {"smoke": Settings(), "laptop": Settings(), "paper": Settings()}

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if dataset.steady:
            return "the frames of a steady problem are different fields: there is nothing to repeat"
        if task.family == "continuous":
            return "every frame is observed: there is no single frame to repeat (see nearest)"
        return None

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        return self

    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        frame = _observed_frame(problem)
        values, mask = (v[:, frame].movedim(-1, 1).flatten(0, 1) for v in (problem.values, problem.mask))  # (B C, H, W)
        b, t, h, w, c = problem.values.shape
        still = fill(values, mask, problem.grid).view(b, c, h, w).movedim(1, -1)  # (B, H, W, C)
        return Prediction(still[None, :, None].repeat(1, 1, t, 1, 1, 1))


def _observed_frame(problem: Problem) -> int:
    seen = problem.mask.any(-1).any(-1).any(-1)  # (B, T)
    if not (seen == seen[0]).all() or seen[0].sum() != 1:
        raise ValueError(f"persistence: expected one observed frame, got {seen.sum(1).tolist()}")
    return int(torch.argmax(seen[0].int()))
