"""What a network sees of a point: plane waves of the box, and time.

    cos, sin (2 pi k . x / L),  |k| <= waves        periodic on the box, so that no boundary value is needed

A box with walls gets the waves of a box twice as large, whose periodicity does not matter inside. Time runs from -1 to
1, or is t^2 where the motion starts from rest, which makes u_t(0) = 0 exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from benchmark.core import Grid
from methods.pinn.jets import Axes
from methods.pinn.points import Points


@dataclass(frozen=True)
class Features:
    """Jets of the inputs at grid sites and any time; a table over sites, which are the only places ever asked for."""

    axes: Axes
    waves: Tensor  # (D, HW, 2 K)
    grid: Grid
    rest: bool  # the motion starts from rest

    @classmethod
    def of(cls, grid: Grid, count: int, decay: float, axes: Axes, rest: bool, device: torch.device) -> Features:
        phase, kx, ky = _phases(grid, count)
        size = (kx**2 + ky**2) ** 0.5
        size = (size.min() / size) ** decay
        cos, sin = size * phase.cos(), size * phase.sin()
        k = {"x": kx, "y": ky}
        rows = [torch.cat([cos, sin], 1)]
        rows += [torch.cat([-k[c] * sin, k[c] * cos], 1) if c in k else torch.zeros_like(rows[0]) for c in axes.first]
        rows += [
            torch.cat([-(k[c] ** 2) * cos, -(k[c] ** 2) * sin], 1) if c in k else torch.zeros_like(rows[0])
            for c in axes.second
        ]
        return cls(axes, torch.stack(rows).to(device, torch.float32), grid, rest)

    @property
    def width(self) -> int:
        return self.waves.shape[-1] + ("t" in self.axes.first)

    def __call__(self, points: Points, values_only: bool = False) -> Tensor:
        """(B or 1, D, N, F), of which D = 1 if only values are wanted."""
        waves = self.waves[:1] if values_only else self.waves
        space = waves[:, points.site].movedim(0, 1)  # (B, D, N, 2 K)
        if "t" not in self.axes.first:
            return space
        return torch.cat([space, self.clock(points.time)[:, : len(waves), :, None]], dim=-1)

    def clock(self, t: Tensor) -> Tensor:
        """The jet (B, D, N) of the time a network sees."""
        first, last = self.grid.times[0], self.grid.times[-1]
        if self.rest:
            parts = {"": 2 * (t / last) ** 2 - 1, "t": 4 * t / last**2, "tt": torch.full_like(t, 4 / last**2)}
        else:
            slope = 2 / (last - first)
            parts = {"": slope * (t - first) - 1, "t": torch.full_like(t, slope)}
        return torch.stack([parts.get(name, torch.zeros_like(t)) for name in self.axes.names], dim=1)


def _phases(grid: Grid, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """k . x at every site (HW, K), and the K wave vectors."""
    fold = 1 if grid.boundary == "periodic" else 2
    count = fold * count  # the shortest wave is as long in either case
    k = torch.arange(-count, count + 1, dtype=torch.float64)
    kx, ky = (v.flatten() for v in torch.meshgrid(k, k, indexing="ij"))
    half = (kx**2 + ky**2 <= count**2) & ((kx > 0) | ((kx == 0) & (ky > 0)))  # k and -k are one wave
    kx, ky = (2 * torch.pi * v[half] / (fold * length) for v, length in zip((kx, ky), grid.lengths, strict=True))
    x, y = grid.axes(torch.float64)
    phase = (kx * x[..., None] + ky * y[..., None]).flatten(0, 1)
    return phase, kx, ky
