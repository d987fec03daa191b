"""Gaussian-process regression of videos, with the space-time covariance of the training set.

A video's frames f_1 ... f_T (of all channels) are jointly Gaussian fields. In a fixed basis their coefficients of mode
k have a T x T covariance S(k), and different modes are uncorrelated, so

    Cov(f_t(s), f_t'(s')) = C_tt'(s, s') = sum over k of S_tt'(k) mode_k(s) mode_k(s').

Given values y at sensors, the posterior mean of frame t is  C_t,sensors (C_sensors + nugget)^-1 y.  The second factor
is a Cholesky solve; the first is the covariance operator applied to its result, placed on the grid. Readings of sensors
that stay in place are rotated in time first, onto the frames' principal components: the leading ones hold almost all
there is to know, so a few unknowns a sensor do for all frames.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from methods.blocks.gaussian.bases import Basis

ENTRIES = 1 << 24  # numbers in one batch of covariance matrices
ROUNDING = 1e-10  # what a variance may be relative to the largest and still mean something, in single precision data


@dataclass(frozen=True)
class Prior:
    """The law of a video (T, H, W): mean + scale * g, with g a Gaussian video of the given spectrum."""

    basis: Basis
    mean: Tensor  # (T, H, W)
    scale: Tensor  # (T, H, W)
    spectrum: Tensor  # (T, T, modes)

    def standardise(self, f: Tensor) -> Tensor:
        return (f - self.mean) / self.scale

    def restore(self, g: Tensor) -> Tensor:
        return self.mean + self.scale * g

    @cached_property
    def root(self) -> Tensor:
        """S(k)^(1/2), a square root of each mode's covariance: (T, T, modes)."""
        values, vectors = torch.linalg.eigh(self.spectrum.movedim((0, 1), (-2, -1)))  # (modes, T), (modes, T, T)
        return (vectors * values.clamp(min=0).sqrt()[..., None, :] @ vectors.mT).movedim((-2, -1), (0, 1))

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Samples of g, (count, T, H, W): the root of S applied to white noise."""
        shape = (count, len(self.mean), *self.basis.shape)
        white = torch.randn(shape, generator=generator, dtype=torch.float64).to(self.mean)
        return self.basis.operate(self.root, white)


@dataclass(frozen=True)
class Sensing:
    """How precisely and how largely to solve."""

    nugget: float = 1e-7  # added to the diagonal, relative to it
    noise: float = 0.0  # standard deviation of the sensors' noise over that of the field
    unknowns: int = 4096  # rows of one covariance matrix, at most


def posterior(prior: Prior, g: Tensor, mask: Tensor, sensing: Sensing) -> Tensor:
    """Posterior mean of standardised videos: g (B, R, T, H, W) with R readings of each mask (B, T, H, W)."""
    frames = mask.flatten(2).any(-1).any(0).nonzero()[:, 0]  # those seen
    seen = mask[:, frames] & prior.basis.inside
    if (seen | ~prior.basis.inside).all():
        return _regress(prior, g[:, :, frames], frames, sensing)
    krige = _krige_components if (seen == seen[:, :1]).all() else _krige_windows
    return krige(prior, g[:, :, frames], seen, frames, sensing)


def _regress(prior: Prior, g: Tensor, frames: Tensor, sensing: Sensing) -> Tensor:
    """Frames seen in full: each mode of all frames is regressed on the same mode of those seen."""
    s = prior.spectrum.movedim((0, 1), (-2, -1))  # (modes, T, T)
    inner = s[..., frames[:, None], frames]
    size = inner.diagonal(dim1=-2, dim2=-1)
    inner = inner + torch.diag_embed(sensing.noise**2 + 1e-10 * size + 1e-30)
    weights = torch.linalg.solve(inner, s[..., frames, :]).mT  # (modes, T, F)
    return prior.basis.operate(weights.movedim((-2, -1), (0, 1)), g)


def _krige_components(prior: Prior, g: Tensor, seen: Tensor, frames: Tensor, sensing: Sensing) -> Tensor:
    """Sensors that stay in place: the leading components in time jointly, the others one at a time on what is left."""
    sites = _sites(seen[:, :1], sensing.unknowns)  # (B, 1, K)
    s = prior.spectrum[:, frames]  # (T, F, modes)
    rotation = _components(s[frames])
    leading = max(1, min(len(rotation), sensing.unknowns // sites.shape[2]))
    cross, weights = _explain(prior.basis, s, frames, rotation[:leading], g, sites, sensing)
    out = prior.basis.operate(cross, weights)
    for e in rotation[leading:, None]:
        cross, weights = _explain(prior.basis, s, frames, e, g - out[:, :, frames], sites, sensing)
        own = torch.einsum("faxy,bf->baxy", cross[frames], e)
        out[:, :, frames] += torch.einsum("af,brahw->brfhw", e, prior.basis.operate(own, weights))
    return out


def _explain(
    basis: Basis, spectrum: Tensor, frames: Tensor, e: Tensor, g: Tensor, sites: Tensor, sensing: Sensing
) -> tuple[Tensor, Tensor]:
    """For components e (A, F): their covariance with all frames (T, A, modes) and the weights of their readings."""
    cross = torch.einsum("tfxy,af->taxy", spectrum, e)
    inner = torch.einsum("faxy,bf->baxy", cross[frames], e)
    readings = torch.einsum("af,brfhw->brahw", e, g)
    return cross, _weights(basis, inner, readings, sites, sensing)


def _components(spectrum: Tensor) -> Tensor:
    """Principal components in time of frames with spectrum (F, F, modes): rows (A, F), those above rounding."""
    values, vectors = torch.linalg.eigh(spectrum.flatten(2).mean(-1))
    return vectors.T[values > ROUNDING * values.sum()].flip(0)


def _krige_windows(prior: Prior, g: Tensor, seen: Tensor, frames: Tensor, sensing: Sensing) -> Tensor:
    """Sensors that move or fall silent: each frame from the seen frames nearest to it, as many as are affordable."""
    sites = _sites(seen, sensing.unknowns // 2)  # (B, F, K)
    width = max(1, sensing.unknowns // 2 // sites.shape[2])
    out = []
    for t in range(len(prior.mean)):
        near = (frames - t).abs().argsort(stable=True)[:width]
        chosen = frames[near]
        inner, cross = prior.spectrum[chosen[:, None], chosen], prior.spectrum[t : t + 1, chosen]
        weights = _weights(prior.basis, inner, g[:, :, near], sites[:, near], sensing)
        out.append(prior.basis.operate(cross, weights))
    return torch.cat(out, dim=2)


def _sites(seen: Tensor, most: int) -> Tensor:
    """Flat indices of the sites seen (B, F, H, W) -> (B, F, K), -1 where there are fewer; a random `most` of them."""
    seen = seen.flatten(2)
    order = torch.randperm(seen.shape[2], generator=torch.Generator().manual_seed(0)).to(seen.device)
    rank = torch.where(seen, order, seen.shape[2])  # a fixed shuffle: thinning keeps the same sites in all frames
    count = min(most, int(seen.sum(-1).max()))
    rank, index = rank.sort(-1)
    return torch.where(rank < seen.shape[2], index, -1)[..., :count]


def _weights(basis: Basis, spectrum: Tensor, readings: Tensor, sites: Tensor, sensing: Sensing) -> Tensor:
    """(C_sensors + nugget)^-1 y on the grid: readings (B, R, A, H, W) at sites (B, A or 1, K)."""
    b, r, a, h, w = readings.shape
    index = sites.clamp(min=0)[:, None].expand(b, r, a, -1)
    y = readings.flatten(3).gather(3, index) * (sites >= 0)[:, None]  # (B, R, A, K)
    table = basis.table(spectrum).flatten(2).flatten(0, 1).T.contiguous()  # (P Q, A A)
    step = max(1, ENTRIES // (a * sites.shape[2]) ** 2)
    alpha = []
    for part, where in zip(y.split(step), sites.split(step), strict=True):
        factor = _cholesky(_covariance(basis, table, where, a), sensing)
        alpha.append(torch.cholesky_solve(part.flatten(2).mT, factor).mT.reshape(part.shape))
    return torch.zeros_like(readings).flatten(3).scatter_add(3, index, torch.cat(alpha)).view(readings.shape)


def _covariance(basis: Basis, table: Tensor, sites: Tensor, a: int) -> Tensor:
    """Tables (P Q, A A) at sites (B, A or 1, K) -> (B, A K, A K); a missing site has a row of the identity."""
    b, _, k = sites.shape
    s = sites.clamp(min=0)
    if sites.shape[1] == 1:  # the same entry of all tables: rows of numbers
        entries = basis.entries(s[:, 0, :, None], s[:, 0, None])  # (B, K, K) each
        c = _signed_sum((sign, table[entry]) for sign, entry in entries)  # (B, K, K, A A)
        c = c.unflatten(-1, (a, a)).permute(0, 3, 1, 4, 2)
    else:
        pair = torch.arange(a * a, device=sites.device).view(1, a, 1, a, 1)
        entries = basis.entries(s[:, :, :, None, None], s[:, None, None])  # (B, A, K, A, K) each
        c = _signed_sum((sign, table.take(entry * a * a + pair)) for sign, entry in entries)
    c = c.reshape(b, a * k, a * k)
    missing = (sites < 0).expand(b, a, k).flatten(1)
    if missing.any():
        c = c * ~(missing[:, :, None] | missing[:, None]) + torch.diag_embed(missing.to(c))
    return c


def _signed_sum(terms: Iterable[tuple[int, Tensor]]) -> Tensor:
    """The sum of sign * term, in the memory of the first."""
    total = None
    for sign, term in terms:
        total = term.mul_(sign) if total is None else total.add_(term, alpha=sign)
    assert total is not None
    return total


def _cholesky(c: Tensor, sensing: Sensing) -> Tensor:
    """The factor of C + nugget; the nugget grows until rounding no longer spoils it."""
    diagonal = c.diagonal(dim1=-2, dim2=-1).clone()  # (B, N)
    nugget = sensing.nugget
    while nugget < 1:
        c.diagonal(dim1=-2, dim2=-1).copy_(diagonal * (1 + nugget) + sensing.noise**2 + 1e-30)
        factor, info = torch.linalg.cholesky_ex(c)
        if not info.any():
            return factor
        nugget *= 10
    raise ValueError("covariance: not positive definite even with a nugget as large as its diagonal")
