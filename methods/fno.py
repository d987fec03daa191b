"""Fourier neural operator (Li et al. 2020): layers that multiply the lowest Fourier modes by learned matrices.

    v <- gelu(W v + F^-1 (R F v)),    R_k a complex matrix for each kept mode k

The network is neuraloperator's `FNO`, in three forms:

    3d         modes in x, y and t; the given frame is repeated along t (the paper's FNO-3D)
    2d         modes in x and y; all frames come out at once, as channels
    recurrent  modes in x and y; one frame to the next, unrolled over the video (the paper's FNO-2D), backwards in time
               from a last frame; of an equation of second order in time it sees two frames

The paper gives the operator whole frames. Sparse observations (the masked frames, the mask and the nearest sensor's
value as channels) are an addition of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Problem, Task
from methods.blocks.conditioning import Conditioning, Shape
from methods.blocks.learned import Learned
from methods.blocks.networks.fourier import Architecture, operator
from methods.blocks.regression import RegressionSettings, regress, regression_error, sparse_remark
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Observed
from methods.blocks.training.optimiser import Optimiser


@dataclass(frozen=True)
class Settings(RegressionSettings):
    architecture: Architecture = field(default_factory=Architecture)


SMOKE = Settings(
    training=Training(
        steps=40,
        batch=8,
        optimiser=Optimiser(lr=1e-2, betas=(0.9, 0.99), weight_decay=0.0, schedule="cosine", warmup=5),
        ema=0.0,
        validations=2,
        precision="32-true",
    ),
    validation=8,
    architecture=Architecture("2d", width=12, modes=8, layers=2, projection=2),
)
LAPTOP = Settings(
    training=Training(
        steps=4500,
        curriculum=1 / 3,
        batch=8,
        optimiser=Optimiser(lr=1.6e-2, betas=(0.9, 0.99), weight_decay=1e-4, schedule="cosine", warmup=50),
        ema=0.0,
        precision="32-true",
    ),
    symmetries=True,
    architecture=Architecture("2d", width=32, modes=16, projection=2),
)


class FNO(Learned):
    nearest = True
    stochastic = False
    source = "Li et al., Fourier Neural Operator for Parametric Partial Differential Equations, ICLR 2021"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if self.settings.architecture.form == "recurrent" and task.is_sparse:
            return "the recurrent form steps from one whole frame to the next; the forms 2d and 3d take sparse ones"
        return None

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        return sparse_remark(task)

    def network(self, shape: Shape) -> nn.Module:
        return FORMS[self.settings.architecture.form](self.settings.architecture, shape)

    def losses(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        return regression_error(self, network, batch)

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        return regress(self, self.net_, problem)

    def evaluations(self, problem: Problem) -> int:
        return self.shape_.frames - 1 if self.settings.architecture.form == "recurrent" else 1


# -- the three forms: Conditioning -> a correction (B, T, C, H, W)


class OneShot(nn.Module):
    def __init__(self, architecture: Architecture, shape: Shape):
        super().__init__()
        frame, fields = shape.conditioning
        self.video = shape.frames, shape.channels
        inputs = len(shape.observed.frames) * frame + fields
        self.operator = operator(architecture, shape.grid, inputs, shape.frames * shape.channels)

    def forward(self, known: Conditioning) -> Tensor:
        x = torch.cat([known.frames.flatten(1, 2), known.fields], dim=1)
        return self.operator(x).unflatten(1, self.video)


class SpaceTime(nn.Module):
    """Time is the last axis: neuraloperator treats that one right for an odd number of points too."""

    def __init__(self, architecture: Architecture, shape: Shape):
        super().__init__()
        frame, fields = shape.conditioning
        self.frames, self.each = shape.frames, len(shape.observed.frames) == shape.frames
        inputs = frame if self.each else len(shape.observed.frames) * frame
        self.operator = operator(architecture, shape.grid, inputs + fields + 1, shape.channels, shape.frames)

    def forward(self, known: Conditioning) -> Tensor:
        seen = known.frames.movedim(1, -1) if self.each else self._repeat(known.frames.flatten(1, 2))
        fields = self._repeat(known.fields)
        t = torch.linspace(-0.5, 0.5, self.frames, device=fields.device, dtype=fields.dtype).expand_as(fields[:, :1])
        return self.operator(torch.cat([seen, fields, t], dim=1)).movedim(-1, 1)

    def _repeat(self, x: Tensor) -> Tensor:
        """(B, K, H, W) -> (B, K, H, W, T)."""
        return x[..., None].expand(*x.shape, self.frames)


class Recurrent(nn.Module):
    def __init__(self, architecture: Architecture, shape: Shape):
        super().__init__()
        if not shape.observed.is_one_full_frame:
            raise ValueError(f"recurrent: expected one frame in full, got frames {shape.observed.frames}")
        self.steps, self.backwards = shape.frames - 1, shape.observed.frames[0] > 0
        self.memory = max(1, shape.equation.time_order)
        self.steady = shape.steady
        frame, fields = shape.conditioning
        self.operator = operator(architecture, shape.grid, self.memory * frame + fields, shape.channels)

    def forward(self, known: Conditioning) -> Tensor:
        video = [known.frames[:, 0]] * self.memory  # (B, C, H, W) each
        for _ in range(self.steps):
            new = self.operator(torch.cat([*video[-self.memory :], known.fields], dim=1))
            video.append(new if self.steady else video[-1] + new)
        video = video[self.memory - 1 :]
        return torch.stack(video[::-1] if self.backwards else video, dim=1) - known.guess


FORMS = {"3d": SpaceTime, "2d": OneShot, "recurrent": Recurrent}
