"""Bases in which a random field's modes are taken as uncorrelated, and the covariance this gives between sites.

    fourier   stationary on the torus:      C(s, s') = c(s - s')
    cosine    even reflection at the walls: C(s, s') = c(s - s') + c(s + s') + two mixed terms
    sine      odd reflection, zero walls:   the same with mixed signs

With orthonormal modes and variances S(k) a field's covariance operator is  f -> synthesise(S analyse(f)).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from benchmark.core import Grid


class Basis(ABC):
    """Orthonormal modes of an (H, W) grid. `wavenumber` sorts modes into shells of one length scale."""

    shape: tuple[int, int]
    wavenumber: Tensor  # (modes)
    inside: Tensor  # (H, W) bool: the sites that are not fixed by the boundary

    @abstractmethod
    def analyse(self, f: Tensor) -> Tensor:
        """Fields (..., H, W) -> coefficients (..., modes)."""

    @abstractmethod
    def synthesise(self, f_hat: Tensor) -> Tensor:
        """Coefficients -> fields."""

    @abstractmethod
    def table(self, spectrum: Tensor) -> Tensor:
        """Variances (..., modes) -> tables (..., P, Q) of the numbers that covariances are sums of."""

    @abstractmethod
    def entries(self, a: Tensor, b: Tensor) -> list[tuple[int, Tensor]]:
        """Signs and entries of the flat table that add up to the covariance of sites a and b, which broadcast."""

    def operate(self, spectrum: Tensor, f: Tensor) -> Tensor:
        """The covariance operator applied to fields: spectrum (T, A, modes), f (..., A, H, W) -> (..., T, H, W)."""
        f_hat = self.analyse(f)
        return self.synthesise(torch.einsum("taxy,...axy->...txy", spectrum.to(f_hat.dtype), f_hat))


class FourierBasis(Basis):
    """Plane waves: coefficients are complex, (H, W//2 + 1)."""

    def __init__(self, shape: tuple[int, int], device: torch.device, dtype: torch.dtype = torch.float64):
        self.shape = shape
        kx = torch.fft.fftfreq(shape[0], 1 / shape[0], device=device, dtype=dtype)
        ky = torch.fft.rfftfreq(shape[1], 1 / shape[1], device=device, dtype=dtype)
        self.wavenumber = (kx[:, None] ** 2 + ky**2).sqrt()
        self.inside = torch.ones(shape, dtype=torch.bool, device=device)

    def analyse(self, f: Tensor) -> Tensor:
        return torch.fft.rfft2(f, norm="ortho")

    def synthesise(self, f_hat: Tensor) -> Tensor:
        return torch.fft.irfft2(f_hat, s=self.shape, norm="ortho")

    def table(self, spectrum: Tensor) -> Tensor:
        return torch.fft.irfft2(spectrum, s=self.shape)

    def entries(self, a: Tensor, b: Tensor) -> list[tuple[int, Tensor]]:
        h, w = self.shape
        return [(1, (a // w - b // w) % h * w + (a % w - b % w) % w)]


class ReflectedBasis(Basis):
    """Products of cosines (DCT-II) or of sines (DST-I) on the grid without its outermost `inset` sites: real modes.

    mode(i) mode(i') = c(i - i') +- c(i + i' + offset), so a covariance is a sum of four numbers from one table.
    """

    def __init__(
        self, shape: tuple[int, int], odd: bool, inset: int, device: torch.device, dtype: torch.dtype = torch.float64
    ):
        self.shape, self.inset = shape, inset
        self.sign, self.offset = (-1, 2) if odd else (1, 1)
        sizes = [n - 2 * inset for n in shape]
        self.modes = [_modes(n, odd).to(device, dtype) for n in sizes]  # (N, k) each
        self.cosines = [_cosines(n, odd).to(device, dtype) for n in sizes]  # (2N + 1, k) each
        k1, k2 = (torch.arange(n, device=device, dtype=dtype) + odd for n in sizes)
        self.wavenumber = (k1[:, None] ** 2 + k2**2).sqrt() / 2  # periods in the box, as for plane waves
        self.inside = torch.zeros(shape, dtype=torch.bool, device=device)
        self.inside[inset : shape[0] - inset, inset : shape[1] - inset] = True

    def analyse(self, f: Tensor) -> Tensor:
        m = self.inset
        return self.modes[0].T @ f[..., m : f.shape[-2] - m, m : f.shape[-1] - m] @ self.modes[1]

    def synthesise(self, f_hat: Tensor) -> Tensor:
        return torch.nn.functional.pad(self.modes[0] @ f_hat @ self.modes[1].T, (self.inset,) * 4)

    def table(self, spectrum: Tensor) -> Tensor:
        return self.cosines[0] @ spectrum @ self.cosines[1].T  # (..., P, Q)

    def entries(self, a: Tensor, b: Tensor) -> list[tuple[int, Tensor]]:
        w, q = self.shape[1], len(self.cosines[1])
        ia, ja, ib, jb = a // w - self.inset, a % w - self.inset, b // w - self.inset, b % w - self.inset
        i, i_mirror = (ia - ib).abs(), ia + ib + self.offset
        j, j_mirror = (ja - jb).abs(), ja + jb + self.offset
        same = [(1, i * q + j), (1, i_mirror * q + j_mirror)]
        return same + [(self.sign, i_mirror * q + j), (self.sign, i * q + j_mirror)]


def _frequencies(n: int, odd: bool) -> Tensor:
    k = torch.arange(n, dtype=torch.float64)
    return torch.pi * (k + 1) / (n + 1) if odd else torch.pi * k / n


def _norms(n: int, odd: bool) -> Tensor:
    norm = torch.full((n,), math.sqrt(2 / (n + odd)), dtype=torch.float64)
    norm[0] /= 1 if odd else math.sqrt(2)
    return norm


def _modes(n: int, odd: bool) -> Tensor:
    i = torch.arange(n, dtype=torch.float64)[:, None]
    omega = _frequencies(n, odd)
    return _norms(n, odd) * (torch.sin(omega * (i + 1)) if odd else torch.cos(omega * (i + 0.5)))


def _cosines(n: int, odd: bool) -> Tensor:
    lag = torch.arange(2 * n + 1, dtype=torch.float64)[:, None]
    return torch.cos(_frequencies(n, odd) * lag) * _norms(n, odd) ** 2 / 2


def make_basis(name: str, grid: Grid, device: torch.device) -> Basis:
    """The outermost sites of a Dirichlet grid are zero and take no part."""
    if name == "fourier":
        return FourierBasis(grid.shape, device)
    if name in ("cosine", "sine"):
        return ReflectedBasis(grid.shape, name == "sine", int(grid.boundary == "dirichlet"), device)
    raise ValueError(f"basis: expected fourier, cosine or sine, got {name!r}")
