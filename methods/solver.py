"""The reference with the true solver, which no learned method gets to call.

    first frame seen in full     run the solver
    anything else                4D-Var (`blocks/variational.py`): the first frame that fits all observations through
                                 the solver best, given the mean and covariance of the training set's first frames

4D-Var starts from the answer of `linear`. How much of its prior is the structured covariance, and how much that of the
samples, is chosen on `valid` for the task. In the steady problem the "first frame" is the source; a response seen in
full gives it back through the operator. It is a reference and no bound: a fit may end in a local minimum, and the most
probable first frame is not the one of least expected error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import torch
from torch import Tensor

from benchmark.core import Method, Prediction, Problem, Run, Task, TrajectorySet
from benchmark.core.keeper import Part, chunks
from methods.blocks.gaussian.first_frame import FirstFrame
from methods.blocks.gaussian.process import Prior
from methods.blocks.roll_out import keep_observed
from methods.blocks.statistics import extend
from methods.blocks.variational import Fitted, Stages, assimilate
from methods.kriging import relative_error
from methods.linear import Linear
from methods.linear import Settings as LinearSettings

WEIGHTS = (0.0, 0.1, 1.0)  # of the structured covariance in the prior of the first frame


@dataclass(frozen=True)
class Settings:
    stages: Stages = field(default_factory=Stages)
    validation: int = 4  # trajectories of `valid` that choose the prior
    chunk: int = 16  # trajectories fitted at once
    linear: LinearSettings = field(default_factory=LinearSettings)


class Solved(NamedTuple):
    video: Tensor  # (B, T, H, W, C)
    fit: Fitted | None  # None: the first frame was known


class Solver(Method):
    kind = "reference"
    uses_equation = True
    scope = "task"
    parts = (Linear,)
    version = 3
    memory_settings = ("chunk",)
    source = "Le Dimet and Talagrand, Variational algorithms for analysis and assimilation, Tellus A, 1986"
    profiles = {
        "smoke": Settings(Stages((0.1, 1e-3), iterations=3, adjoints=24), 2, linear=Linear.profiles["smoke"]),
        "laptop": Settings(linear=Linear.profiles["laptop"]),
        "paper": Settings(chunk=2, linear=Linear.profiles["paper"]),
    }

    def __init__(self, settings: Any):
        super().__init__(settings)
        self.linear = Linear(settings.linear)

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        self.linear = Linear(self.settings.linear).fit(train, valid, tasks, seed, run)
        truth = valid[: self.settings.validation].to(run.device)
        generators = [torch.Generator().manual_seed(seed + i) for i in range(len(truth))]
        problems = [task.observe(truth, generators) for task in tasks] if len(truth) else []
        open_problems = [problem for problem in problems if self._known_first(problem) is None]
        errors = torch.zeros(len(WEIGHTS))
        for i, weight in enumerate(WEIGHTS if open_problems else ()):
            answers = [(self._solve(problem, seed, weight).video, problem) for problem in open_problems]
            errors[i] = sum(float(relative_error(video, truth, problem).mean()) for video, problem in answers)
        self.weight_ = torch.tensor(WEIGHTS[int(errors.argmin())])
        return self

    def state(self) -> dict[str, Tensor]:
        return self.linear.state() | {"weight_": self.weight_}

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        self.weight_ = state["weight_"]
        rest = {name: value for name, value in state.items() if name != "weight_"}
        self.linear = Linear(self.settings.linear).restore(rest, train)
        return self

    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        """`evaluations` counts solver runs, forward and adjoint; 4D-Var says how well it fitted each trajectory."""

        def solved(place: tuple[int, int]) -> Part:
            video, fit = self._solve(problem[slice(*place)], seed, float(self.weight_))
            runs = torch.tensor(1 + (fit.evaluations if fit else 0), dtype=torch.float64)
            report = {"misfit": fit.misfit, "converged": fit.converged} if fit else {}
            return {"video": video, "runs": runs, **report}

        parts = list(self.keeper.each(chunks(len(problem), self.settings.chunk), solved))
        runs = sum(len(part["video"]) * float(part["runs"]) for part in parts) / len(problem)
        fits = [part for part in parts if "misfit" in part]
        report = {name: [float(v) for part in fits for v in part[name]] for name in ("misfit", "converged")}
        video = torch.cat([part["video"] for part in parts]).to(problem.values.device)
        return Prediction(video[None], evaluations=runs, diagnostics=report if fits else None)

    def _solve(self, problem: Problem, seed: int, weight: float) -> Solved:
        first, fit = self._known_first(problem), None
        if first is None:
            fit = self._variational(problem, seed, weight)
            first = fit.first
        with torch.no_grad():
            video = problem.equation.solve(first, problem.static, problem.grid)
        return Solved(keep_observed(video, problem), fit)

    def _known_first(self, problem: Problem) -> Tensor | None:
        """The first frame (B, H, W, 1), where the observations leave no doubt about it."""
        if problem.noise:
            return None
        inside = self.linear.kriging.prior(problem.grid, problem.values.device).basis.inside
        full = (problem.mask | ~inside[..., None]).flatten(2).all(-1).all(0)  # (T,): known on every site
        if full[0]:
            return torch.where(problem.mask, problem.values, 0)[:, 0]
        return _source(problem) if problem.equation.time_order == 0 and full[-1] else None

    def _variational(self, problem: Problem, seed: int, weight: float) -> Fitted:
        law = self.linear.law(problem.grid, problem.values.device)
        first = FirstFrame.of(law, weight)
        guess = self.linear.predict(problem, seed).u[0, :, 0, ..., 0].double()
        level = extend(_level(law.structured), len(problem.grid.times))
        return assimilate(problem, first, first.noise_of(guess), level, self.settings.stages)


def _level(prior: Prior) -> Tensor:
    """The standard deviation of each frame, (T,)."""
    return prior.scale.square().mean((1, 2)).sqrt()


def _source(problem: Problem) -> Tensor | None:
    """The source of a steady problem from its response, where the equation reads  operator(response) - source = 0."""
    values = torch.where(problem.mask, problem.values, 0).double()
    zero, one = values.clone(), values.clone()
    zero[:, 0], one[:, 0] = 0, 1
    static = None if problem.static is None else problem.static.double()
    residual, other = (problem.equation.residual(u, static, problem.grid) for u in (zero, one))
    if not torch.allclose(residual - other, torch.ones_like(residual)):
        return None
    inner = residual.reshape(len(values), *residual.shape[-2:])
    margin = (values.shape[2] - inner.shape[-2]) // 2
    return torch.nn.functional.pad(inner, (margin,) * 4)[..., None].to(problem.values.dtype)
