"""The layers of HV-DiT. Tokens are (B, T, H, W, width); all linear maps are without bias.

Every map that ends a residual branch starts at zero, so an untrained layer changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from methods.blocks.networks.neighbourhood import global_attention, neighbourhood_attention
from methods.blocks.networks.tables import Triple
from methods.videopde.rope import rotate, rotations

EPS = 1e-6


def linear(width_in: int, width_out: int, zero: bool = False) -> nn.Linear:
    layer = nn.Linear(width_in, width_out, bias=False)
    if zero:
        nn.init.zeros_(layer.weight)
    return layer


def rms_norm(x: Tensor, gain: Tensor) -> Tensor:
    """x / rms(x) * gain. AdaRMSNorm where the gain is that of a noise level: (B or 1, 1, 1, 1, width)."""
    return F.rms_norm(x, x.shape[-1:], eps=EPS) * gain


class GEGLU(nn.Module):
    """down(a * gelu(b)), (a, b) = up(x): the feed-forward map."""

    def __init__(self, width: int, hidden: int):
        super().__init__()
        self.up = linear(width, 2 * hidden)
        self.down = linear(hidden, width, zero=True)

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.up(x).chunk(2, dim=-1)
        return self.down(a * F.gelu(b))


class Attention(nn.Module):
    """Cosine-similarity attention: q and k have length sqrt(scale) in each head, then turn with their place.

    softmax_j(scale cos(q_i, k_j)), over all tokens or over the `kernel` around the query.
    """

    def __init__(self, width: int, head_dim: int, kernel: Triple | None):
        super().__init__()
        self.heads, self.head_dim, self.kernel = width // head_dim, head_dim, kernel
        self.qkv = linear(width, 3 * width)
        self.scale = nn.Parameter(torch.full((self.heads,), 10.0))
        self.out = linear(width, width, zero=True)

    def forward(self, x: Tensor) -> Tensor:
        _, t, h, w, _ = x.shape
        qkv = self.qkv(x).unflatten(-1, (3, self.heads, self.head_dim))
        q, k, v = qkv.unbind(-3)  # (B, T, H, W, heads, head_dim) each
        turns = rotations((t, h, w), self.heads, self.head_dim, x.device)
        q, k = (self._normalise(a, turns) for a in (q, k))
        if self.kernel is None:
            out = global_attention(q, k, v, scale=1.0)
        else:
            out = neighbourhood_attention(q, k, v, self.kernel, scale=1.0)
        return self.out(out.flatten(-2))

    def _normalise(self, a: Tensor, turns: Tensor) -> Tensor:
        wide = a.to(torch.promote_types(a.dtype, torch.float32))
        norm = torch.linalg.vector_norm(wide, dim=-1, keepdim=True).clamp(min=EPS)  # (..., heads, 1)
        return (rotate(wide, turns) * (self.scale[:, None].sqrt() / norm)).to(a.dtype)


class Layer(nn.Module):
    """x + attention(AdaRMSNorm(x)), then x + feed-forward(AdaRMSNorm(x))."""

    def __init__(self, width: int, head_dim: int, hidden: int, kernel: Triple | None):
        super().__init__()
        self.attention = Attention(width, head_dim, kernel)
        self.feed_forward = GEGLU(width, hidden)

    def forward(self, x: Tensor, gains: tuple[Tensor, Tensor]) -> Tensor:
        x = x + self.attention(rms_norm(x, gains[0]))
        return x + self.feed_forward(rms_norm(x, gains[1]))


class Level(nn.ModuleList):
    """Layers one after the other, each with the next two gains."""

    def __init__(self, depth: int, width: int, head_dim: int, hidden: int, kernel: Triple | None):
        super().__init__(Layer(width, head_dim, hidden, kernel) for _ in range(depth))

    def forward(self, x: Tensor, gains: Iterator[tuple[Tensor, Tensor]]) -> Tensor:
        for layer in self:
            x = layer(x, next(gains))
        return x


def merge(x: Tensor, block: Triple) -> Tensor:
    """Space to depth: (B, T, H, W, C) -> (B, T/t, H/h, W/w, t h w C)."""
    for axis, size in enumerate(block):
        x = x.unflatten(1 + 2 * axis, (-1, size))
    return x.permute(0, 1, 3, 5, 2, 4, 6, 7).flatten(4)


def split(x: Tensor, block: Triple) -> Tensor:
    """Depth to space, the inverse of `merge`."""
    x = x.unflatten(-1, (*block, -1)).permute(0, 1, 4, 2, 5, 3, 6, 7)
    return x.flatten(5, 6).flatten(3, 4).flatten(1, 2)


class Merge(nn.Module):
    """Blocks of neighbouring tokens become one."""

    def __init__(self, width_in: int, width_out: int, block: Triple):
        super().__init__()
        self.block = block
        self.project = linear(math.prod(block) * width_in, width_out)

    def forward(self, x: Tensor) -> Tensor:
        return self.project(merge(x, self.block))


class Split(nn.Module):
    """One token becomes a block, mixed with the tokens that were merged: (1 - a) skip + a x, a learned."""

    def __init__(self, width_in: int, width_out: int, block: Triple):
        super().__init__()
        self.block = block
        self.project = linear(width_in, math.prod(block) * width_out)
        self.mix = nn.Parameter(torch.tensor(0.5))

    def forward(self, x: Tensor, skip: Tensor) -> Tensor:
        return torch.lerp(skip, split(self.project(x), self.block).to(skip.dtype), self.mix)


class Mapping(nn.Module):
    """A noise level to the gains of all AdaRMSNorms: Fourier features of ln(sigma) / 4, a residual network, 1 + W c."""

    frequencies: Tensor

    def __init__(self, width: int, depth: int, hidden: int, gains: int):
        super().__init__()
        self.register_buffer("frequencies", torch.randn(width // 2))  # drawn once, never trained
        self.embed = linear(width, width)
        self.norms = nn.ParameterList(torch.ones(width) for _ in range(depth + 2))  # first, one a block, last
        self.blocks = nn.ModuleList(GEGLU(width, hidden) for _ in range(depth))
        self.gains = linear(width, gains, zero=True)

    def forward(self, c_noise: Tensor) -> Tensor:
        """ln(sigma) / 4 (N,) -> (N, gains), in the precision of the weights also under autocast."""
        with torch.autocast(c_noise.device.type, enabled=False):
            phase = 2 * math.pi * c_noise.to(self.frequencies.dtype)[:, None] * self.frequencies
            c = rms_norm(self.embed(torch.cat([phase.cos(), phase.sin()], dim=-1)), self.norms[0])
            for norm, block in zip(self.norms[1:-1], self.blocks, strict=True):
                c = c + block(rms_norm(c, norm))
            return 1 + self.gains(rms_norm(c, self.norms[-1]))
