"""PINO with optimisation at test time: L-BFGS lowers the equation's residual of each answer, from the network's on.

The paper moves the network's weights; here the unobserved part of the video moves, so that many trajectories are
refined at once and none depends on another. Where frames are so far apart that the truth has a residual of its own,
this does harm: a fit keeps it only if it lowers the error on `valid`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import torch
from torch import Tensor

from benchmark.core import Dataset, Memory, Method, Prediction, Problem, Run, Task, TrajectorySet, Work
from methods import pino
from methods.blocks.memory import stand_in
from methods.blocks.regression import relative_error
from methods.blocks.residual import refine, refine_in_chunks
from methods.blocks.work import Traffic
from methods.pino import PINO


@dataclass(frozen=True)
class Settings:
    pino: pino.Settings = field(default_factory=pino.Settings)
    refine: int = 30  # iterations of L-BFGS on each answer


class PINORefined(Method):
    uses_equation = True
    shares_fits = True
    parts = (PINO,)
    source = PINO.source
    profiles = {
        "smoke": Settings(PINO.profiles["smoke"], refine=5),
        "laptop": Settings(PINO.profiles["laptop"]),
        "paper": Settings(),
    }
    memory_settings = tuple(f"pino.{name}" for name in PINO.memory_settings)
    budget_settings = tuple(f"pino.{name}" for name in PINO.budget_settings)

    refine_: Tensor  # iterations that an answer gets

    def __init__(self, settings: Any):
        super().__init__(settings)
        self.pino = PINO(settings.pino)

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        return self.pino.unsupported(task, dataset)

    def aids(self, task: Task) -> tuple[str, ...]:
        return self.pino.aids(task)

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        if self.refine_:
            return "refined at test time: the equation's residual is lowered from the network's answer on"
        return "not refined at test time: it raised the error on `valid`"

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        """Behind the training, `valid` decides whether answers are refined."""
        self.pino = PINO(self.settings.pino).fit(train, valid, tasks, seed, run)
        self.refine_ = torch.tensor(0)
        if len(valid):
            examples = self.pino.examples(train, tasks).fixed(valid, len(valid)).to(run.device)
            plain = self.pino.predict(examples.problem, seed).u[0]
            refined, _ = self._refined(plain, examples.problem)
            before, after = (relative_error(u, examples).mean() for u in (plain, refined))
            self.refine_ = torch.tensor(self.settings.refine if after < before else 0)
        return self

    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        """`evaluations` counts those of the residual too."""
        plain = self.pino.predict(problem, seed)
        if not self.refine_:
            return plain
        u, spent = self._refined(plain.u[0], problem)
        return replace(plain, u=u[None], evaluations=(plain.evaluations or 0) + spent)

    def _refined(self, u: Tensor, problem: Problem) -> tuple[Tensor, float]:
        return refine_in_chunks(u, problem, self.settings.refine, self.settings.pino.chunk, self.keeper)

    def state(self) -> dict[str, Tensor]:
        return self.pino.state() | {"refine_": self.refine_}

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        self.refine_ = state["refine_"]
        rest = {name: value for name, value in state.items() if name != "refine_"}
        self.pino = PINO(self.settings.pino).restore(rest, train)
        return self

    def parameters(self, task: Task, dataset: Dataset) -> int | None:
        return self.pino.parameters(task, dataset)

    def memory(self, task: Task, tasks: Sequence[Task], dataset: Dataset, videos: int) -> Memory:
        return self.pino.memory(task, tasks, dataset, videos)

    def fit_work(self, tasks: Sequence[Task], dataset: Dataset) -> Work:
        return self.pino.fit_work(tasks, dataset)

    def prediction_work(self, task: Task, tasks: Sequence[Task], dataset: Dataset, frames: int) -> Work:
        """With one evaluation of the residual an iteration: line searches that try twice come on top."""
        problem = task.observe(stand_in(dataset, 1, frames), [torch.Generator().manual_seed(0)])
        spent = []
        for iterations in (1, 2):
            with Traffic() as traffic:
                refine(problem.values, problem, iterations)
            spent.append(traffic.work)
        refined = spent[0] + (self.settings.refine - 1) * (spent[1] - spent[0])
        return self.pino.prediction_work(task, tasks, dataset, frames) + refined

    def cost(self) -> dict[str, float]:
        return self.pino.cost()
