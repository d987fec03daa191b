"""FunDPS: DiffusionPDE's guided sampling with a prior whose noise is a Gaussian field.

    prior     x_sigma = x_0 + sigma xi,  xi a Gaussian field, loss = lambda(sigma) |D(x_sigma, sigma) - x_0|^2
    sampling  Heun's method from sigma_max xi;  x_{i+1} <- x_{i+1} - f grad_{x_i} ( z_obs L(m (D - y)) + z_pde H(f(D)) )

D is the second estimate of a step, L a mean over the sensors, squared or its root, H the mean of Huber's function. The
factor f is 1 and z_pde 0 while sigma > 1; after that f = sigma. Pairs of frames, tasks and answers are DiffusionPDE's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from torch import Tensor

from benchmark.core import Dataset, Problem, Task
from methods.blocks.diffusion.edm import SAMPLING, Edm
from methods.blocks.diffusion.guidance import Guidance, Loss, Term
from methods.blocks.networks.unet import Architecture
from methods.blocks.training.budget import Training
from methods.blocks.training.optimiser import Optimiser
from methods.diffusionpde import settings as diffusionpde
from methods.diffusionpde.method import DiffusionPDE
from methods.diffusionpde.terms import Seen
from methods.diffusionpde.weights import Weights
from methods.fundps.noise import Noise, gaussian_field

# -- weights


class Published(NamedTuple):
    """Of normalised fields; what is open is in the card."""

    seen: float  # z_obs
    pde: float  # z_pde
    loss: Loss = "mean_square"  # of the sensors


FORWARD: dict[str, Published] = {"navier_stokes": Published(5e3, 1.0), "helmholtz": Published(1e4, 1.0)}
INVERSE: dict[str, Published] = {
    "navier_stokes": Published(7.5e3, 10.0, "root_mean_square"),
    "helmholtz": Published(5e3, 1.0),
}
OTHERS = Published(5e3, 1.0)  # open


def published(equation: str, seen: Seen) -> Published:
    """Inverse where the later frame alone is observed; sensors in both count as forward."""
    table = FORWARD if seen.mask[:, 0].any() else INVERSE
    return table.get(equation, OTHERS)


# -- settings


@dataclass(frozen=True)
class Settings(diffusionpde.Common):
    """Defaults: the source's code, where it states a value; what is DiffusionPDE's stays."""

    architecture: Architecture = field(  # of the source's size; its blocks are neural operators
        default_factory=lambda: Architecture(width=64, multipliers=(1, 2, 4, 4), attention=(16,))
    )
    noise: Noise = field(default_factory=Noise)
    edm: Edm = Edm(steps=500)  # or 200
    training: Training = Training(
        steps=312_500,  # 10M pairs
        batch=32,
        optimiser=Optimiser(lr=1e-4, betas=(0.9, 0.999), weight_decay=0.0, warmup=156_250, clip=float("inf")),
        ema=0.99956,  # open; a half-life of 0.05M pairs
    )
    guidance: Guidance = Guidance(schedule="sigma", late=1.0)


def _of(settings: diffusionpde.Settings, **changes: Any) -> Settings:
    shared = {name: value for name, value in vars(settings).items() if name != "table"}
    return Settings(**(shared | changes))


LAPTOP = _of(
    diffusionpde.LAPTOP,
    noise=Noise(length=0.1),  # neighbours as alike as 0.05 makes them at 128^2
    edm=replace(diffusionpde.LAPTOP.edm, sampler="heun", steps=50),
    guidance=Settings().guidance,
    observation=0.08,  # preliminary: TUNING.md
    full=1.0,
)
SMOKE = _of(diffusionpde.SMOKE, noise=LAPTOP.noise, guidance=replace(diffusionpde.SOLVE, schedule="sigma"))


class FunDPS(DiffusionPDE):
    version = 1
    source = "Yao et al., Guided Diffusion Sampling on Function Spaces with Applications to PDEs, 2025"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}
    sampling_settings = (*SAMPLING, "guidance", "observation", "full", "physics", "far", "score")

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        edm, noise = self.settings.edm, self.settings.noise
        return f"{edm.steps} steps of {edm.sampler}, kernel {noise.kernel} (the source: 500, heun, exponential)"

    def noise(self, shape: Sequence[int], white: Callable[[Sequence[int]], Tensor]) -> Tensor:
        return gaussian_field(self.settings.noise, self.shape_.grid, shape, white)

    def pair_terms(self, seen: Seen, far: bool, problem: Problem, static: Tensor | None) -> list[Term]:
        s, z = self.settings, published(problem.equation.name, seen)
        w = Weights(s.observation * z.seen, s.observation * z.seen, s.physics * z.pde)
        sensors = [replace(term, loss=z.loss) for term in self.sensor_terms(seen, w)]
        return [*sensors, *(replace(term, loss="huber") for term in self.equation_terms(far, problem, static, w))]
