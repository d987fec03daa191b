"""Deterministic video regression, what `fno`, `pino` and `deeponet` share: one network, one answer.

    u = start + f(what is seen),    loss = mean over the batch of |u - u_true| / |u_true|

The norm is that of the whole video; each field of a steady problem counts by itself, as in the score. What was observed
is put back, unless the task adds noise to it. A subclass says which network f is (`build`) and may add to the loss.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Grid, Prediction, Problem, Run, Task, TrajectorySet
from methods.blocks import networked
from methods.blocks.conditioning import Given
from methods.blocks.networked import Networked, count, static_channels
from methods.blocks.normaliser import Normaliser
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Observed, ObservedBatches, fixed_examples
from methods.blocks.training.loop import Validate, fit_loop
from methods.blocks.training.optimiser import Optimiser
from methods.blocks.training.symmetry import Symmetries
from methods.blocks.training.symmetry_search import find_symmetries
from methods.blocks.training.validation import in_parts


@dataclass(frozen=True)
class RegressionSettings:
    """What does not concern the network. Complex weights and FFTs want float32 on a GPU too."""

    training: Training = field(
        default_factory=lambda: Training(
            steps=50_000,  # PINO's configuration of FNO
            batch=16,
            optimiser=Optimiser(lr=1e-3, betas=(0.9, 0.999), weight_decay=1e-4, schedule="cosine", warmup=500),
            ema=0.0,
            precision="32-true",
        )
    )
    symmetries: bool = True  # ours: train on what the equation's symmetries make of the training set too
    validation: int = 64  # examples of `valid`, each with a fixed mask
    chunk: int = 32  # videos predicted at once


@dataclass(frozen=True)
class Shape:
    """Of the videos a network is built for, and what it is given of them."""

    frames: int
    channels: int
    static: int
    grid: Grid
    time_order: int  # of the equation
    given: Given

    @property
    def told(self) -> tuple[int, int]:
        """Channels of a given frame, and of what stands still."""
        return self.given.channels(self.channels, self.static, self.grid)

    @property
    def steady(self) -> bool:
        return self.time_order == 0


NOMINAL = Shape(  # one frame in full of a video of 20, one channel, on a torus
    frames=20,
    channels=1,
    static=0,
    grid=networked.NOMINAL,
    time_order=1,
    given=Given((0,), full=True),
)


class Regressor(Networked):
    """`network` makes the network: Told -> (B, T, C, H, W), a correction of `start` in normalised units."""

    scope = "task"

    net_: nn.Module
    seen_: Tensor  # the frames that are given
    full_: Tensor  # and whether in full

    @abstractmethod
    def network(self, shape: Shape) -> nn.Module: ...

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        if task.family == "continuous" or task.rate < 1:
            return "sparse input is an addition of this suite: the source takes whole frames"
        return None

    # -- learning

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        settings: RegressionSettings = self.settings
        given = Given.by(tasks, train.grid)
        self.seen_, self.full_ = torch.tensor(given.frames), torch.tensor(given.full)
        self.note(tasks)
        self.normaliser_ = Normaliser.fit(train).to(run.device)
        self.turns = find_symmetries(train) if settings.symmetries else Symmetries()
        self.build(train, seed)
        batches = ObservedBatches(train, tasks, settings.training.batch, seed)
        validate = self._validation(fixed_examples(valid, tasks, settings.validation)) if len(valid) else None
        progress = fit_loop(self.net_, self._loss, batches, settings.training, run, seed, validate)
        self.steps_ = torch.tensor(progress.steps)
        return self

    def losses(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        """Of each training example: (B,)."""
        video = self.put_back(self.raw(network, batch.problem), batch.problem)
        return relative_l2(video, batch.truth.u, batch.truth.equation.time_order == 0)

    def build_for(self, train: TrajectorySet) -> None:
        first = train[:1]
        self.given = Given(tuple(self.seen_.tolist()), bool(self.full_))
        shape = (self.frames, first.u.shape[-1], static_channels(first), train.grid, train.equation.time_order)
        self.net_ = self.network(Shape(*shape, self.given))

    def _loss(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        return self.losses(network, self.turns.apply(batch, draws), draws).mean()

    def _validation(self, examples: Observed) -> Validate:
        """The relative error of a model on fixed examples."""

        def validate(model: nn.Module) -> float:
            device = next(model.parameters()).device
            parts = [part.to(device) for part in in_parts(examples, self.settings.chunk)]
            steady = examples.truth.equation.time_order == 0
            videos = (self.put_back(self.raw(model, part.problem), part.problem) for part in parts)
            errors = [relative_l2(video, part.truth.u, steady) for video, part in zip(videos, parts, strict=True)]
            return float(torch.cat(errors).mean())

        return validate

    # -- predicting

    def raw(self, network: nn.Module, problem: Problem) -> Tensor:
        """(B, T, H, W, C) in physical units, of a problem as long as the network's videos."""
        told = self.given(problem, self.normaliser_)
        x = told.start + network(told)  # (B, T, C, H, W)
        return self.normaliser_.decode(x.movedim(2, -1))

    @torch.no_grad()
    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        """One answer, whatever the seed and however many samples are asked for."""
        device = next(self.net_.parameters()).device
        parts = [part.to(device) for part in in_parts(problem, self.settings.chunk)]
        u = torch.cat([self.covered(self.window, part) for part in parts]).to(problem.values)
        return Prediction(u[None], evaluations=self.evaluations(problem.values.shape[1]))

    def window(self, problem: Problem) -> Tensor:
        """The answer to a problem as long as the network's videos."""
        return self.put_back(self.raw(self.net_, problem), problem)

    def evaluations(self, frames: int) -> int:
        """Of the network, for a video of so many frames."""
        return self.windows(frames)

    def parameters(self) -> int:
        with torch.device("meta"):
            return count(self.network(NOMINAL))


def relative_l2(u: Tensor, truth: Tensor, steady: bool) -> Tensor:
    """|u - truth| / |truth| of each channel (and of each field, if `steady`), averaged over them: (B,)."""
    axes = (2, 3) if steady else (1, 2, 3)
    size = torch.linalg.vector_norm(truth, dim=axes)
    error = torch.linalg.vector_norm(u - truth, dim=axes) / size.clamp(min=torch.finfo(size.dtype).tiny)
    return error.flatten(1).mean(1)
