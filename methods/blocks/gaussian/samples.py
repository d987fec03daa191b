"""The covariance of the training videos themselves, blended with a structured one.

    C = (1 - w) X^T X + w C_structured,    X = (training videos - their mean) / sqrt(N - 1), (N, D)

and likewise the means of both. Given readings y at sites o, the best linear predictor, without ever making the D x D
matrix, is

    alpha = (C_oo + nugget)^-1 (y - m_o),    u = m + (1 - w) X^T (X_o alpha) + w C_structured,uo alpha.

Of a set larger than memory X holds the leading principal components instead of the videos, found in one pass:
components so far and the next videos are stacked and cut back to the leading ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from benchmark.core import TrajectorySet
from methods.blocks.gaussian.covariance import as_frames
from methods.blocks.gaussian.process import Prior
from methods.blocks.statistics import pieces


class Samples(NamedTuple):
    """The mean of each site and the anomalies, channels as frames, in single precision."""

    mean: Tensor  # (T, H, W)
    anomalies: Tensor  # (N, T H W); their products add up to the covariance


def collect(train: TrajectorySet, count: int, rank: int, device: torch.device) -> Samples:
    """`count` videos of the training set as at most `rank` rows; memory holds twice as many."""
    total, n = torch.zeros((), device=device, dtype=torch.float64), 0
    for piece in pieces(train, count):
        total, n = total + as_frames(piece.u.to(device).double()).sum(0), n + len(piece)
    mean = (total / n).float()
    parts: list[Tensor] = []
    for piece in pieces(train, count):
        parts.append((as_frames(piece.u.to(device).float()) - mean).flatten(1))
        if sum(map(len, parts)) >= 2 * rank:
            parts = [leading(torch.cat(parts), rank)]
    return Samples(mean, leading(torch.cat(parts), rank) / max(1, n - 1) ** 0.5)


def leading(x: Tensor, rank: int) -> Tensor:
    """At most `rank` rows whose products add up to those of the rows of x (N, D), but for the least components."""
    if len(x) <= rank:
        return x
    _, vectors = torch.linalg.eigh((x @ x.T).double())  # ascending
    return vectors[:, -rank:].T.to(x) @ x


class Shrinkage(NamedTuple):
    """What makes a covariance of few samples usable."""

    weight: float  # of the structured covariance
    nugget: float  # on the diagonal, relative to its mean


@dataclass(frozen=True)
class Blend:
    """The law of a video, (T, H, W) with channels as frames."""

    samples: Samples
    structured: Prior
    shrinkage: Shrinkage

    @cached_property
    def mean(self) -> Tensor:
        w = self.shrinkage.weight
        return (1 - w) * self.samples.mean.double() + w * self.structured.mean

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """Samples without the mean, (count, T, H, W)."""
        w, (mean, anomalies) = self.shrinkage.weight, self.samples
        z = torch.randn(count, len(anomalies), generator=generator).to(anomalies)
        g = self.structured.scale * self.structured.draw(count, generator)
        return (1 - w) ** 0.5 * (z @ anomalies).view(-1, *mean.shape) + w**0.5 * g


@dataclass(frozen=True)
class Readings:
    """The readings of one mask: covariances between them, and what they say of the whole video."""

    samples: Samples
    structured: Prior
    sites: Tensor  # (n,) flat indices into the video

    @cached_property
    def columns(self) -> Tensor:
        return self.samples.anomalies[:, self.sites].double()  # X_o, (N, n)

    @cached_property
    def of_samples(self) -> Tensor:
        return self.columns.T @ self.columns  # (n, n)

    @cached_property
    def of_structure(self) -> Tensor:
        basis, frames = self.structured.basis, len(self.structured.mean)
        size = basis.shape[0] * basis.shape[1]
        t, s = self.sites // size, self.sites % size
        table = basis.table(self.structured.spectrum).flatten(2)  # (T, T, P Q)
        offset = (t[:, None] * frames + t) * table.shape[-1]
        c = torch.zeros_like(offset, dtype=table.dtype)
        for sign, entry in basis.entries(s[:, None], s):
            c += sign * table.take(offset + entry)
        scale = self.structured.scale.flatten()[self.sites]
        return scale[:, None] * c * scale

    def weights(self, y: Tensor, shrinkage: Shrinkage, variance: Tensor | float = 0.0) -> Tensor:
        """alpha (R, n) for R sets of readings y (R, n) without their mean; `variance` (n,) is that of their noise."""
        w = shrinkage.weight
        c = torch.zeros(2 * self.sites.shape, dtype=y.dtype, device=y.device)
        if w < 1:
            c += (1 - w) * self.of_samples
        if w > 0:
            c += w * self.of_structure
        diagonal, nugget = c.diagonal().clone(), shrinkage.nugget
        while nugget < 1:
            c.diagonal().copy_(diagonal + nugget * diagonal.mean() + variance + 1e-30)
            factor, info = torch.linalg.cholesky_ex(c)
            if not info.any():
                return torch.cholesky_solve(y.T, factor).T
            nugget *= 10  # rounding has spoilt it
        raise ValueError("covariance: not positive definite even with a nugget as large as its diagonal")

    def spread(self, alpha: Tensor, shrinkage: Shrinkage) -> Tensor:
        """C_uo alpha, videos (R, T, H, W)."""
        w, shape = shrinkage.weight, self.samples.mean.shape
        video = torch.zeros(len(alpha), *shape, dtype=alpha.dtype, device=alpha.device)
        if w > 0:
            prior = self.structured
            video.flatten(1).index_copy_(1, self.sites, w * alpha * prior.scale.flatten()[self.sites])
            video = prior.scale * prior.basis.operate(prior.spectrum, video)
        if w < 1:
            z = (1 - w) * alpha @ self.columns.T  # (R, N)
            video = video + (z.float() @ self.samples.anomalies).view(-1, *shape)
        return video


def same_masks(seen: Tensor, most: int, apart: bool) -> Iterator[tuple[slice, Tensor]]:
    """(trajectories, sites) for each mask of `seen` (B, T, H, W): all at once where they share one, unless `apart`.

    Of more than `most` sites a random `most` are taken.
    """
    flat = seen.flatten(1)
    order = torch.randperm(flat.shape[1], generator=torch.Generator().manual_seed(0)).to(seen.device)
    step = len(flat) if not apart and bool((flat == flat[:1]).all()) else 1
    for i in range(0, len(flat), step):
        yield slice(i, i + step), order[flat[i, order]][:most].sort().values
