"""What a fit of a profile takes on one core: measured on a few steps, so that budgets in steps can be set and checked.

    seconds(steps) = seconds of a short fit with all its validations + (steps - its steps) seconds per step

Seconds are those of the processor, not of the clock: other work on the machine hardly moves them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import torch

from benchmark.core import Dataset, Method, Run, Task, TrajectorySet
from benchmark.core.flop import Flop
from benchmark.planning.estimate import BUDGET
from benchmark.planning.resolve import Resolved
from benchmark.planning.settings import resolve

FEW, MANY, SHORT = 5, 25, 10  # steps of the fits that are compared, and of the one with validations
GOALS = BUDGET["laptop"]  # seconds on one core, for what one fit serves


@dataclass(frozen=True)
class Budget:
    method: str
    scope: str
    task: str
    dataset: str
    steps: int
    batch: int
    parameters: int
    step_ms: float
    seconds: float  # of a whole fit
    step_gflop: float


@dataclass(frozen=True)
class _Case:
    method: type[Method]
    settings: Any
    train: TrajectorySet
    valid: TrajectorySet
    tasks: tuple[Task, ...]

    def fit(self, steps: int, validations: int = 0) -> Method:
        method = self.method(with_steps(self.settings, steps, validations))
        return method.fit(self.train, self.valid, self.tasks, 0, Run())

    def seconds(self, steps: int, validations: int = 0) -> float:
        start = time.process_time()
        self.fit(steps, validations)
        return time.process_time() - start

    def flop(self, steps: int) -> int:
        with Flop() as flop:
            self.fit(steps)
        return flop.count


def trainings(settings: Any) -> dict[str, Any]:
    """The budgets among a method's settings, by dotted name: most have one, `training`."""
    found = {}
    for f in fields(settings) if is_dataclass(settings) else ():
        value = getattr(settings, f.name)
        if hasattr(value, "validations"):
            found[f.name] = value
        else:
            found |= {f"{f.name}.{name}": training for name, training in trainings(value).items()}
    return found


def with_steps(settings: Any, steps: int, validations: int) -> Any:
    """The same settings with so many steps, shared as before where there are several budgets."""
    budgets = trainings(settings)
    total = sum(training.steps for training in budgets.values())
    changes = {}
    for name, training in budgets.items():
        changes[f"{name}.steps"] = max(1, round(steps * training.steps / total))
        changes[f"{name}.validations"] = validations
    return resolve(settings, changes, "budget")


def measure(cell: Resolved, train: TrajectorySet, valid: TrajectorySet) -> Budget:
    """Of a method that trains by steps, on one thread."""
    budgets = trainings(cell.settings)
    case = _Case(cell.method, cell.settings, train, valid, cell.tasks)
    steps, validations = sum(t.steps for t in budgets.values()), max(t.validations for t in budgets.values())
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        parameters = int(case.fit(FEW).cost()["parameters"])  # before the clock: whatever is made once in a process
        pace = (case.seconds(MANY) - case.seconds(FEW)) / (MANY - FEW)
        short = case.seconds(SHORT, validations)
        flop = (case.flop(12) - case.flop(4)) / 8
    finally:
        torch.set_num_threads(threads)
    return Budget(
        cell.cell.method,
        cell.method.scope,
        cell.cell.task,
        cell.cell.dataset,
        steps,
        max(t.batch for t in budgets.values()),
        parameters,
        step_ms=1e3 * pace,
        seconds=short + (steps - SHORT) * pace,
        step_gflop=flop / 1e9,
    )


def open_training_data(dataset: Dataset, root: Path, tell: Callable[[str, int, int], None]) -> tuple[Any, Any]:
    """`train` and `valid`, generated if they are missing."""
    from datasets.generate import ensure_data
    from datasets.store import open_split

    ensure_data(dataset, root, ("train", "valid"), progress=tell)
    return open_split(dataset, "train", root), open_split(dataset, "valid", root)
