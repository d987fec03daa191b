"""Derivatives of fields: the same `d(u, "xx")` on a periodic grid, a bounded grid, or scattered points.

An equation is written once in terms of `d`; who evaluates it chooses what `d` is.
"""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Protocol

import torch
from torch import Tensor

from benchmark.core.grid import Grid


class Derivative(Protocol):
    x: Tensor
    y: Tensor

    def __call__(self, u: Tensor, axes: str) -> Tensor:
        """d^n u / d(axes), e.g. axes = "x", "yy", "t"."""
        ...

    def product(self, *factors: Tensor) -> Tensor:
        """A product of fields, without the aliases a grid would add."""
        ...


class Fourier:
    """Spectral derivatives on a periodic grid, over the last two axes (H, W).

    Products are dealiased by the 2/3 rule: of each factor and of the result only |k_x|, |k_y| < N/3 are kept.
    """

    def __init__(self, grid: Grid, like: Tensor):
        (self.h, self.w), (lx, ly) = grid.shape, grid.lengths
        self.x, self.y = grid.axes(like.dtype, like.device)
        kx = torch.fft.fftfreq(self.h, 1 / self.h, dtype=like.dtype, device=like.device)[:, None]
        ky = torch.fft.rfftfreq(self.w, 1 / self.w, dtype=like.dtype, device=like.device)[None, :]
        self.keep = (3 * kx.abs() < self.h) & (3 * ky < self.w)  # (H, W//2+1)
        # an odd derivative of the Nyquist mode is not real: drop the mode
        self.k = {"x": 2 * torch.pi / lx * kx, "y": 2 * torch.pi / ly * ky}
        self.odd = {"x": kx.abs() < self.h / 2, "y": ky < self.w / 2}

    def __call__(self, u: Tensor, axes: str) -> Tensor:
        u_hat = torch.fft.rfft2(u)
        for axis in "xy":
            n = axes.count(axis)
            if n:
                u_hat = u_hat * (1j * self.k[axis]) ** n
            if n % 2:
                u_hat = u_hat * self.odd[axis]
        return torch.fft.irfft2(u_hat, s=(self.h, self.w))

    def dealias(self, u: Tensor) -> Tensor:
        return torch.fft.irfft2(torch.fft.rfft2(u) * self.keep, s=(self.h, self.w))

    def product(self, *factors: Tensor) -> Tensor:
        return self.dealias(reduce(mul, map(self.dealias, factors)))

    def inverse_laplacian(self, f: Tensor) -> Tensor:
        """The zero-mean u with u_xx + u_yy = f."""
        k2 = self.k["x"] ** 2 + self.k["y"] ** 2
        k2[0, 0] = torch.inf
        return torch.fft.irfft2(-torch.fft.rfft2(f) / k2, s=(self.h, self.w))

    def interior(self, r: Tensor) -> Tensor:
        return r


class CentralDifference:
    """Second-order differences on a bounded grid; the outermost cells have no value and `interior` drops them."""

    def __init__(self, grid: Grid, like: Tensor):
        self.step = dict(zip("xy", grid.spacing, strict=True))
        self.x, self.y = grid.axes(like.dtype, like.device)

    def __call__(self, u: Tensor, axes: str) -> Tensor:
        if set(axes) not in ({"x"}, {"y"}) or len(axes) > 2:
            raise ValueError(f"central differences: expected x, y, xx or yy, got {axes!r}")
        dim, h = (-2 if axes[0] == "x" else -1), self.step[axes[0]]
        n = u.shape[dim]
        left, mid, right = (u.narrow(dim, i, n - 2) for i in range(3))
        inner = (right - left) / (2 * h) if len(axes) == 1 else (left - 2 * mid + right) / h**2
        return torch.nn.functional.pad(inner, (0, 0, 1, 1) if dim == -2 else (1, 1))

    def product(self, *factors: Tensor) -> Tensor:
        return reduce(mul, factors)

    def interior(self, r: Tensor) -> Tensor:
        return r[..., 1:-1, 1:-1]


def on_grid(grid: Grid, like: Tensor) -> Fourier | CentralDifference:
    """The spatial derivative that suits a grid's boundary."""
    return Fourier(grid, like) if grid.boundary == "periodic" else CentralDifference(grid, like)
