"""Voronoi fill and a U-Net that corrects it (Fukami et al. 2021; as a U-Net: Zhao et al. 2024, RecFNO).

    u = fill + network(fill, mask, fields),    loss = mean over the batch of |u - u_true| / |u_true|

The fill gives each site the value of the nearest sensor, and a frame without sensors the filled frame nearest in time.
The frames of a steady problem are different fields: one without sensors stays empty, and the network answers it in
full. All frames enter and leave together, as channels; every training example has a new mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Problem, Task
from methods.blocks.conditioning import Shape
from methods.blocks.learned import Learned
from methods.blocks.networks.unet import Architecture, UNet
from methods.blocks.regression import RegressionSettings, relative_error
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Observed
from methods.blocks.training.optimiser import Optimiser
from methods.blocks.voronoi import fill_frames, fill_video

RECFNO = Architecture(  # the levels of RecFNO's U-Net
    width=32,
    multipliers=(1, 2, 4, 8, 16),
    blocks=1,
    attention=(),
    embedding=0,
    dropout=0.0,
    rescale=False,
)


@dataclass(frozen=True)
class Settings(RegressionSettings):
    """Defaults: RecFNO's code; its rate falls by 2 % an epoch, ours as a cosine."""

    architecture: Architecture = RECFNO
    circular: bool = True  # ours; pad by wrapping around where the domain is periodic
    training: Training = field(
        default_factory=lambda: Training(
            steps=187_500,  # 300 epochs of 10,000
            batch=16,
            optimiser=Optimiser(lr=1e-3, betas=(0.9, 0.999), weight_decay=0.0, schedule="cosine"),
            ema=0.0,
        )
    )


LAPTOP = Settings(
    architecture=replace(RECFNO, width=64, multipliers=(1, 2), patch=2),
    training=Training(
        steps=2000,
        batch=8,
        optimiser=Optimiser(lr=2e-3, betas=(0.9, 0.99), weight_decay=0.0, schedule="cosine", warmup=50),
        ema=0.99,
        precision="32-true",
    ),
    symmetries=True,
)
SMOKE = Settings(
    architecture=replace(RECFNO, width=16, multipliers=(1, 2)),
    training=Training(
        steps=60,
        batch=8,
        optimiser=Optimiser(lr=5e-3, betas=(0.9, 0.99), weight_decay=0.0, schedule="cosine", warmup=5),
        ema=0.0,
        validations=2,
    ),
    validation=8,
)


class VoronoiUNet(Learned):
    nearest = True
    stochastic = False
    source = "Fukami et al., Global field reconstruction from sparse sensors, Nature Machine Intelligence 3, 2021"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        if task.family != "continuous":
            return "unseen frames are an addition of this suite: the source has sensors in each"
        return None

    def network(self, shape: Shape) -> nn.Module:
        architecture, frames = self.settings.architecture, shape.frames * shape.channels
        if self.settings.circular and shape.grid.boundary == "periodic":
            architecture = replace(architecture, padding="circular")
        return UNet(2 * frames + shape.fields, frames, shape.grid.shape[0], architecture)

    def losses(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        return relative_error(self.reconstruct(network, batch.problem), batch)

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        return self.reconstruct(self.net_, problem)

    def evaluations(self, problem: Problem) -> int:
        return 1

    def reconstruct(self, network: nn.Module, problem: Problem) -> Tensor:
        """(B, T, H, W, C) in physical units."""
        mask = problem.mask.movedim(-1, 2)  # (B, T, C, H, W)
        values = self.normaliser_.encode_seen(problem.values, problem.mask).movedim(-1, 2)
        fill = (fill_frames if self.shape_.steady else fill_video)(values, mask, problem.grid)
        fields = self.fields(problem.static, values).movedim(-1, 1)
        seen = torch.cat([fill.flatten(1, 2), mask.to(fill).flatten(1, 2), fields], dim=1)
        return self.normaliser_.decode((fill + network(seen).view_as(fill)).movedim(2, -1))
