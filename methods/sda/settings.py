"""Settings of SDA, and their values at each profile."""

from __future__ import annotations

from dataclasses import dataclass, replace

from methods.blocks.diffusion.variance_preserving import Target
from methods.blocks.networks.unet import Architecture
from methods.blocks.training.budget import Training
from methods.blocks.training.optimiser import Optimiser

PAPER = Architecture(
    96, (1, 2, 4), 3, attention=(), groups=1, dropout=0.0, resample="layer", rescale=False, padding="circular"
)


@dataclass(frozen=True)
class Settings:
    """Defaults: the authors' code for Kolmogorov flow."""

    architecture: Architecture = PAPER
    target: Target = "noise"  # of the network; velocity: ours, less to learn in a short training
    order: int = 2  # k: a window has 2 k + 1 frames
    steps: int = 256
    corrections: int = 1  # of Langevin, after each step
    tau: float = 0.5  # size of a correction
    gamma: float = 1e-2  # how much an early estimate is mistrusted
    std: float = 0.05  # s, beside the noise of the sensors; a field has 1
    limit: float = float("inf")  # ours: how far eps may move the estimate of the readings, over their misfit
    training: Training = Training(
        steps=105_000,
        batch=32,
        optimiser=Optimiser(lr=2e-4, betas=(0.9, 0.999), weight_decay=1e-3, schedule="cosine", clip=float("inf")),
        ema=0.0,
        precision="32-true",
    )
    symmetries: bool = False  # ours
    coordinates: bool = True  # the source: the force, which tells the place as well
    validation: int = 256  # ours; windows of `valid`, each with a fixed time and noise
    chunk: int = 1  # trajectories at once

    def __post_init__(self) -> None:
        if self.order < 1 or self.steps < 1 or self.corrections < 0:
            raise ValueError(
                "sda: expected order and steps of 1 or more, corrections >= 0, got "
                f"{self.order}, {self.steps} and {self.corrections}"
            )
        if min(self.tau, self.gamma, self.std, self.limit) <= 0:
            raise ValueError(
                "sda: expected tau, gamma, std and limit above 0, got "
                f"{self.tau}, {self.gamma}, {self.std} and {self.limit}"
            )


SMALL = Architecture(32, (1, 2, 2), 1, attention=(), groups=8, dropout=0.0, padding="circular", patch=2)
LAPTOP = Settings(
    SMALL,
    target="velocity",
    steps=64,
    limit=2.0,
    symmetries=True,
    training=Training(
        steps=11_000,
        batch=16,
        optimiser=Optimiser(lr=2e-3, weight_decay=1e-3, schedule="cosine", warmup=50),
        ema=0.998,
    ),
    chunk=8,
)
SMOKE = replace(  # so little training that few steps without corrections serve it best
    LAPTOP,
    architecture=replace(SMALL, width=16, multipliers=(1, 2)),
    steps=4,
    corrections=0,
    gamma=0.3,
    limit=float("inf"),
    symmetries=False,
    training=Training(
        steps=300,
        batch=8,
        optimiser=Optimiser(lr=5e-3, weight_decay=0.0, schedule="cosine", warmup=5),
        ema=0.9,
        validations=2,
    ),
    validation=16,
)
