"""Metrics in Fourier space: error per band, PDEBench's fRMSE, log-spectral distance, H1. Definitions: `metric_table`.

Fields are (F, C, H, W) float64, F the scored frames. k is the wavenumber in periods per domain, also on a bounded grid,
whose spectrum then contains the jump between opposite edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from benchmark.core import Grid
from benchmark.core.operators import CentralDifference

BANDS = {"low": (0, 4), "mid": (4, 12), "high": (12, None)}
EPS = 1e-12  # least norm in a denominator
SHELL_FLOOR = 1e-6  # a shell below this share of the truth's norm is float32 noise
BAND_FLOOR = 1e-3  # a band below this share of the truth's norm is measured against it


@dataclass(frozen=True)
class Shells:
    """Where each of the M = H (W/2 + 1) modes of `rfft2` belongs. An index's last bin takes what belongs nowhere."""

    weight: Tensor  # (M,) modes of the full plane it stands for: 1 or 2
    band: Tensor  # (M,) 0, 1, 2 = low, mid, high
    shell: Tensor  # (M,) round |k|
    quadrant: Tensor  # (M,) floor |k| where k_x, k_y >= 0, below Nyquist
    gradient: Tensor  # (M,) |2 pi k / L|^2, without the Nyquist modes
    size: int  # min(H, W) / 2: complete shells

    @property
    def bands(self) -> list[str]:
        """The bands this grid has modes in."""
        present = torch.bincount(self.band, minlength=3) > 0
        return [name for name, here in zip(BANDS, present.tolist(), strict=True) if here]


def shells(grid: Grid) -> Shells:
    (h, w), (lx, ly) = grid.shape, grid.lengths
    kx = torch.fft.fftfreq(h, 1 / h, dtype=torch.float64)[:, None]  # (H, 1)
    ky = torch.fft.rfftfreq(w, 1 / w, dtype=torch.float64)[None, :]  # (1, W/2+1)
    size = min(h, w) // 2
    k = (kx**2 + ky**2).sqrt()
    single = (ky == 0) | (2 * ky == w)  # its mirror image is in the same column
    inside = (kx >= 0) & (kx < h // 2) & (ky < w // 2) & (k.floor() < size)
    x_part, y_part = (kx / lx).where(2 * kx.abs() != h, 0), (ky / ly).where(2 * ky != w, 0)
    return Shells(
        weight=torch.where(single, 1.0, 2.0).to(torch.float64).expand(h, -1).flatten(),
        band=((k >= 4).long() + (k >= 12).long()).flatten(),
        shell=(k + 0.5).floor().clamp(max=size + 1).long().flatten(),
        quadrant=k.floor().where(inside, size).long().flatten(),
        gradient=(4 * torch.pi**2 * (x_part**2 + y_part**2)).flatten(),
        size=size,
    )


def spectral_metrics(u: Tensor, v: Tensor, grid: Grid, modes: Shells, steady: bool) -> dict[str, float]:
    u_hat, v_hat = torch.fft.rfft2(u), torch.fft.rfft2(v)
    error, power_u, power_v = (_power(f) for f in (u_hat - v_hat, u_hat, v_hat))  # (F, C, M), one half of the plane
    frmse = _frmse_pdebench(error, modes, grid)
    error, power_u, power_v = (p.sum(1) * modes.weight for p in (error, power_u, power_v))  # (F, M)
    return {
        **_bands(error, power_v, modes, steady),
        **frmse,
        "log_spectral_distance": _log_spectral_distance(power_u, power_v, modes),
        "rel_h1": _h1_periodic(error, power_v, modes, steady)
        if grid.boundary == "periodic"
        else _h1_bounded(u - v, v, grid, steady),
    }


def total(x: Tensor, steady: bool) -> Tensor:
    """Sum over frames (F, ...) -> (1, ...); the fields of a steady problem stay apart."""
    return x if steady else x.sum(0, keepdim=True)


def relative(error: Tensor, norm: Tensor) -> Tensor:
    return error / norm.clamp_min(EPS)


def _power(f_hat: Tensor) -> Tensor:
    return (f_hat.real.square() + f_hat.imag.square()).flatten(2)


def _binned(power: Tensor, index: Tensor, bins: int) -> Tensor:
    """(..., M) -> (..., bins): the sum of each bin."""
    return power.new_zeros(*power.shape[:-1], bins).index_add_(-1, index, power)


def _bands(error: Tensor, power_v: Tensor, modes: Shells, steady: bool) -> dict[str, float]:
    norm = total(_binned(power_v, modes.band, 3), steady).sqrt()  # (G, 3)
    floor = BAND_FLOOR * norm.norm(dim=-1, keepdim=True)
    values = 100 * relative(total(_binned(error, modes.band, 3), steady).sqrt(), norm.maximum(floor)).mean(0)
    return {f"spectral_{name}": float(values[list(BANDS).index(name)]) for name in modes.bands}


def _frmse_pdebench(error: Tensor, modes: Shells, grid: Grid) -> dict[str, float]:
    shell = _binned(error, modes.quadrant, modes.size + 1)[..., :-1].sqrt() / (grid.shape[0] * grid.shape[1])
    parts = {name: shell[..., low:high] for name, (low, high) in BANDS.items()}  # (F, C, K)
    return {f"frmse_pdebench_{name}": float(part.mean(-1).mean()) for name, part in parts.items() if part.numel()}


def _log_spectral_distance(power_u: Tensor, power_v: Tensor, modes: Shells) -> float:
    floor = (SHELL_FLOOR**2 * power_v.sum(-1, keepdim=True)).clamp_min(EPS**2)  # (F, 1)
    log_u, log_v = (
        _binned(p, modes.shell, modes.size + 2)[:, 1:-1].maximum(floor).log10() for p in (power_u, power_v)
    )  # (F, K)
    return float((log_u - log_v).square().mean(-1).sqrt().mean())


def _h1_periodic(error: Tensor, power_v: Tensor, modes: Shells, steady: bool) -> float:
    """By Parseval: ||f||^2 + ||grad f||^2 is the sum of (1 + |k|^2) |f_hat|^2, up to a factor."""
    sums = (total((p * (1 + modes.gradient)).sum(-1), steady).sqrt() for p in (error, power_v))
    return 100 * float(relative(*sums).mean())


def _h1_bounded(e: Tensor, v: Tensor, grid: Grid, steady: bool) -> float:
    d = CentralDifference(grid, v)
    parts = (torch.stack([f, d(f, "x"), d(f, "y")], dim=1).square() for f in (e, v))  # (F, 3, C, H, W)
    sums = (total(part.sum((1, 2, 3, 4)), steady).sqrt() for part in parts)
    return 100 * float(relative(*sums).mean())
