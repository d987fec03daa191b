"""How long a fit goes on: its settings, where it stands, and what is due."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from methods.blocks.training.optimiser import Optimiser

LAPTOP_SECONDS = 120.0  # of a fit at profile laptop, the same for every method that trains


@dataclass
class Progress:
    """Where a fit stands; also what it returns."""

    steps: int = 0
    seconds: float = 0.0
    first_loss: float | None = None
    validated: int = 0  # validations done
    best: float = math.inf  # the lowest validation error, and the step it was seen at
    best_step: int = 0


@dataclass(frozen=True)
class Training:
    """Defaults: the paper's hyper-parameter table; what it leaves open is marked (HDiT: as the reference code does).

    With `seconds` the fit ends when that much time is spent, validation and time before a resume included. The number
    of steps, and so the weights, then depend on the machine's speed: only a step count can be reproduced bit by bit.
    """

    steps: int = 50_000
    seconds: float | None = None  # a wall-clock budget instead of `steps`
    batch: int = 48  # trajectories per step, of all devices together: the size of `ShuffledBatches`
    optimiser: Optimiser = Optimiser()
    ema: float = 0.9999  # open (HDiT); 0: no average
    ema_power: float = 0.75  # open (HDiT)
    precision: Literal["32-true", "bf16-mixed"] = "bf16-mixed"  # on a GPU; a CPU computes in float32
    compile: bool = False  # open
    validations: int = 10  # open; evenly spread, the last one at the end
    keep: Literal["best", "last"] = "best"  # open; which of the validated weights
    checkpoint_seconds: float = 60.0  # between checkpoints

    def __post_init__(self) -> None:
        if self.steps < 1 or (self.seconds is not None and self.seconds <= 0):
            raise ValueError(f"training: expected a budget above 0, got {self.steps} steps, {self.seconds} seconds")
        if not 0 <= self.ema < 1 or self.validations < 0:
            raise ValueError(f"training: expected 0 <= ema < 1, validations >= 0, got {self.ema}, {self.validations}")

    def fraction(self, progress: Progress) -> float:
        """Share of the budget that is spent; 1 or more: the fit is over."""
        return progress.steps / self.steps if self.seconds is None else progress.seconds / self.seconds

    def room(self, progress: Progress, pace: float) -> int:
        """Steps up to the next validation, or with a time budget about to the end, at `pace` seconds per step."""
        if self.seconds is not None:
            return math.ceil((self.seconds - progress.seconds) / pace)
        parts = max(1, self.validations)
        part = progress.steps * parts // self.steps + 1
        return -(-part * self.steps // parts) - progress.steps

    def validations_by(self, progress: Progress) -> int:
        """Validations that should be done by now."""
        if self.seconds is None:
            return progress.steps * self.validations // self.steps
        return int(min(1.0, self.fraction(progress)) * self.validations)
