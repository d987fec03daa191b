"""Uniform numbers and Gaussian random fields, from the generator of a trajectory.

All draws are made on the CPU in float64, so that a trajectory is the same on every device and in every batch.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def uniform(low: float, high: float, size: Sequence[int], g: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(size, generator=g, dtype=torch.float64)


def periodic_modes(cutoff: int, alpha: float, tau: float, scale: float, g: torch.Generator) -> Tensor:
    """Centred Fourier modes (2K+1, 2K+1) of a zero-mean Gaussian field with real values.

    Each mode has amplitude sqrt(2) sigma (scale^2 |k|^2 + tau^2)^(-alpha/2), sigma = tau^(alpha - 1), times a complex
    normal number with unit variance in both parts; of the field the real part is kept. `scale` is 2 pi over the
    domain's length.
    """
    k = torch.arange(-cutoff, cutoff + 1, dtype=torch.float64)
    k2 = scale**2 * (k[:, None] ** 2 + k**2)
    amplitude = 2**0.5 * tau ** (alpha - 1) * (k2 + tau**2) ** (-alpha / 2)
    amplitude[cutoff, cutoff] = 0
    xi = torch.complex(*torch.randn(2, *k2.shape, generator=g, dtype=torch.float64))
    modes = amplitude * xi
    return (modes + modes.flip(0, 1).conj()) / 2


def neumann_field(n: int, alpha: float, tau: float, g: torch.Generator) -> Tensor:
    """A zero-mean Gaussian field (n, n) as a cosine series, on points (i + 1/2) / n.

    Amplitudes tau^(alpha-1) (pi^2 |k|^2 + tau^2)^(-alpha/2), times n, through the orthonormal inverse DCT-II.
    """
    k = torch.arange(n, dtype=torch.float64)
    amplitude = tau ** (alpha - 1) * (torch.pi**2 * (k[:, None] ** 2 + k**2) + tau**2) ** (-alpha / 2)
    amplitude[0, 0] = 0
    coefficients = n * amplitude * torch.randn(n, n, generator=g, dtype=torch.float64)
    cosine = torch.cos(torch.pi * k[None, :] * (k[:, None] + 0.5) / n) * (2 / n) ** 0.5  # (point, mode)
    cosine[:, 0] /= 2**0.5
    return cosine @ coefficients @ cosine.T
