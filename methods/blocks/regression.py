"""Deterministic regression of a video: one network, one answer.

    u = guess + f(conditioning),    loss = mean over the batch of |u - u_true| / |u_true|

The norm is that of the whole video; each field of a steady problem counts by itself, where the score of a forward or
inverse task is of the field without sensors alone. What was observed is kept, unless it is noisy.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from benchmark.core import Problem, Task
from methods.blocks.conditioning import Conditioning, condition
from methods.blocks.learned import Learned
from methods.blocks.roll_out import keep_observed
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Observed
from methods.blocks.training.optimiser import Optimiser


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
    symmetries: bool = False  # ours
    coordinates: bool = True
    validation: int = 64  # examples of `valid`, each with a fixed mask
    chunk: int = 32  # videos predicted at once


def regress(method: Learned, network: nn.Module, problem: Problem) -> Tensor:
    """What a method's network Conditioning -> (B, T, C, H, W) says of a problem, in physical units (B, T, H, W, C)."""
    known = conditioning(method, problem)
    return method.normaliser_.decode((known.guess + network(known)).movedim(2, -1))


def conditioning(method: Learned, problem: Problem) -> Conditioning:
    """What a method's network sees of a problem."""
    fields = method.fields(problem.static, problem.values)
    return condition(problem, method.shape_.observed, method.normaliser_, fields)


def regression_error(method: Learned, network: nn.Module, batch: Observed) -> Tensor:
    """Of what it says of the problems of a batch: (B,)."""
    return relative_error(regress(method, network, batch.problem), batch)


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
    if task.is_sparse:
        return "sparse input is an addition of this suite: the source takes whole frames"
    return None
