"""What physics says about stored frames alone: one number per trajectory and law, with the bound it must stay under.

vorticity    zero mean;  d/dt <w^2>/2 = -nu <|grad w|^2> - drag <w^2> + <f w>
wave         from rest, int |grad u|^2 never exceeds its first value (the rest is kinetic, or left through the walls)
Allen-Cahn   |u| <= 1;  int |grad u|^2 / 2 + g2 (u^2 - 1)^2 / 4 never grows
Helmholtz    u = 0 on the edge;  the five-point equation
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import torch
from scipy.integrate import simpson
from torch import Tensor

from benchmark.core import Grid, Trajectories
from benchmark.core.equation import Equation
from benchmark.core.operators import Fourier
from datasets.allen_cahn import AllenCahnEquation
from datasets.helmholtz import HelmholtzEquation
from datasets.vorticity import VorticityEquation
from datasets.wave_layer import WaveLayerEquation

EPS = torch.finfo(torch.float32).eps


@dataclass(frozen=True)
class Law:
    """`values` (B,) must not exceed `bound`; None: the law does not apply, and `note` says why."""

    name: str
    values: Tensor | None
    bound: float
    note: str = ""


@singledispatch
def laws(equation: Equation, clips: Trajectories) -> list[Law]:
    """The laws of an equation, applied to clips in float64."""
    return []


@laws.register
def _(equation: VorticityEquation, clips: Trajectories) -> list[Law]:
    w = clips.u[..., 0]
    mean = w.mean((-2, -1)).abs().amax(1) / w.flatten(1).std(1)
    budget = _enstrophy_defect(equation, w, clips.grid)
    return [
        Law("mean vorticity / std", mean, 1e-4),
        Law("enstrophy budget, relative defect", budget, 2e-2, "Simpson's rule over the frames"),
    ]


def _enstrophy_defect(equation: VorticityEquation, w: Tensor, grid: Grid) -> Tensor:
    """|change - integral of the sources| / integral of their sizes, (B,)."""
    d = Fourier(grid, w)
    enstrophy = w.square().mean((-2, -1)) / 2  # (B, T)
    loss = equation.nu * (d(w, "x").square() + d(w, "y").square()).mean((-2, -1)) + 2 * equation.drag * enstrophy
    gain = (equation.forcing(d.x, d.y) * w).mean((-2, -1))
    integral = torch.as_tensor(simpson((gain - loss).numpy(), x=grid.times, axis=1))
    size = torch.as_tensor(simpson((gain.abs() + loss).numpy(), x=grid.times, axis=1))
    return (enstrophy[:, -1] - enstrophy[:, 0] - integral).abs() / (size + EPS * enstrophy[:, 0])


@laws.register
def _(equation: WaveLayerEquation, clips: Trajectories) -> list[Law]:
    name = "potential energy / initial energy"
    if clips.grid.times[0] != 0:
        return [Law(name, None, 1.0, "the first frame is not the state at rest")]
    potential = _gradient_square(clips.u[..., 0], clips.grid)  # (B, T)
    return [Law(name, potential.amax(1) / potential[:, 0], 1 + 1e-3, "from rest it never exceeds 1")]


@laws.register
def _(equation: AllenCahnEquation, clips: Trajectories) -> list[Law]:
    u = clips.u[..., 0]
    well = equation.g2 / 4 * (u.square() - 1).square().mean((-2, -1))
    energy = _gradient_square(u, clips.grid) / 2 + well  # (B, T)
    growth = energy.diff(dim=1).amax(1) / energy[:, 0]
    bound = u[:, 0].abs().flatten(1).amax(1).clamp(min=1)
    return [
        Law("largest |u| / max(1, |u(0)|)", u.abs().flatten(1).amax(1) / bound, 1 + 1e-3, "maximum principle"),
        Law("growth of the free energy", growth, 1e-6, "from frame to frame, relative"),
    ]


def _gradient_square(u: Tensor, grid: Grid) -> Tensor:
    """Mean of |grad u|^2 by one-sided differences, (B, T, H, W) -> (B, T)."""
    total = torch.zeros(u.shape[:2], dtype=u.dtype)
    for dim, h in zip((-2, -1), grid.spacing, strict=True):
        steps = u.roll(-1, dim) - u if grid.boundary == "periodic" else u.diff(dim=dim)
        total += (steps / h).square().mean((-2, -1))
    return total


@laws.register
def _(equation: HelmholtzEquation, clips: Trajectories) -> list[Law]:
    a, u = clips.u[..., 0].unbind(1)
    edge = torch.cat([u[:, [0, -1]].flatten(1), u[:, :, [0, -1]].flatten(1)], dim=1).abs().amax(1)
    residual = equation.residual(clips.u, None, clips.grid).flatten(1).norm(dim=1) / a.flatten(1).norm(dim=1)
    h = clips.grid.spacing[0]
    rounding = 2 * EPS * 8 / h**2 * (u.flatten(1).norm(dim=1) / a.flatten(1).norm(dim=1)).max().item()
    return [
        Law("largest |u| on the edge / max |u|", edge / u.abs().flatten(1).amax(1), 1e-6),
        Law("five-point residual / |a|", residual, max(1e-9, rounding), "the rounding of float32 values over h^2"),
    ]
