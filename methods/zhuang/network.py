"""A U-Net that attends to an encoded condition: nearest-sensor field and sensor mask -> tokens -> keys and values.

    tokens = encoder(LN(field patches (1 + scale) + shift + position)),    (scale, shift) = mask patches

The tokens depend on neither the noisy field nor its noise level, so the keys and values of every layer are computed
once a frame (`condition`) and serve all evaluations and all members of an ensemble. Fields are (B, C, H, W).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmark.core import Grid
from methods.blocks.networks.unet import NEARLY_ZERO, UNet, normalisation
from methods.blocks.networks.unet import Architecture as UNetArchitecture

DIFFUSERS = UNetArchitecture(  # the 128^2 configuration: attention on all levels but the first, whatever the grid
    width=128,
    multipliers=(1, 2, 2, 2),
    blocks=2,
    attention=(1, 2, 3),
    attention_by="level",
    decoder_attention="all",
    modulate=True,
    dropout=0.0,
    resample="layer",
    rescale=False,
)


@dataclass(frozen=True)
class Architecture:
    """Defaults: the authors' code for two channels at 128^2."""

    unet: UNetArchitecture = field(default_factory=lambda: DIFFUSERS)
    heads: int = 8  # of every attention
    patch: int = 8  # cells along a side that become a token of the condition
    width: int = 256  # of these tokens
    layers: int = 4  # of their encoder
    positions: bool = False  # ours: tell the U-Net's attention where its cells are too


class KeysValues(NamedTuple):
    keys: Tensor  # (N, heads, tokens, C / heads)
    values: Tensor


Condition = list[KeysValues]  # one for each attention layer, in their order


class ConditionalUNet(nn.Module):
    """F(x, noise, field, mask): x (B, C, H, W), the nearest-sensor field with coefficients (N, C + Cs, H, W) and the
    mask (N, C, H, W). B is a multiple of N: several x in a row may share a condition."""

    def __init__(self, channels: int, static: int, grid: Grid, architecture: Architecture):
        super().__init__()
        if grid.shape[0] != grid.shape[1]:
            raise ValueError(f"grid: expected a square one, got {grid.shape}")
        a = architecture
        self.encoder = ConditionEncoder(channels + static, channels, a)
        self.unet = UNet(channels, channels, grid.shape[0], a.unet, attend=lambda width: TransformerLayer(width, a))
        for place, layer in enumerate(self.unet.attentions()):
            layer.place = place  # type: ignore[assignment]

    def condition(self, field: Tensor, mask: Tensor) -> Condition:
        """All that does not depend on x and its noise level."""
        tokens = self.encoder(field, mask)
        return [layer.keys_values(tokens) for layer in self.unet.attentions()]  # type: ignore[operator]

    def denoise(self, x: Tensor, noise: Tensor, condition: Condition) -> Tensor:
        return self.unet(x, noise, context=condition)

    def forward(self, x: Tensor, noise: Tensor, field: Tensor, mask: Tensor) -> Tensor:
        return self.denoise(x, noise, self.condition(field, mask))


class ConditionEncoder(nn.Module):
    """(N, K, H, W), mask (N, C, H, W) -> tokens (N, L, width)."""

    def __init__(self, fields: int, masks: int, architecture: Architecture):
        super().__init__()
        a = architecture
        self.field = nn.Conv2d(fields, a.width, a.patch, a.patch)
        self.mask = nn.Conv2d(masks, 2 * a.width, a.patch, a.patch)
        for conv in (self.field, self.mask):
            nn.init.normal_(conv.weight, std=0.02)
        self.norm = nn.LayerNorm(a.width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                a.width, a.heads, 4 * a.width, 0.0, quick_gelu, batch_first=True, norm_first=True
            )
            for _ in range(a.layers)
        )

    def forward(self, field: Tensor, mask: Tensor) -> Tensor:
        scale, shift = self.mask(mask).chunk(2, 1)
        h = self.field(field) * (1 + scale) + shift  # (N, width, H / p, W / p)
        h = self.norm((h + positions(h)).flatten(2).transpose(1, 2))
        for layer in self.layers:
            h = layer(h)
        return h


class TransformerLayer(nn.Module):
    """Self-attention, attention to the condition, feed-forward, each LayerNorm first and added, between two matrices.

    A layer of `UNet`: its residual connection is there.
    """

    place: int  # of its keys and values in the condition

    def __init__(self, channels: int, architecture: Architecture):
        super().__init__()
        a = architecture
        if channels % a.heads:
            raise ValueError(f"heads: expected a divisor of {channels} channels, got {a.heads}")
        self.heads, self.positions = a.heads, a.positions
        self.norm = normalisation(channels, a.unet)
        self.into, self.out = nn.Linear(channels, channels), nn.Linear(channels, channels)
        self.norms = nn.ModuleList(nn.LayerNorm(channels) for _ in range(3))
        self.qkv = nn.Linear(channels, 3 * channels, bias=False)
        self.own = nn.Linear(channels, channels)
        self.query = nn.Linear(channels, channels, bias=False)
        self.key_value = nn.Linear(a.width, 2 * channels, bias=False)
        self.cross = nn.Linear(channels, channels)
        self.up, self.down = nn.Linear(channels, 8 * channels), nn.Linear(4 * channels, channels)
        nn.init.xavier_uniform_(self.out.weight, gain=NEARLY_ZERO)

    def keys_values(self, tokens: Tensor) -> KeysValues:
        return KeysValues(*map(self._split, self.key_value(tokens).chunk(2, -1)))

    def forward(self, x: Tensor, condition: Condition) -> Tensor:
        h = self.norm(x)
        h = self.into((h + positions(h) if self.positions else h).flatten(2).transpose(1, 2))  # (B, H W, C)
        h = h + self._attend_own(self.norms[0](h))
        h = h + self._attend_condition(self.norms[1](h), condition[self.place])
        value, gate = self.up(self.norms[2](h)).chunk(2, -1)
        h = h + self.down(value * F.gelu(gate))
        return self.out(h).transpose(1, 2).reshape(x.shape)

    def _attend_own(self, h: Tensor) -> Tensor:
        q, k, v = map(self._split, self.qkv(h).chunk(3, -1))
        return self.own(_join(F.scaled_dot_product_attention(q, k, v)))

    def _attend_condition(self, h: Tensor, known: KeysValues) -> Tensor:
        """x that share a condition are one sequence of queries."""
        q = self._split(self.query(h).reshape(len(known.keys), -1, h.shape[-1]))
        return self.cross(_join(F.scaled_dot_product_attention(q, known.keys, known.values)).view_as(h))

    def _split(self, h: Tensor) -> Tensor:
        """(B, L, C) -> (B, heads, L, C / heads)."""
        return h.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def _join(h: Tensor) -> Tensor:
    return h.transpose(1, 2).flatten(2)


def positions(like: Tensor) -> Tensor:
    """Sines and cosines of the row and of the column, a quarter of the channels each: (C, H, W) for (B, C, H, W)."""
    _, channels, h, w = like.shape
    count = -(-channels // 4)
    rates = 10_000 ** -(torch.arange(count, device=like.device, dtype=torch.float32) / count)
    row, column = (torch.outer(rates, torch.arange(n, device=like.device, dtype=torch.float32)) for n in (h, w))
    parts = [row.sin(), row.cos(), column.sin(), column.cos()]
    grids = [
        part[:, :, None].expand(-1, h, w) if i < 2 else part[:, None].expand(-1, h, w) for i, part in enumerate(parts)
    ]
    return torch.cat(grids)[:channels].to(like.dtype)


def quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)
