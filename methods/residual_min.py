"""No network, no training set: the video that fulfils the equation best and agrees with what is seen.

    u = argmin of |residual(u)|^2 over what was not observed, with L-BFGS

from the given frame at all times, or from the nearest sensors. It is what `pino_refined` finds without its network. The
residual is that of the equation between stored frames, so the answer is wrong by as much as the truth's own residual is
large: frames far apart in time are its limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from benchmark.core import Dataset, Method, Prediction, Problem, Run, Task, TrajectorySet
from methods.blocks.residual import in_double, refine_in_chunks
from methods.blocks.roll_out import keep_observed
from methods.nearest import Nearest


@dataclass(frozen=True)
class Settings:
    iterations: int = 1000  # of L-BFGS
    chunk: int = 16  # trajectories at once


class ResidualMin(Method):
    kind = "reference"
    uses_equation = True
    scope = "instance"
    memory_settings = ("chunk",)
    profiles = {"smoke": Settings(iterations=30), "laptop": Settings(), "paper": Settings(chunk=2)}

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if dataset.steady:
            return "one equation per site cannot tell two fields apart that are both unknown somewhere"
        if task.noise:
            return "what is seen is kept as it is: noise would be taken for the solution"
        if task.family == "continuous":
            return None
        if task.rate < 1:
            return "the residual says nothing of the unseen sites of a single frame (see solver)"
        if dataset.equation().time_order > 1:
            return "one frame does not determine the others where the equation is of second order in time"
        return None

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        if task.family != "continuous":
            return None
        return "fewer equations than unknowns: the minimum is not unique and depends on its start, `nearest`"

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        return self

    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        nearest = Nearest(Nearest.profiles["paper"]).predict(problem, seed).u[0]
        start = keep_observed(nearest, problem).double()
        s = self.settings
        u, spent = refine_in_chunks(start, in_double(problem), s.iterations, s.chunk, self.keeper)
        return Prediction(u[None].to(problem.values.dtype), evaluations=spent)
