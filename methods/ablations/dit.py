"""A plain video diffusion transformer after VDT (Lu et al., 2024), F(c_in x, c_noise, known) in patches of the video.

One block: attention over time at each site, attention over space in each frame, a feed-forward map. The noise level
shifts, scales and gates the last two (adaLN-Zero, Peebles & Xie 2023). No hierarchy and no neighbourhoods: every level
of detail passes through tokens of one width. Positions are fixed sines and cosines, of space in 2D and of time in 1D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from methods.blocks.networks.tables import Triple, table
from methods.videopde.layers import merge, split


@dataclass(frozen=True)
class Architecture:
    """Defaults: VDT-S. Its patches of 2 x 2 latents are replaced by HV-DiT's, so that both have the same tokens."""

    patch: Triple = (2, 4, 4)
    width: int = 384
    depth: int = 12
    head_dim: int = 64
    expansion: int = 4  # of the feed-forward map

    def __post_init__(self) -> None:
        if self.width % self.head_dim or self.width % 4:
            raise ValueError(f"width: expected a multiple of 4 and of head_dim {self.head_dim}, got {self.width}")

    def for_video(self, frames: int, height: int, width: int) -> Architecture:
        """The same with patches no larger than the video."""
        t, h, w = (min(p, n) for p, n in zip(self.patch, (frames, height, width), strict=True))
        return replace(self, patch=(t, h, w))


class DiT(nn.Module):
    """x is the noisy video c_in x_t, `known` what is known of it, as further channels."""

    def __init__(self, channels: int, known: int, architecture: Architecture):
        super().__init__()
        a = self.architecture = architecture
        self.channels = channels, known
        pixels = math.prod(a.patch)
        self.patch_in = nn.Linear(pixels * (channels + known), a.width)
        self.blocks = nn.ModuleList(Block(a.width, a.head_dim, a.expansion * a.width) for _ in range(a.depth))
        self.patch_out = _zero(nn.Linear(a.width, pixels * channels))
        self.changes = [*[6 * a.width] * a.depth, 2 * a.width]  # of the blocks, then of the last norm
        self.mapping = Mapping(a.width, sum(self.changes))

    def forward(self, x: Tensor, c_noise: Tensor, known: Tensor) -> Tensor:
        """x (B, T, H, W, C), c_noise (B,) or (1,) for all, known (B, T, H, W, G) -> (B, T, H, W, C)."""
        if (x.shape[-1], known.shape[-1]) != self.channels or x.shape[:-1] != known.shape[:-1]:
            raise ValueError(
                f"x and known: expected videos of {self.channels} channels, got {tuple(x.shape)}, {tuple(known.shape)}"
            )
        changes = self.mapping(c_noise)[:, None, None, None].split(self.changes, dim=-1)
        patches = merge(pad_end(torch.cat([x, known], dim=-1), self.architecture.patch), self.architecture.patch)
        tokens = self.patch_in(patches).float()  # (B, T', H', W', width)
        tokens = tokens + positions(tuple(tokens.shape[1:]), tokens.device)
        for block, change in zip(self.blocks, changes[:-1], strict=True):
            tokens = block(tokens, change)
        out = split(self.patch_out(modulated(tokens, *changes[-1].chunk(2, dim=-1))), self.architecture.patch)
        _, t, h, w, _ = x.shape
        return out[:, :t, :h, :w].to(x.dtype)


class Block(nn.Module):
    """Tokens (B, T, H, W, width); `change` (B or 1, 1, 1, 1, 6 width) holds shift, scale and gate, twice."""

    def __init__(self, width: int, head_dim: int, hidden: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.time, self.space = Attention(width, head_dim), Attention(width, head_dim)
        _zero(self.time.out)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor, change: Tensor) -> Tensor:
        shift_a, scale_a, gate_a, shift_f, scale_f, gate_f = change.chunk(6, dim=-1)
        sites = self.norm(x).movedim(1, 3)  # (B, H, W, T, width)
        x = x + self.time(sites).movedim(3, 1)
        frames = modulated(x, shift_a, scale_a).flatten(2, 3)  # (B, T, H W, width)
        x = x + gate_a * self.space(frames).view_as(x)
        hidden = F.gelu(self.up(modulated(x, shift_f, scale_f)), approximate="tanh")
        return x + gate_f * self.down(hidden)


class Attention(nn.Module):
    """Every token of the last but one axis attends to all others there: (..., N, width) -> the same."""

    def __init__(self, width: int, head_dim: int):
        super().__init__()
        self.head_dim = head_dim
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.qkv(x.flatten(0, -3)).unflatten(-1, (3, -1, self.head_dim))  # (M, N, 3, heads, head_dim)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return self.out(mixed).view(x.shape)


class Mapping(nn.Module):
    """A noise level to every shift, scale and gate: Fourier features of ln(sigma) / 4, two layers, one zero map."""

    frequencies: Tensor

    def __init__(self, width: int, changes: int):
        super().__init__()
        self.register_buffer("frequencies", torch.randn(width // 2))  # drawn once, never trained, as in HV-DiT
        self.embed = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.change = _zero(nn.Linear(width, changes))

    def forward(self, c_noise: Tensor) -> Tensor:
        """ln(sigma) / 4 (N,) -> (N, changes), in the precision of the weights also under autocast."""
        with torch.autocast(c_noise.device.type, enabled=False):
            phase = 2 * math.pi * c_noise.to(self.frequencies.dtype)[:, None] * self.frequencies
            return self.change(self.embed(torch.cat([phase.cos(), phase.sin()], dim=-1)))


def modulated(x: Tensor, shift: Tensor, scale: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], eps=1e-6) * (1 + scale) + shift


def pad_end(x: Tensor, block: Triple) -> Tensor:
    """(B, T, H, W, C) with the last frame, row and column repeated up to whole blocks."""
    t, h, w = (-n % size for n, size in zip(x.shape[1:4], block, strict=True))
    if not (t or h or w):
        return x
    return F.pad(x.movedim(-1, 1), (0, w, 0, h, 0, t), mode="replicate").movedim(1, -1)


@table
def positions(shape: tuple[int, int, int, int], device: torch.device) -> Tensor:
    """(T, H, W, width): half of the channels tell the row and half the column, and to all is added the frame."""
    t, h, w, width = shape
    rows, columns, frames = waves(h, width // 2), waves(w, width // 2), waves(t, width)
    space = torch.cat([rows[:, None].expand(h, w, -1), columns[None].expand(h, w, -1)], dim=-1)
    return (frames[:, None, None] + space).to(device, torch.float32)


def waves(count: int, width: int) -> Tensor:
    """(count, width): sines and cosines of the index, wavelengths from 2 pi to 10,000 times that."""
    frequency = 10_000 ** -(torch.arange(width // 2, dtype=torch.float64) / (width // 2))
    phase = torch.arange(count, dtype=torch.float64)[:, None] * frequency
    return torch.cat([phase.sin(), phase.cos()], dim=-1)


def _zero(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
