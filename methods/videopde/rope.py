"""Axial rotary position embedding in three dimensions.

Pairs of channels are turned by angles proportional to the token's place along T, H or W, so that the product of a
query and a key depends on their places only through the difference. Su et al., RoFormer, 2021; frequencies and places
are those of Crowson et al., HDiT, 2024, with time as a third axis. Which channels form a pair is of no consequence.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from methods.blocks.networks.tables import Triple, table


def places(grid: Triple) -> tuple[Tensor, Tensor, Tensor]:
    """Token centres along T, H and W: time and the longer side of space fill [-1, 1], pixels stay square."""
    longest = max(grid[1:])
    t, h, w = ((2 * torch.arange(n, dtype=torch.float64) + 1) / n - 1 for n in grid)
    return t, h * grid[1] / longest, w * grid[2] / longest


def frequencies(heads: int, count: int) -> Tensor:
    """(heads, count): log-spaced from pi to 10 pi, the end excluded; neighbouring ones go to neighbouring heads."""
    steps = torch.arange(heads * count, dtype=torch.float64) / (heads * count)
    return (math.pi * 10**steps).view(count, heads).T


@table
def rotations(grid: Triple, heads: int, head_dim: int, device: torch.device) -> Tensor:
    """(T, H, W, heads, head_dim / 2, 2): cosine and sine for each pair of channels.

    A quarter of a head's pairs turns along each axis; those of the last quarter stay and carry no place.
    """
    freq = frequencies(heads, head_dim // 8)
    t, h, w = (place[:, None, None] * freq for place in places(grid))  # (L, heads, head_dim / 8) each
    axes = (t[:, None, None], h[None, :, None], w[None, None], torch.zeros_like(freq))
    angle = torch.cat([axis.expand(*grid, -1, -1) for axis in axes], dim=-1)
    return torch.stack([angle.cos(), angle.sin()], dim=-1).to(device, torch.float32)


def rotate(x: Tensor, turns: Tensor) -> Tensor:
    """Turn the pairs (x_0, x_1), (x_2, x_3), ... of x (..., dim): a product of complex numbers."""
    pairs = x.unflatten(-1, (-1, 2))
    if torch.compiler.is_compiling():  # which fuses real products, but not complex ones
        (a, b), (cos, sin) = pairs.unbind(-1), turns.unbind(-1)
        return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    return torch.view_as_real(torch.view_as_complex(pairs) * torch.view_as_complex(turns)).flatten(-2)
