"""A small exact dataset for tests: heat decay of random smooth fields on the unit torus, u_t = nu Lap u."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from benchmark.core import Dataset, Grid, Sizes, Trajectories
from benchmark.core.equation import Equation


class Heat(Equation):
    name = "heat"
    formula = "u_t = nu Lap u"

    def __init__(self, nu: float = 0.01, steady: bool = False):
        self.nu = nu
        if steady:
            self.time_order = 0

    def space_terms(self, fields, static, d):
        u = fields["u"]
        return {"diffusion": -self.nu * (d(u, "xx") + d(u, "yy"))}

    def solve(self, first, static, grid):
        n = grid.shape[0]
        k = 2 * torch.pi * torch.fft.fftfreq(n, 1 / n, dtype=first.dtype, device=first.device)
        k2 = k[:, None] ** 2 + k[None, : n // 2 + 1] ** 2
        t = torch.tensor(grid.times, dtype=first.dtype, device=first.device) - grid.times[0]
        u_hat = torch.fft.rfft2(first[..., 0])[:, None] * torch.exp(-self.nu * k2 * t[:, None, None])
        return torch.fft.irfft2(u_hat, s=grid.shape)[..., None]


@dataclass(frozen=True)
class Settings:
    sizes: Sizes
    boundary: str = "periodic"


class HeatDataset(Dataset):
    name = "heat"
    title = "Heat decay"
    source = ""
    profiles = {}

    @classmethod
    def small(cls, resolution=16, frames=4, long_frames=None, boundary="periodic"):
        return cls(Settings(Sizes(resolution, frames, 64, 8, 4, long_frames), boundary))

    def equation(self):
        return Heat()

    def grid(self, frames):
        n = self.sizes.resolution
        return Grid((n, n), (1.0, 1.0), tuple(0.25 * i for i in range(frames)), self.settings.boundary)

    def simulate(self, split, indices, frames, device, dtype):
        seed = {"train": 0, "valid": 1, "test": 2}[split]
        n, grid = self.sizes.resolution, self.grid(frames)
        k = torch.fft.fftfreq(n, 1 / n)
        amplitude = (1 + k[:, None] ** 2 + k[None, :] ** 2) ** -1.5
        first = torch.stack(
            [torch.randn(n, n, generator=torch.Generator().manual_seed(10_000 * seed + i)) for i in indices]
        )
        first = torch.fft.ifft2(torch.fft.fft2(first) * amplitude).real[..., None] * n
        return self.equation().solve(first, None, grid).to(device=device, dtype=dtype), None

    def trajectories(self, split, count, frames=None):
        frames = frames or self.sizes.frames
        u, static = self.generate(split, range(count), frames)
        return Trajectories(u, self.grid(frames), self.equation(), static)
