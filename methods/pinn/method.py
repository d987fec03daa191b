"""PINN: a small network for each trajectory, fitted to what is observed of it and to the equation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import torch
from torch import Tensor

from benchmark.core import Dataset, Memory, Method, Prediction, Problem, Run, Task, TrajectorySet, Work
from benchmark.core.keeper import Part, chunks
from methods.blocks.memory import Watch, fake, growing, stand_in
from methods.blocks.roll_out import roll_out, windows
from methods.blocks.work import Traffic
from methods.pinn.ansatz import make_ansatz, predicted
from methods.pinn.features import Features
from methods.pinn.loss import Answer, Loss, video
from methods.pinn.network import start
from methods.pinn.optimise import Schedule, optimise
from methods.pinn.points import Sampling
from methods.pinn.residuals import axes_of


@dataclass(frozen=True)
class Settings:
    width: int = 64
    depth: int = 4  # hidden layers
    waves: int = 4  # |k| of the plane waves a network sees, at most
    decay: float = 2.0  # of their amplitudes, |k|^-decay: how smooth an answer is where nothing is seen
    sampling: Sampling = field(default_factory=lambda: Sampling(slices=1, fixed=8, sensors=4096))
    schedule: Schedule = field(default_factory=lambda: Schedule(adam=10_000, lr=2e-3, lbfgs=5_000))
    weight: float = 10.0  # of the misfit; a residual has 1
    window: int = 20  # frames of one network, at most; a longer trajectory is covered window after window
    exact: bool = True  # observations have no noise: they are kept, and a frame seen in full is part of the ansatz
    instances: int | None = 10  # test trajectories that are scored
    chunk: int = 16  # instances that are fitted at once; on a CPU few, so that they stay in its cache


SMOKE = Settings(
    width=16,
    depth=2,
    waves=2,
    sampling=Sampling(1, 3, 256),
    schedule=Schedule(adam=60, lr=1e-2, lbfgs=40),
    window=4,
    instances=4,
)
LAPTOP = Settings(
    width=48,
    depth=3,
    sampling=Sampling(2, 8, 1024),
    schedule=Schedule(adam=100, lr=5e-3, lbfgs=150),
    window=8,
    instances=8,
    chunk=2,
)


class PINN(Method):
    scope = "instance"
    memory_settings = ("chunk",)
    budget_settings = ("schedule.adam", "schedule.lbfgs")
    uses_equation = True
    source = "Raissi et al., J. Comput. Phys. 378 (2019) 686"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}

    parameters_: int  # of one network, known after a prediction

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if self.settings.exact and task.noise:
            return "observations are taken as exact; --set exact=false fits noisy ones"
        if task.roll_out != "drop":
            return "windows share a frame, so that only task.roll_out=drop makes sense"
        return None

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        own = "plane waves as input, a stream function for flows, Adam then L-BFGS on fixed points"
        if self.settings.exact:
            own += ", frames seen in full part of the ansatz"
        return f"ours beside Raissi et al.: {own}"

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        return self

    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        def videos(place: tuple[int, int]) -> Part:
            u, evaluations = self._video(_paired(problem[slice(*place)]), seed)
            return {"u": u, "evaluations": torch.tensor(evaluations), "parameters": torch.tensor(self.parameters_)}

        parts = list(self.keeper.each(chunks(len(problem), self.settings.chunk), videos))
        self.parameters_ = int(parts[0]["parameters"])
        u = torch.cat([part["u"] for part in parts])[: len(problem)].to(problem.values.device)
        return Prediction(u[None], evaluations=max(int(part["evaluations"]) for part in parts))

    def _video(self, problem: Problem, seed: int) -> tuple[Tensor, int]:
        """All frames (B, T, H, W, C), in windows where there are more than one network covers, and the evaluations."""
        spent: list[int] = []

        def solve(part: Problem) -> Tensor:
            u, evaluations = self._solve(part, seed)
            spent.append(evaluations)
            return u

        u = roll_out(solve, problem, min(self.settings.window, problem.values.shape[1]))
        return u, sum(spent)

    def _solve(self, problem: Problem, seed: int) -> tuple[Tensor, int]:
        """One network for each instance."""
        s = self.settings
        answer = make_answer(problem, s)
        loss = Loss(problem, answer, s.sampling, s.weight, seed)
        weights = start(answer.sizes, len(problem), seed).to(problem.values.device)
        self.parameters_ = weights.shape[1]
        weights, evaluations = optimise(loss, weights, s.schedule)
        u = video(answer, weights, problem)
        return torch.where(problem.mask, problem.values, u) if s.exact else u, evaluations

    def memory(self, task: Task, tasks: Sequence[Task], dataset: Dataset, videos: int) -> Memory:
        """Of the loss at the fixed points with its gradient, and of what L-BFGS remembers."""
        s = self.settings

        def peak(count: int) -> int:
            instances = task.observe(stand_in(dataset, count), [torch.Generator() for _ in range(count)])
            answer = make_answer(instances, s)
            loss = Loss(instances, answer, s.sampling, s.weight, seed=0)
            weights = fake(start(answer.sizes, len(instances), seed=0)).requires_grad_()
            with Watch() as watch:
                torch.autograd.grad(loss(weights, None).sum(), weights)
            return watch.peak + 2 * s.schedule.history * weights.nbytes

        return Memory(0.0, growing(peak, min(videos, s.chunk)))

    def prediction_work(self, task: Task, tasks: Sequence[Task], dataset: Dataset, frames: int) -> Work:
        """Of the loss and its gradient, once an iteration: line searches that try twice come on top."""
        s, draws = self.settings, [torch.Generator() for _ in range(2)]
        window, whole = (task.observe(stand_in(dataset, 2, n), draws) for n in (min(s.window, frames), frames))
        answer = make_answer(window, s)
        loss = Loss(window, answer, s.sampling, s.weight, seed=0)
        weights = fake(start(answer.sizes, 2, seed=0)).requires_grad_()
        with Traffic() as traffic:
            torch.autograd.grad(loss(weights, None).sum(), weights)
        iterations = s.schedule.adam + s.schedule.lbfgs
        return iterations * windows(whole, min(s.window, frames)) / 2 * traffic.work

    def cost(self) -> dict[str, float]:
        return {"parameters": self.parameters_, "steps": 0}


def _paired(problem: Problem) -> Problem:
    """One instance twice: a batch of one takes another way through the matrix library and ends on other digits."""
    if len(problem) > 1:
        return problem
    static = None if problem.static is None else problem.static.repeat(2, 1, 1, 1)
    values, mask = (v.repeat(2, 1, 1, 1, 1) for v in (problem.values, problem.mask))
    return replace(problem, values=values, mask=mask, static=static)


def make_answer(problem: Problem, settings: Settings) -> Answer:
    """The form of the answer to a problem, its weights still open."""
    equation, grid = problem.equation, problem.grid
    axes = axes_of(equation, problem.static)
    rest = equation.time_order == 2 and grid.times[0] == 0  # then u_t = 0 there
    features = Features.of(grid, settings.waves, settings.decay, axes, rest, problem.values.device)
    sizes = (features.width, *[settings.width] * settings.depth, len(predicted(equation)))
    return Answer(features, sizes, make_ansatz(problem, axes, rest, settings.exact))
