"""The classical ceiling: the true numerical solver, which no learned method gets to call.

    first frame seen in full     run the solver
    first frame seen in part     krige it, then run the solver
    anything else                4D-Var: the first frame that fits all observations through the solver best,

        J(v) = 1/2 |v|^2 + 1/2 sum over sensors of |solve(first)(t, s) - y|^2 / sigma^2,   first = mean + S^(1/2) v,

    with the mean and covariance S that kriging learned from the training set, starting from kriging's answer.

In the steady problem the "first frame" is the source; a response seen in full gives it back through the operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor

from benchmark.core import Method, Prediction, Problem, Run, Task, TrajectorySet
from methods.blocks.gaussian.covariance import as_frames
from methods.blocks.gaussian.process import Prior
from methods.blocks.lbfgs import minimise
from methods.kriging import Kriging
from methods.kriging import Settings as KrigingSettings


@dataclass(frozen=True)
class Settings:
    iterations: int = 60  # of L-BFGS
    misfit: float = 1e-3  # sigma over the standard deviation of a frame, on top of the task's noise
    chunk: int = 16  # trajectories fitted at once
    kriging: KrigingSettings = field(default_factory=KrigingSettings)


class Solver(Method):
    kind = "reference"
    uses_equation = True
    scope = "task"
    memory_settings = ("chunk",)
    source = "Le Dimet and Talagrand, Variational algorithms for analysis and assimilation, Tellus A, 1986"
    profiles = {
        "smoke": Settings(iterations=20, kriging=Kriging.profiles["smoke"]),
        "laptop": Settings(iterations=150, kriging=Kriging.profiles["laptop"]),
        "paper": Settings(iterations=200, chunk=4, kriging=Kriging.profiles["paper"]),
    }

    def __init__(self, settings: Any):
        super().__init__(settings)
        self.kriging = Kriging(settings.kriging)

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        self.kriging = Kriging(self.settings.kriging).fit(train, valid, tasks, seed, run)
        return self

    def state(self) -> dict[str, Tensor]:
        return self.kriging.state()

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        self.kriging = Kriging(self.settings.kriging).restore(state, train)
        return self

    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        parts = [problem[i : i + self.settings.chunk] for i in range(0, len(problem), self.settings.chunk)]
        answers = [self._chunk(part, seed) for part in parts]
        runs = sum(n * len(video) for video, n in answers) / len(problem)
        return Prediction(torch.cat([video for video, _ in answers])[None], evaluations=runs)

    def _chunk(self, problem: Problem, seed: int) -> tuple[Tensor, int]:
        """Videos (B, T, H, W, C) and the solver runs each took."""
        first, runs = self._first_frame(problem, seed)
        with torch.no_grad():
            video = problem.equation.solve(first, problem.static, problem.grid)
        noisy = problem.noise > 0
        return video if noisy else torch.where(problem.mask, problem.values, video), runs + 1

    def _first_frame(self, problem: Problem, seed: int) -> tuple[Tensor, int]:
        prior = self.kriging.prior(problem.grid, problem.values.device)
        full = (problem.mask | ~prior.basis.inside[..., None]).flatten(2).all(-1).all(0)  # (T,): known on every site
        if full[0] and not problem.noise:
            return torch.where(problem.mask, problem.values, 0)[:, 0], 0
        if problem.equation.time_order == 0 and full[-1] and not problem.noise:
            source = _source(problem)
            if source is not None:
                return source, 0
        kriged = self.kriging.predict(problem, seed).u[0, :, 0]
        if not problem.mask[:, 1:].any():
            return kriged, 0
        return self._variational(problem, prior, kriged)

    def _variational(self, problem: Problem, prior: Prior, first: Tensor) -> tuple[Tensor, int]:
        """4D-Var from a first guess (B, H, W, 1); the prior is that of the first frame alone."""
        root = prior.spectrum[:1, :1].clamp(min=0).sqrt()
        inverse = root / (root.square() + 1e-12 * root.square().max())
        guess = (as_frames(first[:, None]).double() - prior.mean[:1]) / prior.scale[:1]  # (B, 1, H, W)
        v = prior.basis.operate(inverse, guess)
        sigma = (self.settings.misfit**2 + problem.noise**2) ** 0.5 * _level(prior)[:, None, None, None]

        def frame(v: Tensor) -> Tensor:
            g = prior.basis.operate(root, v.view(guess.shape))
            return (prior.mean[:1] + prior.scale[:1] * g)[:, 0, ..., None].to(problem.values.dtype)

        def objective(v: Tensor) -> Tensor:
            video = problem.equation.solve(frame(v), problem.static, problem.grid)
            miss = torch.where(problem.mask, video - problem.values, 0).double() / sigma
            return (v.square().sum(1) + miss.square().flatten(1).sum(1)) / 2

        found = minimise(objective, v.flatten(1), self.settings.iterations)
        with torch.no_grad():
            return frame(found.x), found.evaluations


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
