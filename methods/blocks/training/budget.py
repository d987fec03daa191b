"""How long a fit goes on: its settings, where it stands, and what is due."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from methods.blocks.training.optimiser import Optimiser


@dataclass
class Progress:
    """Where a fit stands; also what it returns."""

    steps: int = 0
    seconds: float = 0.0
    first_loss: float | None = None
    validated: int = 0  # validations done
    best: float = math.inf  # the lowest validation error, and the step it was seen at
    best_step: int = 0
    step_flop: int = 0  # of one step, on all processes; 0: not counted


MEMORY = ("checkpoint_seconds", "at_once")  # settings of `Training` that move no number


@dataclass(frozen=True)
class Training:
    """Defaults: the paper's hyper-parameter table; what it leaves open is marked (HDiT: as the reference code does).

    A budget is a number of steps, never of seconds: the same weights come out however busy the machine is.
    """

    steps: int = 50_000
    curriculum: float = 0.0  # ours; share of the steps in which masks are denser than the task's, see `Observations`
    batch: int = 48  # trajectories per step, of all devices together: the size of `ShuffledBatches`
    optimiser: Optimiser = Optimiser()
    ema: float = 0.9999  # open (HDiT); 0: no average
    ema_power: float = 0.75  # open (HDiT)
    precision: Literal["32-true", "bf16-mixed"] = "bf16-mixed"  # on a GPU; a CPU computes in float32
    compile: bool = False  # open
    validations: int = 10  # open; evenly spread, the last one at the end
    keep: Literal["best", "last"] = "best"  # open; which of the validated weights
    checkpoint_seconds: float = 60.0  # between checkpoints
    at_once: int = 0  # examples of a batch that a device has in one pass, gradients added up; 0: all of its share

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"training: expected a budget of 1 step or more, got {self.steps}")
        if not 0 <= self.curriculum <= 1:
            raise ValueError(f"training: expected 0 <= curriculum <= 1, got {self.curriculum}")
        if self.at_once < 0:
            raise ValueError(f"training: expected at_once >= 0, got {self.at_once}")
        if not 0 <= self.ema < 1 or self.validations < 0:
            raise ValueError(f"training: expected 0 <= ema < 1, validations >= 0, got {self.ema}, {self.validations}")

    @property
    def dense_steps(self) -> int:
        return round(self.curriculum * self.steps)

    def fraction(self, progress: Progress) -> float:
        """Share of the budget that is spent; 1: the fit is over."""
        return progress.steps / self.steps

    def room(self, progress: Progress) -> int:
        """Steps up to the next validation."""
        parts = max(1, self.validations)
        part = progress.steps * parts // self.steps + 1
        return -(-part * self.steps // parts) - progress.steps

    def validations_by(self, progress: Progress) -> int:
        """Validations that should be done by now."""
        return progress.steps * self.validations // self.steps
