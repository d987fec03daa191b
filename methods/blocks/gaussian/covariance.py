"""The prior of a Gaussian process over videos, estimated on the training set."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmark.core import TrajectorySet
from methods.blocks.gaussian.bases import Basis
from methods.blocks.gaussian.process import Prior
from methods.blocks.statistics import pieces

SHELL = 0.25  # width of a shell of wavenumbers


def as_frames(u: Tensor) -> Tensor:
    """A video (..., T, H, W, C) -> (..., T C, H, W): channels count as frames."""
    return u.movedim(-1, -3).flatten(-4, -3)


def as_video(f: Tensor, channels: int) -> Tensor:
    """The inverse of `as_frames`."""
    return f.unflatten(-3, (-1, channels)).movedim(-3, -1)


def estimate(train: TrajectorySet, count: int, basis: Basis, local: bool, device: torch.device) -> Prior:
    """Mean, scale and spectrum from `count` trajectories; `local`: the scale depends on the site."""
    scale = _scale(train, count, basis, local, device)
    mean_hat, spectrum, n = torch.zeros((), device=device), torch.zeros((), device=device), 0
    for piece in pieces(train, count):
        g = as_frames(piece.u.to(device).double()) / scale
        g_hat = basis.analyse(g)  # (B, T, modes)
        mean_hat = mean_hat + g_hat.sum(0)
        spectrum = spectrum + _second_moment(g_hat)
        n += len(piece)
    mean_hat = mean_hat / n
    spread = spectrum / n - _second_moment(mean_hat[None])  # about the sample mean
    kept = _significance(mean_hat, isotropic(spread, basis), n) * mean_hat
    spectrum = spread * (n / max(1, n - 1)) + _second_moment((mean_hat - kept)[None])  # about the mean that is kept
    return Prior(basis, scale * basis.synthesise(kept), scale.expand(-1, *basis.shape), spectrum)


def isotropic(spectrum: Tensor, basis: Basis) -> Tensor:
    """The spectrum (..., modes) averaged over shells of one wavenumber."""
    shell = (basis.wavenumber / SHELL).round().long().flatten()
    flat = spectrum.flatten(-2)
    total = flat.new_zeros(*flat.shape[:-1], int(shell.max()) + 1).index_add_(-1, shell, flat)
    return (total / torch.bincount(shell).clamp(min=1))[..., shell].view_as(spectrum)


def _second_moment(g_hat: Tensor) -> Tensor:
    """Sum over samples of Re g_t conj(g_t'): (B, T, modes) -> (T, T, modes)."""
    parts = torch.view_as_real(g_hat) if g_hat.is_complex() else g_hat[..., None]  # (B, T, x, y, 1 or 2)
    parts = parts.permute(2, 3, 1, 0, 4).flatten(3)  # (x, y, T, B or 2 B)
    return (parts @ parts.mT).permute(2, 3, 0, 1)


def _significance(mean_hat: Tensor, spectrum: Tensor, n: int) -> Tensor:
    """How much of a sample mean stands out of its noise S / n, for each mode: positive-part James-Stein.

    All frames of a mode share one factor, so that what is kept moves in time as smoothly as the field does.
    """
    noise = spectrum.diagonal().sum(-1) / n  # (modes)
    return (1 - noise / mean_hat.abs().square().sum(0).clamp(min=1e-300)).clamp(min=0)


def _scale(train: TrajectorySet, count: int, basis: Basis, local: bool, device: torch.device) -> Tensor:
    """The standard deviation of each frame (T, 1, 1), or of each of its sites (T, H, W)."""
    total, square, n = torch.zeros((), device=device), torch.zeros((), device=device), 0
    for piece in pieces(train, count):
        f = as_frames(piece.u.to(device).double())
        total, square, n = total + f.sum(0), square + f.square().sum(0), n + len(piece)
    share = basis.inside.double() / basis.inside.sum()
    mean = (total / n * share).sum((-2, -1), keepdim=True)
    variance = ((square - 2 * mean * total) / n + mean**2).clamp(min=0)  # (T, H, W)
    level = (variance * share).sum((-2, -1), keepdim=True).clamp(min=1e-30)
    if local:
        return torch.where(basis.inside, variance.clamp(min=1e-4 * level), level).sqrt()
    return level.sqrt()
