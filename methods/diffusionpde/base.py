"""What DiffusionPDE and its extension share: learning priors over pairs of frames, and guided sampling from them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Grid, Problem, Run, Task, TrajectorySet
from methods.blocks.diffusion.edm import SAMPLING, Denoise, karras_sigmas
from methods.blocks.diffusion.guidance import Term, sample_guided
from methods.blocks.networked import NOMINAL, Sampled, count, draw_noise
from methods.blocks.normaliser import SIGMA_DATA, Normaliser
from methods.blocks.training.budget import Training
from methods.diffusionpde.prior import PairNet, Pairs, fit_prior, make_net
from methods.diffusionpde.settings import Settings
from methods.diffusionpde.terms import residual_size
from methods.diffusionpde.weights import Weights, weights_for


@dataclass(frozen=True)
class Plan:
    """A guided sampling: of n fields or pairs a trajectory."""

    shape: tuple[int, ...]  # (n, ...) of one trajectory's noise
    denoise: Denoise
    terms: Sequence[Term]


class PairMethod(Sampled):
    """Priors over pairs of frames, one network each."""

    uses_equation = True
    scope = "dataset"
    sampling_settings = (*SAMPLING, "guidance", "table", "observation", "full", "physics", "far", "score", "chunk")
    mixed = False  # gradients of small differences guide it

    net_: nn.ModuleDict
    residual_size_: Tensor

    @abstractmethod
    def models(self, frames: int) -> dict[str, Pairs]:
        """The networks by name, each with the pairs it is trained on."""

    @abstractmethod
    def residual_frames(self, frames: int) -> int:
        """How many frames the equation's residual is taken of."""

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        update, edm = self.settings.guidance.update, self.settings.edm
        return f"guidance {update}, {edm.steps} steps of {edm.sampler} (the source: gradient, 2000, heun)"

    # -- learning

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        s: Settings = self.settings
        self.normaliser_ = Normaliser.fit(train).to(run.device)
        self.note(tasks)
        self.residual_size_ = torch.tensor(residual_size(train, self.residual_frames(len(train.grid.times))))
        self.build(train, seed)
        models, steps = self.models(self.frames), 0
        for name, pairs in models.items():
            net, training, own = self.net_[name], _share(s.training, len(models)), _apart(run, name, len(models))
            scales = self.normaliser_
            steps += fit_prior(net, pairs, train, valid, scales, s.edm, training, own, seed, s.validation).steps  # pyright: ignore[reportArgumentType]
        self.steps_ = torch.tensor(steps)
        return self

    def build_for(self, train: TrajectorySet) -> None:
        s: Settings = self.settings
        models = self.models(self.frames).items()
        self.net_ = nn.ModuleDict({name: make_net(train, pairs.kinds, s) for name, pairs in models})

    # -- predicting

    def video(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        if problem.values.shape[1] != self.frames:
            raise ValueError(f"problem: expected {self.frames} frames, got {problem.values.shape[1]}")
        edm, plan = self.settings.edm, self.prepare(problem)
        x = edm.sigma_max * draw_noise(plan.shape, generators, problem.values.device).flatten(0, 1)  # (B n, ...)
        x = sample_guided(plan.denoise, x, karras_sigmas(edm), plan.terms, self.settings.guidance, edm.sampler)
        return self.finish(self.normaliser_.decode(x), problem)

    @abstractmethod
    def prepare(self, problem: Problem) -> Plan:
        """What is to be sampled."""

    @abstractmethod
    def finish(self, u: Tensor, problem: Problem) -> Tensor:
        """What was sampled, in physical units (B n, ...) -> (B, T, H, W, C)."""

    def weights(self, equation: str, grid: Grid) -> Weights:
        """In normalised units, with the factors of the settings."""
        s, w = self.settings, weights_for(self.settings.table, equation)
        first = second = pde = 1.0
        if w.physical:
            units = (self.normaliser_.std / SIGMA_DATA).flatten(1).mean(1).tolist()  # (1,) or, of two fields, (2,)
            first, second, pde = units[0], units[-1], float(self.residual_size_)
            if s.guidance.loss == "mean_square":
                first, second, pde = first**2, second**2, pde**2
            else:
                pde /= grid.shape[0] * grid.shape[1]
        seen, law = s.observation, s.physics
        return Weights(first * seen * w.first, second * seen * w.second, pde * law * w.pde, physical=False)

    def parameters(self, grid: Grid = NOMINAL) -> int:
        s, models = self.settings, self.models(len(grid.times)).values()
        with torch.device("meta"):
            nets = [PairNet(1, 0, pairs.kinds, grid, s.architecture, s.label, s.positions) for pairs in models]
        return sum(map(count, nets))


def _share(training: Training, parts: int) -> Training:
    """Of several fits each takes its part of the seconds; a number of steps is that of each."""
    return training if training.seconds is None else replace(training, seconds=training.seconds / parts)


def _apart(run: Run, name: str, parts: int) -> Run:
    return run if run.folder is None or parts == 1 else replace(run, folder=run.folder / name)
