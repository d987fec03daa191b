"""Gaussian fields as the noise of a diffusion: stationary, of unit variance, coloured by their Fourier transform.

    exponential  k(d) = exp(-d / (2 l^2))        what the source's code computes; nearly white for l = 0.05
    squared      k(d) = exp(-d^2 / (2 l^2))      the Gaussian kernel of its text, of correlation length l

with d over the side of the domain, plus a nugget on the diagonal. On a torus d is the shortest way round; between walls
a field is cut out of a torus of twice the side, so that opposite edges know nothing of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from benchmark.core import Grid


@dataclass(frozen=True)
class Noise:
    """Defaults: the source's code."""

    kernel: Literal["exponential", "squared"] = "exponential"
    length: float = 0.05  # l, a share of the domain's side
    nugget: float = 1e-4

    def __post_init__(self) -> None:
        if self.length <= 0 or self.nugget < 0:
            raise ValueError(f"noise: expected length > 0 and nugget >= 0, got {self.length} and {self.nugget}")


def gaussian_field(noise: Noise, grid: Grid, shape: Sequence[int], white: Callable[[Sequence[int]], Tensor]) -> Tensor:
    """(..., H, W, C) out of `white` noise of a shape; channels and all before them are independent."""
    *lead, h, w, c = shape
    fold = 1 if grid.boundary == "periodic" else 2
    z = white((*lead, fold * h, fold * w, c)).movedim(-1, -3)  # (..., C, H, W)
    root = spectrum(noise, (h, w), fold).sqrt().to(z)
    return torch.fft.ifft2(root * torch.fft.fft2(z)).real[..., :h, :w].movedim(-3, -1)


def spectrum(noise: Noise, sides: tuple[int, int], fold: int) -> Tensor:
    """The covariance's eigenvalues on a torus of `fold` domains a side, (fold H, fold W) float64."""
    x, y = (torch.arange(fold * n, dtype=torch.float64) for n in sides)
    dx, dy = (torch.minimum(i, fold * n - i) / n for i, n in zip((x, y), sides, strict=True))
    d = torch.hypot(dx[:, None], dy[None])
    k = torch.exp(-(d if noise.kernel == "exponential" else d**2) / (2 * noise.length**2))
    return (torch.fft.fft2(k).real.clamp(min=0) + noise.nugget) / (1 + noise.nugget)
