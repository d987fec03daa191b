"""Symmetries that enlarge a training set: the same solutions turned, reflected and shifted.

    (g u)(i) = sign u(A i + s),    A one of the 8 rotations and reflections of the grid, s a shift, sign = 1 or -1

Which of them an equation has is for `symmetry_search` to find. Coefficient fields move with u and keep their sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from methods.blocks.training.sharing import rows as rows_of_batch


@dataclass(frozen=True)
class Symmetry:
    matrix: tuple[int, int, int, int] = (1, 0, 0, 1)  # A, row by row
    shift: tuple[int, int] = (0, 0)  # s, in points of the grid
    sign: int = 1

    def __call__(self, field: Tensor) -> Tensor:
        """Of (B, T, H, W, C), without the sign."""
        (h, w), (a, b, c, d), (si, sj) = field.shape[2:4], self.matrix, self.shift
        i, j = sites((h, w), field.device)
        return moved(field, (((a * i + b * j + si) % h) * w + (c * i + d * j + sj) % w)[None])


@dataclass(frozen=True)
class Symmetries:
    """A random one is a member of `points` and one shift out of each family of `shifts`."""

    points: tuple[Symmetry, ...] = (Symmetry(),)
    shifts: tuple[tuple[tuple[int, int], ...], ...] = ()

    def __len__(self) -> int:
        """Ways to combine them."""
        return prod(map(len, (self.points, *self.shifts)))

    def draw(self, batch: int, shape: tuple[int, int], draws: torch.Generator) -> Turn:
        """A symmetry of its own for each example."""
        rows = [(*g.matrix, *g.shift, g.sign) for g in self.points]
        a, b, c, d, si, sj, sign = _pick(rows, batch, draws).T[..., None]  # (B, 1) each
        for family in self.shifts:
            more = _pick(family, batch, draws)  # (B, 2)
            si, sj = si + more[:, :1], sj + more[:, 1:]
        (h, w), (i, j) = shape, sites(shape, draws.device)
        return Turn(((a * i + b * j + si) % h) * w + (c * i + d * j + sj) % w, sign[:, 0])


@dataclass(frozen=True)
class Turn:
    """For each example the site that each of its sites comes from, and its sign."""

    source: Tensor  # (B, H W)
    sign: Tensor  # (B,)

    def field(self, u: Tensor) -> Tensor:
        """Of (B, T, H, W, C)."""
        return self.sign.view(-1, 1, 1, 1, 1).to(u) * moved(u, self.source)

    def mask(self, mask: Tensor) -> Tensor:
        return moved(mask, self.source)

    def static(self, fields: Tensor | None) -> Tensor | None:
        """Of (B, H, W, C): coefficient fields keep their sign."""
        return None if fields is None else moved(fields[:, None], self.source)[:, 0]


def sites(shape: tuple[int, int], device: Any) -> tuple[Tensor, Tensor]:
    """The indices i and j of all sites, (H W) each."""
    i, j = (torch.arange(n, device=device) for n in shape)
    return i.repeat_interleave(shape[1]), j.repeat(shape[0])


def moved(field: Tensor, source: Tensor) -> Tensor:
    """(B, T, H, W, C) with site n taken from site source[:, n]."""
    flat = field.flatten(2, 3)  # (B, T, H W, C)
    return flat.gather(2, source[:, None, :, None].expand_as(flat)).view_as(field)


def _pick(rows: Any, count: int, draws: torch.Generator) -> Tensor:
    table = torch.tensor(rows, device=draws.device)
    return table[rows_of_batch(count, draws, lambda n, g: _numbers(len(table), n, g))]


def _numbers(high: int, count: int, generator: torch.Generator) -> Tensor:
    return torch.randint(high, (count,), generator=generator, device=generator.device)
