"""Helmholtz, a steady problem: a random source a and its response u, stored as two frames.

    Lap u + k^2 u = a,  k = 1,  u = 0 on the edge of the unit square

DiffusionPDE's inhomogeneous Helmholtz data: grid nodes include the end points, a is a Gaussian field set to zero on the
edge, and the five-point equation is solved exactly by sine modes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from benchmark.core import Dataset, Grid, Sizes, Split, keyed_generator
from benchmark.core.equation import Equation
from benchmark.core.operators import Derivative
from datasets.random_fields import neumann_field


@dataclass(frozen=True)
class Settings:
    sizes: Sizes
    k: float = 1.0
    alpha: float = 2.0  # smoothness of the source
    tau: float = 3.0  # its inverse length scale
    strength: float = 1.0  # multiplies the source
    seed: int = 1  # seed 0 was used while the reference methods were designed


PAPER = Settings(Sizes(128, 2, train=50_000, valid=100, test=100))


@dataclass(frozen=True)
class HelmholtzEquation(Equation):
    name = "helmholtz"
    formula = "Lap u + k^2 u = a"
    unknowns: ClassVar[tuple[str, ...]] = ("u", "a")
    time_order: ClassVar[int] = 0
    k: float = 1.0

    def space_terms(self, fields: Mapping[str, Tensor], static: Tensor | None, d: Derivative) -> dict[str, Tensor]:
        u = fields["u"]
        return {"laplacian": d(u, "xx") + d(u, "yy"), "wave": self.k**2 * u, "source": -fields["a"]}

    def derive(self, u: Tensor, grid: Grid) -> dict[str, Tensor]:
        return {"a": u[:, 0, ..., 0], "u": u[:, 1, ..., 0]}

    def solve(self, first: Tensor, static: Tensor | None, grid: Grid) -> Tensor:
        """The five-point solution: divide by the eigenvalues -(2 - 2 cos(pi j h)) / h^2 + k^2 of the sine modes."""
        a, n, (h, _) = first[..., 0], grid.shape[0], grid.spacing
        j = torch.arange(1, n - 1, dtype=torch.float64)
        sine = (torch.sin(torch.pi * j[:, None] * j / (n - 1)) * (2 / (n - 1)) ** 0.5).to(a)
        eigen = -(2 - 2 * torch.cos(torch.pi * j / (n - 1))) / h**2
        symbol = (eigen[:, None] + eigen + self.k**2).to(a)
        u = sine @ ((sine @ a[..., 1:-1, 1:-1] @ sine) / symbol) @ sine
        return torch.stack([a, torch.nn.functional.pad(u, (1, 1, 1, 1))], dim=1)[..., None]


class Helmholtz(Dataset):
    name = "helmholtz"
    title = "Helmholtz (steady)"
    source = "Huang et al., DiffusionPDE, NeurIPS 2024 (arXiv 2406.17763)"
    frame_names = ("a", "u")
    profiles = {
        "paper": PAPER,
        "laptop": replace(PAPER, sizes=Sizes(32, 2, 4096, 32, 32), alpha=3.0, strength=1.8),
        "smoke": replace(PAPER, sizes=Sizes(16, 2, 16, 4, 4), alpha=4.0, strength=2.8),
    }

    def equation(self) -> HelmholtzEquation:
        return HelmholtzEquation(self.settings.k)

    def grid(self, frames: int) -> Grid:
        if frames != 2:
            raise ValueError(f"helmholtz: expected 2 frames (a and u), got {frames}")
        n = self.sizes.resolution
        return Grid((n, n), (1.0, 1.0), (0.0, 1.0), "dirichlet")

    def simulate(
        self, split: Split, indices: Sequence[int], frames: int, device: Any, dtype: torch.dtype
    ) -> tuple[Tensor, None]:
        s, grid = self.settings, self.grid(frames)
        inside = torch.zeros(grid.shape, dtype=torch.float64)
        inside[1:-1, 1:-1] = 1
        fields = [
            neumann_field(s.sizes.resolution, s.alpha, s.tau, keyed_generator(self.name, s.seed, split, i))
            for i in indices
        ]
        a = (s.strength * torch.stack(fields) * inside).to(device)
        return self.equation().solve(a[..., None], None, grid).to(dtype), None
