"""Navier-Stokes in vorticity form on the unit torus: smooth random vorticity, weakly forced.

    w_t + v . grad w = nu Lap w + 0.1 (sin 2 pi (x + y) + cos 2 pi (x + y)),    nu = 1e-3

The set-up of DiffusionPDE's "non-bounded" Navier-Stokes data; VideoPDE uses 20 frames of it. Its final time is not
stated: T = 1 keeps the published statistics (a longer run lets the forcing grow the flow).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from benchmark.core import Dataset, Grid, Sizes, Split, keyed_generator
from datasets.random_fields import periodic_modes
from datasets.vorticity import VorticityEquation


@dataclass(frozen=True)
class Settings:
    sizes: Sizes
    nu: float = 1e-3
    amplitude: float = 0.1  # of the forcing
    alpha: float = 2.5  # smoothness of the initial vorticity
    tau: float = 7.0  # its inverse length scale
    strength: float = 1.0  # multiplies the initial vorticity
    duration: float = 1.0  # frames are duration / frames apart
    include_initial: bool = True  # frame 0 is t = 0; otherwise t = dt
    max_dt: float = 0.05
    seed: int = 1  # seed 0 was used while the reference methods were designed


PAPER = Settings(Sizes(resolution=128, frames=20, train=10_000, valid=100, test=100))


@dataclass(frozen=True)
class NavierStokesEquation(VorticityEquation):
    name = "navier_stokes"
    amplitude: float = 0.1

    def forcing(self, x: Tensor, y: Tensor) -> Tensor:
        phase = 2 * torch.pi * (x + y)
        return self.amplitude * (torch.sin(phase) + torch.cos(phase))


class NavierStokes(Dataset):
    name = "navier_stokes"
    title = "Navier-Stokes (vorticity, periodic)"
    source = "Huang et al., DiffusionPDE, NeurIPS 2024 (arXiv 2406.17763)"
    channels = ("w",)
    profiles = {
        "paper": PAPER,
        "laptop": replace(PAPER, sizes=Sizes(32, 8, 4096, 32, 32), alpha=4.5, strength=4.0),
        "smoke": replace(PAPER, sizes=Sizes(16, 4, 16, 4, 4), alpha=10.0, strength=6.0),
    }

    def equation(self) -> NavierStokesEquation:
        s = self.settings
        return NavierStokesEquation(length=1.0, nu=s.nu, drag=0.0, max_dt=s.max_dt, amplitude=s.amplitude)

    def grid(self, frames: int) -> Grid:
        s = self.settings
        dt, start = s.duration / s.sizes.frames, 0 if s.include_initial else 1
        n = s.sizes.resolution
        return Grid((n, n), (1.0, 1.0), tuple(dt * (start + i) for i in range(frames)), "periodic")

    def simulate(
        self, split: Split, indices: Sequence[int], frames: int, device: Any, dtype: torch.dtype
    ) -> tuple[Tensor, None]:
        s, equation = self.settings, self.equation()
        flow = equation.flow(s.sizes.resolution, dtype, device)
        modes = [
            periodic_modes(flow.cutoff, s.alpha, s.tau, 2 * torch.pi, keyed_generator(self.name, s.seed, split, i))
            for i in indices
        ]
        w_hat = (s.strength * torch.stack(modes)).to(device, dtype.to_complex())
        times = self.grid(frames).times
        if times[0] > 0:
            w_hat = flow.advance(w_hat, times[0], s.max_dt)
        return flow.frames(w_hat, times, s.max_dt)[..., None], None
