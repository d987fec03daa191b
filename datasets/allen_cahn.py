"""Allen-Cahn: random waves separate into the two stable phases u = -1 and u = +1.

    u_t = Lap u - g2 u (u^2 - 1)    on the unit square, T = 2e-4

Poseidon's ACE data. Its text gives g2 = 220^2 and an initial field with a factor 1/K^2, which do not reproduce the
released statistics (std 0.38 instead of 0.6535); g2 = 15100 with max-normalised initial fields does (0.65). The latter
is `variant="calibrated"`, the default; the former `variant="paper"`. The boundary is periodic in the text; the initial
sine series vanishes at the walls, so `boundary="dirichlet"` is an option.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from benchmark.core import Dataset, Grid, Sizes, Split, keyed_generator
from benchmark.core.equation import Equation
from benchmark.core.operators import Derivative
from datasets.random_fields import uniform

REACTION = {"calibrated": 15100.0, "paper": 220.0**2}  # g2 at 128 points


@dataclass(frozen=True)
class Settings:
    """`zoom` s shows a part of the domain 1/s as wide: g2 / s^2, T s^2, K / s, so that all stays equal in pixels."""

    sizes: Sizes
    variant: Literal["calibrated", "paper"] = "calibrated"
    boundary: Literal["periodic", "dirichlet"] = "periodic"
    duration: float = 2e-4
    modes: tuple[int, int] = (16, 32)  # K is drawn from this range
    decay: tuple[float, float] = (0.7, 1.0)  # r is drawn from this range
    zoom: float = 1.0
    substeps: int = 10  # a frame
    seed: int = 1  # seed 0 was used while the reference methods were designed


PAPER = Settings(Sizes(128, 20, train=14_700, valid=100, test=100))


@dataclass(frozen=True)
class AllenCahnEquation(Equation):
    name = "allen_cahn"
    formula = "u_t = Lap u - g2 u (u^2 - 1)"
    g2: float
    substeps: int
    unknowns: ClassVar[tuple[str, ...]] = ("u",)

    def space_terms(self, fields: Mapping[str, Tensor], static: Tensor | None, d: Derivative) -> dict[str, Tensor]:
        u = fields["u"]
        return {"diffusion": -(d(u, "xx") + d(u, "yy")), "reaction": self.g2 * (u**3 - u)}

    def solve(self, first: Tensor, static: Tensor | None, grid: Grid) -> Tensor:
        u = first[..., 0]
        tau = grid.dt / self.substeps
        state, unpack = _pack(u) if grid.boundary == "periodic" else (u, lambda s: s)
        diffuse = _heat(grid, tau, u)
        frames = [u]
        for _ in grid.times[1:]:
            state = self.strang(state, tau, diffuse)
            frames.append(unpack(state))
        return torch.stack(frames, dim=1)[..., None]

    def strang(self, u: Tensor, tau: float, diffuse: Callable[[Tensor], Tensor]) -> Tensor:
        """`substeps` steps: half a reaction, then diffusion and reaction in turn, the last one half again."""
        u = self.react(u, tau / 2)
        for _ in range(self.substeps - 1):
            u = self.react(diffuse(u), tau)
        return self.react(diffuse(u), tau / 2)

    def react(self, u: Tensor, tau: float) -> Tensor:
        """u_t = g2 u (1 - u^2) exactly: u / sqrt(u^2 + (1 - u^2) exp(-2 g2 tau))."""
        e = torch.exp(torch.tensor(-2 * self.g2 * tau, dtype=torch.float64)).item()
        return u * torch.rsqrt(u * u * (1 - e) + e)


def _pack(u: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Two trajectories as real and imaginary part (B/2, N, N, 2): diffusion acts on both with one complex transform."""
    count = len(u)
    even = torch.cat([u, torch.zeros_like(u[:1])]) if count % 2 else u
    pairs = torch.stack([even[0::2], even[1::2]], dim=-1)
    return pairs, lambda s: s.movedim(-1, 1).flatten(0, 1)[:count]


def _heat(grid: Grid, tau: float, like: Tensor) -> Callable[[Tensor], Tensor]:
    """u -> exp(tau Lap) u: in Fourier space on pairs (periodic), or by sine modes of the inner points (Dirichlet)."""
    n, length = grid.shape[0], grid.lengths[0]
    if grid.boundary == "periodic":
        k = 2 * torch.pi / length * torch.fft.fftfreq(n, 1 / n, dtype=torch.float64)
        symbol = torch.exp(-tau * (k[:, None] ** 2 + k**2))
        symbol = torch.stack([symbol, symbol], dim=-1).to(like)  # (N, N, 2)

        def diffuse(pairs: Tensor) -> Tensor:
            z_hat = torch.view_as_real(torch.fft.fft2(torch.view_as_complex(pairs)))
            return torch.view_as_real(torch.fft.ifft2(torch.view_as_complex(z_hat * symbol)))

        return diffuse
    j = torch.arange(1, n - 1, dtype=torch.float64)
    sine = torch.sin(torch.pi * j[:, None] * j / (n - 1)) * (2 / (n - 1)) ** 0.5
    inner = (sine * torch.exp(-tau * (torch.pi * j / length) ** 2)) @ sine
    matrix = torch.nn.functional.pad(inner, (1, 1, 1, 1)).to(like)  # (N, N), the edges stay zero
    return lambda u: matrix @ u @ matrix


class AllenCahn(Dataset):
    name = "allen_cahn"
    title = "Allen-Cahn"
    source = "Herde et al., Poseidon, NeurIPS 2024 (arXiv 2405.19101), dataset ACE"
    profiles = {
        "paper": PAPER,
        "laptop": replace(PAPER, sizes=Sizes(32, 8, 4096, 32, 32), zoom=4.5),
        "smoke": replace(PAPER, sizes=Sizes(16, 4, 16, 4, 4), zoom=10.0),
    }

    def equation(self) -> AllenCahnEquation:
        s = self.settings
        return AllenCahnEquation(REACTION[s.variant] / s.zoom**2, s.substeps)

    def grid(self, frames: int) -> Grid:
        s = self.settings
        n, dt = s.sizes.resolution, s.duration * s.zoom**2 / (s.sizes.frames - 1)
        return Grid((n, n), (1.0, 1.0), tuple(i * dt for i in range(frames)), s.boundary)

    def simulate(
        self, split: Split, indices: Sequence[int], frames: int, device: Any, dtype: torch.dtype
    ) -> tuple[Tensor, None]:
        grid = self.grid(frames)
        first = torch.stack(
            [self._initial(grid, keyed_generator(self.name, self.settings.seed, split, i)) for i in indices]
        )
        return self.equation().solve(first.to(device, dtype)[..., None], None, grid), None

    def _initial(self, grid: Grid, g: torch.Generator) -> Tensor:
        """sum_ij a_ij (i^2 + j^2)^-r sin(pi i x) sin(pi j y), i, j <= K."""
        s = self.settings
        low, high = (max(1, round(k / s.zoom)) for k in s.modes)
        count = int(torch.randint(low, high + 1, (1,), generator=g))
        slowest, fastest = s.decay
        r = uniform(slowest, fastest, (1,), g)
        j = torch.arange(1, count + 1, dtype=torch.float64)
        a = uniform(-1, 1, (count, count), g) * (j[:, None] ** 2 + j**2) ** -r
        sines = [torch.sin(torch.pi * axis.reshape(-1, 1) * j) for axis in grid.axes(torch.float64)]  # (N, K)
        u = sines[0] @ a @ sines[1].T
        return u / u.abs().max() if s.variant == "calibrated" else u / count**2
