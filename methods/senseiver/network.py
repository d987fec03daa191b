"""A set of sensors -> latents by cross-attention -> the field at any place: the two halves of the network.

    layer      h <- h + attend(LN h, LN tokens),  h <- h + mlp(LN h),  then layers of self-attention, made likewise
    encoder    latents through the layers, which all look at the tokens; those after the first share their weights
    decoder    q <- W [position, learned vector],  q through a layer that looks at the latents,  u = W' q

A position is known by sin and cos of pi f x, with x in [-1, 1) along each axis and bands f from 1 to (a share of) half
the number of points.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from methods.blocks.networks.tables import Triple, table


@dataclass(frozen=True)
class Architecture:
    """Defaults: the authors' code; latents as in their largest example."""

    bands: int = 32  # of each axis
    finest: float = 1.0  # ours; the highest band over half the number of points
    token: int = 64  # width of a sensor's token
    latents: int = 256
    width: int = 32  # of a latent
    layers: int = 3  # of cross-attention
    depth: int = 3  # layers of self-attention after each
    heads: int = 2  # of the encoder's attention; the decoder's has one
    query: int | None = None  # width that a query is brought to; None: it stays as wide as it is

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"heads: expected a divisor of the width {self.width}, got {self.heads}")


class SetNetwork(nn.Module):
    """Sensors, each described by a vector, and places, each by a vector -> channels of the field at the places."""

    def __init__(self, sensor: int, place: int, channels: int, architecture: Architecture):
        super().__init__()
        self.encode, self.decode = Encoder(sensor, architecture), Decoder(place, channels, architecture)

    def forward(self, sensors: Tensor, valid: Tensor, places: Tensor) -> Tensor:
        """(B, N, sensor), (B, N) bool: False for what only fills up the batch, (B, Q, place) -> (B, Q, C)."""
        return self.decode(self.encode(sensors, valid), places)


class Encoder(nn.Module):
    def __init__(self, sensor: int, architecture: Architecture):
        super().__init__()
        a = architecture
        self.token = nn.Linear(sensor, a.token)
        self.latents = nn.Parameter(0.02 * torch.randn(a.latents, a.width))
        self.first = EncoderLayer(a)
        self.shared = EncoderLayer(a) if a.layers > 1 else None
        self.repeats = a.layers - 1

    def forward(self, sensors: Tensor, valid: Tensor) -> Tensor:
        tokens = self.token(sensors)  # (B, N, token)
        h = self.latents.expand(len(tokens), -1, -1)  # (B, L, width)
        for layer in [self.first, *[self.shared] * self.repeats]:
            h = layer(h, tokens, valid)
        return h


class EncoderLayer(nn.Module):
    def __init__(self, architecture: Architecture):
        super().__init__()
        a = architecture
        self.cross = Layer(a.width, a.token, a.heads)
        self.own = nn.ModuleList(Layer(a.width, a.width, a.heads) for _ in range(a.depth))

    def forward(self, h: Tensor, tokens: Tensor, valid: Tensor) -> Tensor:
        h = self.cross(h, tokens, valid)
        for layer in self.own:
            h = layer(h, h)
        return h


class Decoder(nn.Module):
    def __init__(self, place: int, channels: int, architecture: Architecture):
        super().__init__()
        a = architecture
        width = a.query or place + a.width
        self.vector = nn.Parameter(0.02 * torch.randn(a.width))
        self.query = nn.Linear(place + a.width, width) if a.query else nn.Identity()
        self.layer = Layer(width, a.width, heads=1)
        self.out = nn.Linear(width, channels)

    def forward(self, latents: Tensor, places: Tensor) -> Tensor:
        q = self.query(torch.cat([places, self.vector.expand(*places.shape[:2], -1)], -1))
        return self.out(self.layer(q, latents))


class Layer(nn.Module):
    """Attention of h (B, L, width) to what is known (B, N, other), and two dense layers, each added to h."""

    def __init__(self, width: int, other: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm, self.norm_other = nn.LayerNorm(width), nn.LayerNorm(other)
        self.queries, self.keys_values = nn.Linear(width, width), nn.Linear(other, 2 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, h: Tensor, known: Tensor, valid: Tensor | None = None) -> Tensor:
        keys, values = self.keys_values(self.norm_other(known)).chunk(2, -1)
        q, k, v = (self._split(x) for x in (self.queries(self.norm(h)), keys, values))
        mask = None if valid is None else valid[:, None, None]  # (B, 1, 1, N)
        h = h + self.out(scaled_dot_product_attention(q, k, v, mask).transpose(1, 2).flatten(2))
        return h + self.mlp(h)

    def _split(self, x: Tensor) -> Tensor:
        """(B, L, width) -> (B, heads, L, width / heads)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def positions(sites: Tensor, video: Triple, bands: int, finest: float = 1.0) -> Tensor:
    """Of sites numbered along T, H and W: (...) -> (..., 6 bands)."""
    places = torch.unravel_index(sites, video)
    parts = [waves(n, bands, finest).to(sites.device)[k] for n, k in zip(video, places, strict=True)]
    return torch.cat(parts, -1)


@table
def waves(points: int, bands: int, finest: float) -> Tensor:
    """sin and cos of pi f x at x = 2 k / n - 1, k = 0 .. n - 1: (n, 2 bands).

    Without its end the axis has no two points alike, not even if there are two, as in a steady problem.
    """
    x = 2 * torch.arange(points) / points - 1
    angles = torch.pi * x[:, None] * torch.linspace(1, max(1, finest * points / 2), bands)
    return torch.cat([angles.sin(), angles.cos()], -1)
