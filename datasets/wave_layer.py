"""Wave-Layer: pulses in a layered medium that leave through absorbing walls.

    u_tt = c(x, y)^2 Lap u    on the unit square, u_t(0) = 0, first-order absorbing walls u_t + c u_n = 0

Poseidon's data. VideoPDE prints the equation with a plus sign, which would be ill-posed. What the sources leave open:
the widths of the initial pulses (as printed they miss the released mean and standard deviation by a factor 2-3:
`variant="calibrated"` halves them), the time unit of the speed c (a factor fitted to the released data), the shape of
the layer interfaces, and the least distance of two pulses. The speed field c is known to every method: with u_t(0) = 0
the first frame says nothing about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import ceil
from operator import add
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from benchmark.core import Dataset, Grid, Sizes, Split, keyed_generator
from benchmark.core.equation import Equation
from benchmark.core.operators import Derivative
from datasets.random_fields import uniform

WIDTH = {"calibrated": 0.5, "paper": 1.0}  # sigma of a pulse = WIDTH * s, s uniform in `widths`
SPEED_FACTOR = {"calibrated": 2.3e-4, "paper": 2.47e-4}  # effective speed = factor * c


@dataclass(frozen=True)
class Settings:
    sizes: Sizes
    variant: Literal["calibrated", "paper"] = "calibrated"
    pulses: tuple[int, int] = (2, 6)
    widths: tuple[float, float] = (0.039, 0.156)
    width_scale: float = 1.0  # a coarser grid needs wider pulses
    separation: float = 0.1
    layers: tuple[int, int] = (3, 6)
    speeds: tuple[float, float] = (2000.0, 5000.0)
    duration: float = 1.0  # frames are duration / frames apart
    first_frame: int = 0  # 0: the initial state is frame 0
    courant: float = 0.5  # largest c dt / h
    seed: int = 1  # seed 0 was used while the reference methods were designed


PAPER = Settings(Sizes(128, 20, train=10_412, valid=100, test=100))


@dataclass(frozen=True)
class WaveLayerEquation(Equation):
    name = "wave_layer"
    formula = "u_tt = c^2 Lap u"
    time_order: ClassVar[int] = 2
    factor: float = 2.3e-4  # effective speed = factor * static field c
    max_speed: float = 5000.0  # fixes the time step, together with `courant`
    courant: float = 0.5

    def space_terms(self, fields: Mapping[str, Tensor], static: Tensor | None, d: Derivative) -> dict[str, Tensor]:
        if static is None:
            raise ValueError("wave_layer: the speed field c is needed as `static`")
        u = fields["u"]
        return {"laplacian": -((self.factor * static[..., 0]) ** 2) * (d(u, "xx") + d(u, "yy"))}

    def solve(self, first: Tensor, static: Tensor | None, grid: Grid) -> Tensor:
        if static is None:
            raise ValueError("wave_layer: the speed field c is needed as `static`")
        if grid.times[0] != 0:
            raise ValueError("wave_layer: the first frame must be at rest (t = 0), later ones lack the velocity u_t")
        h, c = grid.spacing[0], static[..., 0]
        fastest = self.factor * max(self.max_speed, c.max().item())
        substeps = ceil(grid.dt * fastest / (self.courant * h) - 1e-9)
        return leapfrog(first[..., 0], self.factor * c * (grid.dt / substeps / h), substeps, len(grid.times))[..., None]


def leapfrog(u: Tensor, courant: Tensor, substeps: int, frames: int) -> Tensor:
    """(B, N, N) at rest -> frames (B, T, N, N). `courant` = c dt / h at every point.

    Inside: u+ = 2u - u- + courant^2 (five-point sum). Walls (Mur, first order), with inner neighbour i and
    gain = (courant - 1) / (courant + 1): u+_b = u_i + gain (u+_i - u_b).
    """
    square = courant[:, 1:-1, 1:-1] ** 2
    gain = (courant - 1) / (courant + 1)
    before, video = None, [u]
    for _ in range(frames - 1):
        for _ in range(substeps):
            u, before = _step(u, before, square, gain), u
        video.append(u)
    return torch.stack(video, dim=1)


def _step(u: Tensor, before: Tensor | None, square: Tensor, gain: Tensor) -> Tensor:
    inner = u[:, 1:-1, 1:-1]
    change = u[:, 2:, 1:-1] + u[:, :-2, 1:-1]
    change = change.add_(u[:, 1:-1, 2:]).add_(u[:, 1:-1, :-2]).add_(inner, alpha=-4).mul(square)
    if before is None:  # first step from rest
        new = torch.add(inner, change, alpha=0.5)
    else:
        new = change.add_(inner, alpha=2).sub_(before[:, 1:-1, 1:-1])
    return _absorb(new, u, gain)


def _absorb(inner: Tensor, u: Tensor, gain: Tensor) -> Tensor:
    """New inner values (B, N-2, N-2) -> with walls (B, N, N); corners follow from the x walls, last."""
    left = torch.addcmul(u[:, 1:-1, 1:2], gain[:, 1:-1, :1], inner[:, :, :1] - u[:, 1:-1, :1])
    right = torch.addcmul(u[:, 1:-1, -2:-1], gain[:, 1:-1, -1:], inner[:, :, -1:] - u[:, 1:-1, -1:])
    middle = torch.cat([left, inner, right], dim=2)  # (B, N-2, N)
    top = torch.addcmul(u[:, 1:2], gain[:, :1], middle[:, :1] - u[:, :1])
    bottom = torch.addcmul(u[:, -2:-1], gain[:, -1:], middle[:, -1:] - u[:, -1:])
    return torch.cat([top, middle, bottom], dim=1)


class WaveLayer(Dataset):
    name = "wave_layer"
    title = "Wave-Layer (absorbing walls, layered speed)"
    source = "Herde et al., Poseidon, NeurIPS 2024 (arXiv 2405.19101), dataset Wave-Layer"
    static_names = ("c",)
    profiles = {
        "paper": PAPER,
        "laptop": replace(PAPER, sizes=Sizes(32, 8, 4096, 32, 32), width_scale=4.25),
        "smoke": replace(PAPER, sizes=Sizes(16, 4, 16, 4, 4), width_scale=4.0),
    }

    def equation(self) -> WaveLayerEquation:
        s = self.settings
        return WaveLayerEquation(SPEED_FACTOR[s.variant], s.speeds[1], s.courant)

    def grid(self, frames: int) -> Grid:
        s = self.settings
        n, dt = s.sizes.resolution, s.duration / s.sizes.frames
        return Grid((n, n), (1.0, 1.0), tuple(dt * (s.first_frame + i) for i in range(frames)), "absorbing")

    def simulate(
        self, split: Split, indices: Sequence[int], frames: int, device: Any, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        s, grid = self.settings, self.grid(frames + self.settings.first_frame)
        start = replace(grid, times=tuple(t - grid.times[0] for t in grid.times))
        drawn = [self._draw(grid, keyed_generator(self.name, s.seed, split, i)) for i in indices]
        u0, c = (torch.stack(fields).to(device, dtype)[..., None] for fields in zip(*drawn, strict=True))
        return self.equation().solve(u0, c, start)[:, s.first_frame :], c

    def _draw(self, grid: Grid, g: torch.Generator) -> tuple[Tensor, Tensor]:
        x, y = grid.axes(torch.float64)
        return self._pulses(x, y, g), self._speed(x, y, g)

    def _pulses(self, x: Tensor, y: Tensor, g: torch.Generator) -> Tensor:
        """A sum of unit Gaussians with centres in [1/6, 5/6]^2 at least `separation` apart (at most 100 redraws)."""
        s = self.settings
        count = int(torch.randint(s.pulses[0], s.pulses[1] + 1, (1,), generator=g))
        centres: list[Tensor] = []
        for _ in range(count):
            centres.append(_apart(centres, s.separation, g))
        narrow, wide = s.widths
        sigmas = WIDTH[s.variant] * s.width_scale * uniform(narrow, wide, (count,), g)
        sigmas = sigmas.clamp(min=2 / s.sizes.resolution)  # two cells at least
        pulses = (
            torch.exp(-((x - cx) ** 2 + (y - cy) ** 2) / (2 * sigma**2))
            for (cx, cy), sigma in zip(centres, sigmas, strict=True)
        )
        return reduce(add, pulses)

    def _speed(self, x: Tensor, y: Tensor, g: torch.Generator) -> Tensor:
        """Layers stacked along y with wavy interfaces y_i(x) = i/L + 0.45/L A_i g_i(x), max |g_i| = 1: none cross."""
        s = self.settings
        layers = int(torch.randint(s.layers[0], s.layers[1] + 1, (1,), generator=g))
        slow, fast = s.speeds
        speeds = uniform(slow, fast, (layers,), g)
        c = speeds[0].expand(x.shape[0], y.shape[1]).clone()
        j = torch.arange(1, 11, dtype=torch.float64)
        for i in range(1, layers):
            a, phase = uniform(0, 1, (2, 10), g)
            wave = (a * torch.sin(2 * torch.pi * j * (x + phase)) / j).sum(-1, keepdim=True)  # (N, 1)
            interface = i / layers + 0.45 / layers * uniform(0, 1, (1,), g) * wave / wave.abs().max()
            c = torch.where(y >= interface, speeds[i], c)
        return c


def _apart(others: Sequence[Tensor], separation: float, g: torch.Generator) -> Tensor:
    """A place at least `separation` from the others, or the hundredth one drawn."""
    place = uniform(1 / 6, 5 / 6, (2,), g)
    for _ in range(99):
        if all((place - other).norm() >= separation for other in others):
            break
        place = uniform(1 / 6, 5 / 6, (2,), g)
    return place
