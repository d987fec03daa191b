"""Neighbourhood attention as dense attention over tiles: exact, differentiable, and fast on any device.

The queries are cut into tiles of one frame and at most `TILE` x `TILE` sites. All windows of a tile lie in one box of
keys, and the tile attends to its box by ordinary attention, with a mask for the keys outside a query's own window:

    tiles 1 x t_h x t_w  ->  boxes k_t x b_h x b_w,   b = max (end of the last window - start of the first one)

In time a tile's box is its window. So nothing is masked there, and all frames share the masks of the tiles in space.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from methods.blocks.networks.tables import Triple, table

TILE = 8  # sites a side: larger tiles compute more scores that are masked, smaller ones copy keys more often


def window_start(length: int, kernel: int) -> Tensor:
    """(L,): the first key of each query's window of `kernel` keys, shifted inward at the borders.

    start(i) = clamp(i - k // 2, 0, L - k): odd kernels are centred, even ones reach one key further to the left.
    """
    return (torch.arange(length) - kernel // 2).clamp(0, length - kernel)


@dataclass(frozen=True)
class Tiling:
    """One axis of length L, cut into n tiles of t queries with a box of b keys each."""

    queries: Tensor  # (n, t) positions; the last tile overlaps its neighbour where t does not divide L
    keys: Tensor  # (n, b) positions
    seen: Tensor  # (n, t, b) bool: the key is in the query's window
    back: Tensor  # (L,): where each query is found in the tiles, laid end to end

    @classmethod
    def of(cls, length: int, kernel: int, tile: int) -> Tiling:
        n = math.ceil(length / tile)
        t = math.ceil(length / n)
        first = (torch.arange(n) * t).clamp(max=length - t)
        start = window_start(length, kernel)
        b = int((start[first + t - 1] + kernel - start[first]).max())
        queries = first[:, None] + torch.arange(t)
        keys = start[first].clamp(max=length - b)[:, None] + torch.arange(b)
        offset = keys[:, None, :] - start[queries][:, :, None]  # (n, t, b)
        i = torch.arange(length)
        return cls(queries, keys, (offset >= 0) & (offset < kernel), i - first[i // t] + i // t * t)


@dataclass(frozen=True)
class Plan:
    """The tilings of a token grid, on a device. An index is None where it would change nothing."""

    tiles: tuple[int, int]  # (n_h, n_w)
    queries: tuple[Tensor | None, ...]  # along T, H, W: (n t,)
    keys: tuple[Tensor | None, ...]  # along T, H, W: (n b,)
    back: tuple[Tensor | None, ...]  # along T, H, W: (L,)
    bias: Tensor | None  # (n_h n_w, 1, queries, keys): 0 or -inf; None where every key of a box is seen


@table
def make_plan(grid: Triple, kernel: Triple, device: torch.device, dtype: torch.dtype) -> Plan:
    axes = [Tiling.of(n, k, tile) for n, k, tile in zip(grid, kernel, (1, TILE, TILE), strict=True)]
    _, h, w = axes
    seen = (
        h.seen[:, None, :, None, None, :, None] & w.seen[None, :, None, :, None, None, :]
    )  # n_h n_w t_h t_w 1 b_h b_w
    seen = seen.expand(*seen.shape[:4], kernel[0], -1, -1)
    seen = seen.reshape(len(h.seen) * len(w.seen), 1, seen.shape[2] * seen.shape[3], -1)
    bias = torch.zeros(seen.shape, dtype=dtype).masked_fill(~seen, -math.inf).to(device)

    def index(positions: Tensor, length: int) -> Tensor | None:
        flat = positions.flatten()
        return None if torch.equal(flat, torch.arange(length)) else flat.to(device)

    return Plan(
        tiles=(len(h.seen), len(w.seen)),
        queries=tuple(index(a.queries, n) for a, n in zip(axes, grid, strict=True)),
        keys=tuple(index(a.keys, n) for a, n in zip(axes, grid, strict=True)),
        back=tuple(index(a.back, n) for a, n in zip(axes, grid, strict=True)),
        bias=None if seen.all() else bias,
    )


def tiled_attention(q: Tensor, k: Tensor, v: Tensor, kernel: Triple, scale: float) -> Tensor:
    """Heads-last tensors (B, T, H, W, heads, dim); `kernel` is at most the grid along each axis."""
    b, t, h, w, heads, _ = q.shape
    plan = make_plan((t, h, w), kernel, q.device, q.dtype)
    q = _tiles(q, plan.queries, plan.tiles).reshape(math.prod(plan.tiles), b * heads * t, -1, q.shape[-1])
    k, v = (_tiles(x, plan.keys, plan.tiles).reshape(*q.shape[:2], -1, x.shape[-1]) for x in (k, v))
    out = F.scaled_dot_product_attention(q, k, v, plan.bias, scale=scale)  # (n_h n_w, B heads T, t_h t_w, dim)
    out = out.reshape(*plan.tiles, b, heads, t, -(-h // plan.tiles[0]), -(-w // plan.tiles[1]), -1)
    out = out.permute(2, 4, 0, 5, 1, 6, 3, 7).flatten(4, 5).flatten(2, 3)  # (B, T, n_h t_h, n_w t_w, heads, dim)
    return _select(_select(out, 2, plan.back[1]), 3, plan.back[2])


def _tiles(x: Tensor, index: tuple[Tensor | None, ...], tiles: tuple[int, int]) -> Tensor:
    """(B, T, H, W, heads, dim) -> (n_h, n_w, B, heads, T', h', w', dim): the sites of each tile, frames by `index`."""
    x = _select(_select(x, 2, index[1]), 3, index[2])
    x = x.unflatten(3, (tiles[1], -1)).unflatten(2, (tiles[0], -1))  # (B, T, n_h, h', n_w, w', heads, dim)
    x = x.permute(2, 4, 0, 6, 1, 3, 5, 7)
    return _select(x.contiguous(), 4, index[0])


def _select(x: Tensor, axis: int, index: Tensor | None) -> Tensor:
    return x if index is None else x.index_select(axis, index)
