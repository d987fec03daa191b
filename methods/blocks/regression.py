"""Deterministic regression of a video: one network, one answer.

    u = guess + f(conditioning),    loss = mean over the batch of |u - u_true| / |u_true|

The norm is that of the whole video; each field of a steady problem counts by itself, as in the score. What was observed
is kept, unless it is noisy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from benchmark.core import Problem, Task, TrajectorySet
from methods.blocks.conditioning import ObservedFrames, condition
from methods.blocks.normaliser import Normaliser
from methods.blocks.roll_out import keep_observed
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Observations, Observed
from methods.blocks.training.optimiser import Optimiser
from methods.blocks.training.symmetry import Symmetries
from methods.blocks.training.symmetry_search import find_symmetries


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

    def examples(self, train: TrajectorySet, tasks: Sequence[Task]) -> Observations:
        return Observations(tasks, find_symmetries(train) if self.symmetries else Symmetries())


def regress(network: nn.Module, problem: Problem, observed: ObservedFrames, normaliser: Normaliser) -> Tensor:
    """What a network Conditioning -> (B, T, C, H, W) says of a problem, in physical units (B, T, H, W, C)."""
    known = condition(problem, observed, normaliser)
    return normaliser.decode((known.guess + network(known)).movedim(2, -1))


def relative_error(video: Tensor, batch: Observed) -> Tensor:
    """Of an answer to the problems of a batch, with what was observed: (B,)."""
    return relative_l2(keep_observed(video, batch.problem), batch.truth.u, batch.truth.equation.time_order == 0)


def relative_l2(u: Tensor, truth: Tensor, steady: bool) -> Tensor:
    """|u - truth| / |truth| of each channel (and of each field, if `steady`), averaged over them: (B,)."""
    axes = (2, 3) if steady else (1, 2, 3)
    size = torch.linalg.vector_norm(truth, dim=axes)
    error = torch.linalg.vector_norm(u - truth, dim=axes) / size.clamp(min=torch.finfo(size.dtype).tiny)
    return error.flatten(1).mean(1)


def sparse_remark(task: Task) -> str | None:
    if task.family == "continuous" or task.rate < 1:
        return "sparse input is an addition of this suite: the source takes whole frames"
    return None
