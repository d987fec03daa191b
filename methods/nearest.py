"""Voronoi fill: the value of the nearest sensor in space, then of the nearest observed frame in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from benchmark.core import Dataset, Method, Prediction, Problem, Run, Task, TrajectorySet
from methods.blocks.voronoi import fill_video


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
        values, mask = (v.movedim(-1, 2) for v in (problem.values, problem.mask))  # (B, T, C, H, W)
        return Prediction(fill_video(values, mask, problem.grid).movedim(2, -1)[None])
