"""What is seen of a trajectory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from benchmark.core.grid import Grid
from benchmark.core.problem import Problem, RollOut
from benchmark.core.trajectories import Trajectories

if TYPE_CHECKING:
    from benchmark.core.dataset import Dataset


class Task(ABC):
    """What is seen of a trajectory. Masks are drawn from the generator that comes in, and from nothing else."""

    name: str
    family: Literal["continuous", "forward", "inverse", "long_range"]
    rate: float  # share of a frame's sites that are seen, 1 = the whole frame
    noise: float = 0.0  # of the sensors: standard deviation over that of the observed values
    masks: int = 1  # observations per test trajectory
    roll_out: RollOut = "drop"
    trains: bool = False  # one fit for all tasks of a dataset learns from the tasks that say so

    @property
    def is_sparse(self) -> bool:
        """Whether frames are seen in part, at sensors."""
        return self.family == "continuous" or self.rate < 1

    def with_rate(self, rate: float) -> Task:
        """The same with another share of sites seen, for training; a task that knows no other stays itself."""
        return self

    @abstractmethod
    def mask(self, grid: Grid, generator: torch.Generator) -> Tensor:
        """One trajectory's mask: (T, H, W) bool, True where seen."""

    @abstractmethod
    def observe(self, trajectories: Trajectories, generators: Sequence[torch.Generator]) -> Problem:
        """What a method sees of each trajectory, one generator per trajectory."""

    def unsupported(self, dataset: Dataset) -> str | None:
        """Why this task makes no sense on a dataset, or None. Planning asks whether it has long trajectories."""
        return None
