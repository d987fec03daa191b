"""Settings of DiffusionPDE and its extension, and their values at each profile."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from methods.blocks.diffusion.edm import Edm
from methods.blocks.diffusion.guidance import Guidance
from methods.blocks.networks.unet import Architecture
from methods.blocks.training.budget import Training
from methods.blocks.training.optimiser import Optimiser
from methods.diffusionpde.weights import Table

Labels = Literal["onehot", "sin"]


@dataclass(frozen=True)
class Common:
    """What all methods with a prior over pairs have. Defaults: DiffusionPDE's code, where it states a value."""

    architecture: Architecture = field(default_factory=Architecture)
    label: Labels = "onehot"  # open: how a network is told which pair it sees, see `prior.py`
    circular: bool = False  # pad circularly where the domain is periodic
    symmetries: bool = False  # ours
    coordinates: bool = False  # ours; without padding by zeros a network knows no place
    edm: Edm = Edm(steps=2000)
    training: Training = Training(
        steps=333_333,  # 20M pairs at most
        batch=60,
        optimiser=Optimiser(lr=1e-3, betas=(0.9, 0.999), weight_decay=0.0, warmup=166_667, clip=float("inf")),
        ema=0.99917,  # a half-life of 0.05M pairs
    )
    guidance: Guidance = Guidance()
    observation: float = 1.0  # factor on z_a and z_u
    full: float = 1.0  # further factor where a frame is seen in full; open: sources give weights for sensors only
    physics: float = 1.0  # factor on z_pde
    far: Literal["none", "divergence"] = "divergence"  # the equation's stand-in for first and last frames (vorticity)
    pairs: Literal["disjoint", "leap"] = (
        "disjoint"  # open: continuous tasks by pairs (1, 2), (3, 4) .. or (1, 2), (1, 3) ..
    )
    score: Literal["end_frame", "all"] = "end_frame"  # open: forward and inverse tasks are scored on that frame alone
    validation: int = 256  # open; pairs of `valid`, each with a fixed noise
    chunk: int = 32  # trajectories sampled at once
    inputs: int = 4  # pairs whose activations are held at once, 1.7 GB each


@dataclass(frozen=True)
class Settings(Common):
    table: Table = "code"  # of guidance weights, see `weights.py`

    def __post_init__(self) -> None:
        losses = {"code": "norm", "paper": "mean_square"}
        expected = losses.get(self.table, self.guidance.loss)
        if self.guidance.update == "gradient" and self.guidance.loss != expected:
            raise ValueError(
                f"table {self.table!r}: its weights are for guidance.loss={expected}, got {self.guidance.loss}"
            )


LAPTOP = Settings(  # the source's guidance in a twentieth of its steps; weights and steps were chosen on `valid`
    Architecture(32, (1, 2, 2), 1, attention=(8,), dropout=0.0, patch=2),
    circular=True,
    symmetries=True,
    coordinates=True,
    edm=Edm(log_mean=-0.4, log_std=1.6, sigma_min=0.02, sigma_max=20.0, sampler="dpmpp_2m", steps=100),
    training=Training(
        steps=10_000,
        batch=16,
        optimiser=Optimiser(lr=3e-3, weight_decay=0.0, schedule="cosine", warmup=50),
        ema=0.998,
    ),
    table="laptop",
    full=0.3,
    far="none",
    inputs=512,  # 2.4 MB each
)
SOLVE = Guidance("solve", late=1.0, iterations=4)  # for a handful of steps
SMOKE = (
    replace(  # a small network, trained and sampled at high noise levels only: close to a regression, but it runs all
        LAPTOP,
        architecture=Architecture(16, (1, 2), 1, attention=(), dropout=0.0, patch=2),
        circular=False,
        symmetries=False,
        coordinates=False,
        edm=Edm(log_mean=2.0, log_std=1.0, sigma_min=3.0, sigma_max=20.0, sampler="dpmpp_2m", steps=2),
        training=Training(
            steps=250, batch=8, optimiser=Optimiser(lr=1e-2, weight_decay=0.0, warmup=5), ema=0.9, validations=2
        ),
        guidance=SOLVE,
        physics=0.0,
        validation=16,
    )
)
