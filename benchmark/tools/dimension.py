"""How many numbers a dataset's initial fields really have, and how much of them sensors cannot see.

Principal components leave the least variance behind of all bases. They are estimated on one half of the fields and
tried on the other; with too few fields for that, plane waves (or cosines, between walls) stand in, ordered by shells of
one wavenumber. Whatever an orthonormal basis leaves behind is an upper bound, so the smaller of both counts.

    tail(K) = sqrt(variance beyond the first K components / variance)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.fft import dct

from benchmark.core import Dataset

SHARES = (0.9, 0.99, 0.999)  # of the variance
SHELL = 0.25  # width of a shell of wavenumbers
FIELDS, FIELDS_LARGE, LARGE = 4096, 8, 128  # fields looked at, and where the resolution is above LARGE


@dataclass(frozen=True)
class Dimension:
    """`left[k]`: the share of the variance that the first k components leave, from 1 downwards."""

    left: np.ndarray

    def components(self, share: float) -> int:
        """How many hold a share of the variance."""
        return int(np.argmax(self.left <= 1 - share + 1e-12))

    def tail(self, sensors: int) -> float:
        """The relative size of what as many components as sensors leave, in percent."""
        return 100 * float(np.sqrt(self.left[min(sensors, len(self.left) - 1)]))


def dimension(dataset: Dataset, fields: int = FIELDS) -> Dimension:
    """Of the first frame of training runs, generated here."""
    count = fields if dataset.sizes.resolution <= LARGE else FIELDS_LARGE
    return dimension_of(initial_fields(dataset, count), dataset.grid(2).boundary == "periodic")


def initial_fields(dataset: Dataset, count: int) -> np.ndarray:
    """(N, H, W) of the first channel, in float64."""
    parts = []
    for start in range(0, count, 256):
        u, _ = dataset.generate("train", range(start, min(start + 256, count)), frames=2)
        parts.append(u[:, 0, ..., 0].double())
    return torch.cat(parts).numpy()


def dimension_of(fields: np.ndarray, periodic: bool) -> Dimension:
    """Of fields (N, H, W)."""
    fields = fields - fields.mean(0)
    curves = [_left_by_waves(fields, periodic), _left_by_components(fields)]
    length = max(map(len, curves))
    padded = [np.concatenate([c, np.full(length - len(c), c[-1])]) for c in curves]
    return Dimension(np.minimum.accumulate(np.minimum(*padded)))


def _left_by_waves(fields: np.ndarray, periodic: bool) -> np.ndarray:
    n, h, w = fields.shape
    if periodic:
        modes = np.fft.fft2(fields, norm="ortho")
        kx, ky = (np.fft.fftfreq(size, 1 / size) for size in (h, w))
    else:
        modes = np.asarray(dct(np.asarray(dct(fields, axis=1, norm="ortho")), axis=2, norm="ortho"))
        kx, ky = (np.arange(size) / 2 for size in (h, w))
    variance = (np.abs(modes) ** 2).sum(0) / max(1, n - 1)
    shell = np.rint(np.hypot(kx[:, None], ky) / SHELL).astype(int).ravel()
    mean = np.bincount(shell, variance.ravel()) / np.maximum(1, np.bincount(shell))
    return _left(np.sort(mean[shell])[::-1], variance.sum())


def _left_by_components(fields: np.ndarray) -> np.ndarray:
    """What components of the first half leave of the second."""
    x = fields.reshape(len(fields), -1)
    first, second = x[: len(x) // 2], x[len(x) // 2 :]
    small = first.shape[0] < first.shape[1]
    values, vectors = np.linalg.eigh(first @ first.T if small else first.T @ first)
    keep = values > 1e-10 * values[-1]
    values, vectors = values[keep][::-1], vectors[:, keep][:, ::-1]
    basis = first.T @ vectors / np.sqrt(values) if small else vectors  # (sites, components)
    return _left(((second @ basis) ** 2).sum(0), (second**2).sum())


def _left(variances: np.ndarray, total: float) -> np.ndarray:
    return np.concatenate([[1.0], np.clip(1 - np.cumsum(variances) / total, 0, 1)])
