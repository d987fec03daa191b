"""3-D neighbourhood attention: each token attends to the k_t x k_h x k_w tokens around it.

    out_i = sum_{j in N(i)} softmax_j(scale q_i . k_j) v_j,   N(i) = windows along T, H and W, multiplied

Along an axis of length L the window of token i has exactly k tokens and starts at clamp(i - k // 2, 0, L - k): it is
shifted inward at the borders, never padded and never periodic. Hassani et al., Neighborhood Attention Transformer,
CVPR 2023. Three backends compute the same:

    natten   the authors' fused kernels, on CUDA only
    tiled    ordinary attention over tiles (see `tiles.py`), everywhere else
    dense    ordinary attention with a mask over all pairs of tokens: the definition, to test the others against
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from methods.blocks.networks.tables import Triple, table
from methods.blocks.networks.tiles import tiled_attention, window_start


def neighbourhood_attention(
    q: Tensor, k: Tensor, v: Tensor, kernel: Triple, scale: float | None = None, backend: str = "auto"
) -> Tensor:
    """Heads-last tensors (B, T, H, W, heads, dim). A kernel larger than the grid is clamped to it.

    `scale` multiplies the scores, 1 / sqrt(dim) unless given. `backend`: auto, natten, tiled or dense.
    """
    if q.ndim != 6 or k.shape != q.shape or v.shape[:-1] != q.shape[:-1]:
        shapes = ", ".join(str(tuple(x.shape)) for x in (q, k, v))
        raise ValueError(f"q, k, v: expected three of (B, T, H, W, heads, dim), got {shapes}")
    if len(kernel) != 3 or min(kernel) < 1:
        raise ValueError(f"kernel: expected three sizes of 1 or more, got {kernel}")
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    t, h, w = (min(n, size) for n, size in zip(kernel, q.shape[1:4], strict=True))
    if backend == "auto":
        backend = "natten" if without_natten(q.device) is None and _fits_natten(q, (t, h, w)) else "tiled"
    if backend not in BACKENDS:
        raise ValueError(f"backend: expected auto, {', '.join(BACKENDS)}, got {backend!r}")
    if (t, h, w) == q.shape[1:4]:
        return global_attention(q, k, v, factor)
    return BACKENDS[backend](q, k, v, (t, h, w), factor)


def global_attention(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
    """Every token attends to all: (B, T, H, W, heads, dim)."""
    grid = q.shape[1:4]
    q, k, v = (x.flatten(1, 3).transpose(1, 2) for x in (q, k, v))  # (B, heads, T H W, dim)
    return F.scaled_dot_product_attention(q, k, v, scale=scale).transpose(1, 2).unflatten(1, grid)


def attention_backend(device: torch.device | str) -> str:
    """The backend that `auto` chooses on a device, and why."""
    reason = without_natten(torch.device(device))
    return "natten: CUDA and libnatten are there" if reason is None else f"tiled: {reason}"


def without_natten(device: torch.device) -> str | None:
    """Why natten's kernels cannot be used on this device, or None."""
    return "natten's kernels need CUDA" if device.type != "cuda" else _missing_natten()


@lru_cache(maxsize=1)
def _missing_natten() -> str | None:
    try:
        built = import_module("natten").HAS_LIBNATTEN
    except ImportError:
        return "natten is not installed"
    return None if built else "natten is installed without libnatten"


def _fits_natten(q: Tensor, kernel: Triple) -> bool:
    """What the kernels accept: no window of one site, no double precision, heads of whole 16-byte words."""
    return min(kernel[1:]) > 1 and q.dtype != torch.float64 and q.shape[-1] % 8 == 0


def _natten(q: Tensor, k: Tensor, v: Tensor, kernel: Triple, scale: float) -> Tensor:
    natten: Any = import_module("natten")
    if kernel[0] > 1:
        return natten.na3d(q, k, v, kernel_size=kernel, scale=scale)
    q2, k2, v2 = (x.flatten(0, 1) for x in (q, k, v))  # frames that see only themselves are a batch
    return natten.na2d(q2, k2, v2, kernel_size=kernel[1:], scale=scale).unflatten(0, q.shape[:2])


def _dense(q: Tensor, k: Tensor, v: Tensor, kernel: Triple, scale: float) -> Tensor:
    t, h, w = q.shape[1:4]
    seen = neighbours((t, h, w), kernel, q.device)
    q, k, v = (x.flatten(1, 3).transpose(1, 2) for x in (q, k, v))  # (B, heads, T H W, dim)
    out = F.scaled_dot_product_attention(q, k, v, seen, scale=scale)
    return out.transpose(1, 2).unflatten(1, (t, h, w))


@table
def neighbours(grid: Triple, kernel: Triple, device: torch.device) -> Tensor:
    """(T H W, T H W) bool: key j is in the window of query i."""
    axes = []
    for length, size in zip(grid, kernel, strict=True):
        offset = torch.arange(length) - window_start(length, size)[:, None]  # (L, L)
        axes.append((offset >= 0) & (offset < size))
    t, h, w = axes
    seen = t[:, None, None, :, None, None] & h[None, :, None, None, :, None] & w[None, None, :, None, None, :]
    n = grid[0] * grid[1] * grid[2]
    return seen.reshape(n, n).to(device)


BACKENDS = {"natten": _natten, "tiled": tiled_attention, "dense": _dense}
