"""The floor: the mean of the training set, whatever is observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch

from benchmark.core import Method, Prediction, Problem, Run, Task, TrajectorySet
from methods.blocks.statistics import extend, mean_frames


@dataclass(frozen=True)
class Settings:
    trajectories: int = 1024  # of the training set, at most


class Mean(Method):
    """Observed values are kept; frames beyond those of the training set get the mean of its last frame."""

    kind = "reference"
    scope = "dataset"
    profiles = {"smoke": Settings(), "laptop": Settings(), "paper": Settings(trajectories=256)}

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        self.mean_ = mean_frames(train, self.settings.trajectories)  # (T, 1, 1, C)
        return self

    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        mean = extend(self.mean_.to(problem.values), problem.values.shape[1])
        return Prediction(torch.where(problem.mask, problem.values, mean)[None])
