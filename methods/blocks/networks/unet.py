"""U-Nets of diffusion models: by its settings one class is DDPM++ (Song et al. 2021) or DDPM (Ho et al. 2020).

    h = conv_0(silu(norm_0(x)))                       a block, with e the conditioning vector
    h = conv_1(dropout(silu(norm_1(h + W e))))
    x <- (skip(x) + h) / sqrt 2,   then self-attention where it is asked for

A level is halved in size by an average over 2 x 2 cells and doubled by copying them, inside a block (DDPM++), or by a
convolution of its own (DDPM). Fields are (B, C, H, W) here: channels first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import (
    avg_pool2d,
    interpolate,
    pad,
    pixel_shuffle,
    pixel_unshuffle,
    scaled_dot_product_attention,
    silu,
)

Resize = Literal["up", "down"]

NEARLY_ZERO = 1e-5  # factor on the initial weights of a branch's last layer


@dataclass(frozen=True)
class Architecture:
    """Defaults: DiffusionPDE's network (54.4M parameters for two channels at 128^2)."""

    width: int = 128
    multipliers: tuple[int, ...] = (2, 2, 2)  # of the width, one a level
    blocks: int = 4  # a level, and one more on the way up
    attention: tuple[int, ...] = (16,)  # where blocks attend; the middle always does
    attention_by: Literal["side", "level"] = "side"  # those are sides of the grid, or levels, the finest is 0
    decoder_attention: Literal["last", "all"] = "last"  # which blocks of such a level on the way up
    embedding: int = 4  # length of the conditioning vector over the width; 0: there is none
    modulate: bool = False  # the conditioning vector also scales, after norm_1
    groups: int = 32  # of a normalisation, at most, with 4 channels each at least
    dropout: float = 0.13
    resample: Literal["block", "layer"] = "block"
    rescale: bool = True  # divide the sum of two branches by sqrt 2
    padding: Literal["zeros", "circular"] = "zeros"
    patch: int = 1  # cells along a side that enter together, as channels: a coarser and cheaper first level

    @property
    def factor(self) -> int:
        """The sides of a grid must be multiples of it."""
        return self.patch * 2 ** (len(self.multipliers) - 1)


SHU = Architecture(  # 3.47M parameters for three channels at 256^2
    width=64,
    multipliers=(1, 1, 1, 2),
    blocks=1,
    decoder_attention="all",
    groups=8,
    dropout=0.1,
    resample="layer",
    rescale=False,
    padding="circular",
)


class UNet(nn.Module):
    """F(x, noise, label, extra, context) -> (B, outputs, H, W).

    noise     (B,), or (1,) shared by the batch: the noise level or the diffusion time, embedded by sines and cosines;
              not looked at without an embedding
    label     (B, labels), e.g. one-hot: added to that embedding through a matrix
    extra     (B, extra, H, W): a field with a stem of its own, joined with that of x
    context   handed to every attention layer as it is

    `attend(channels)` makes an attention layer, a module over (x, context); default: self-attention, which needs no
    context. They are numbered in the order in which `attentions()` lists them.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        size: int,
        architecture: Architecture,
        labels: int = 0,
        extra: int = 0,
        attend: Callable[[int], nn.Module] | None = None,
    ):
        super().__init__()
        if size % architecture.factor:
            raise ValueError(f"size: expected a multiple of {architecture.factor}, got {size}")
        self.size, self.architecture = size // architecture.patch, architecture
        inputs, extra, outputs = (n * architecture.patch**2 for n in (inputs, extra, outputs))
        length = architecture.width * architecture.embedding
        self.embed = Embedding(architecture.width, length, labels) if length else None
        self.stem = Stem(inputs, extra, architecture)
        self._attend = attend or (lambda channels: SelfAttention(channels, architecture))
        channels, skips = self._make_encoder()
        self.middle = nn.ModuleList([self._block(channels, channels, True), self._block(channels, channels, False)])
        channels = self._make_decoder(channels, skips)
        self.norm = normalisation(channels, architecture)
        self.out = convolution(channels, outputs, 3, architecture, scale=NEARLY_ZERO)

    def forward(
        self,
        x: Tensor,
        noise: Tensor | None = None,
        label: Tensor | None = None,
        extra: Tensor | None = None,
        context: Any = None,
    ) -> Tensor:
        e = None if self.embed is None else self.embed(noise, label)
        patch = self.architecture.patch
        x = self.stem(pixel_unshuffle(x, patch), None if extra is None else pixel_unshuffle(extra, patch))
        skips = [x]
        for layer in self.encoder:
            x = layer(x, e, context)
            skips.append(x)
        for layer in self.middle:
            x = layer(x, e, context)
        for layer in self.decoder:
            x = layer(
                torch.cat([x, skips.pop()], 1) if isinstance(layer, Block) and not layer.resize else x, e, context
            )
        return pixel_shuffle(self.out(silu(self.norm(x))), patch)

    def attentions(self) -> list[nn.Module]:
        """The attention layers, in the order in which they are called."""
        layers = (*self.encoder, *self.middle, *self.decoder)
        return [layer.attention for layer in layers if isinstance(layer, Block) and layer.attention is not None]

    # -- construction

    def _make_encoder(self) -> tuple[int, list[int]]:
        """The width it ends with, and those of what the decoder takes up again."""
        a = self.architecture
        channels, skips, layers = a.width, [a.width], []
        for level, multiplier in enumerate(a.multipliers):
            if level:
                layers.append(self._resampling(channels, "down"))
                skips.append(channels)
            for _ in range(a.blocks):
                layers.append(self._block(channels, a.width * multiplier, self._attends(level)))
                channels = a.width * multiplier
                skips.append(channels)
        self.encoder = nn.ModuleList(layers)
        return channels, skips

    def _make_decoder(self, channels: int, skips: list[int]) -> int:
        a, layers = self.architecture, []
        for level in reversed(range(len(a.multipliers))):
            if level < len(a.multipliers) - 1:
                layers.append(self._resampling(channels, "up"))
            for i in range(a.blocks + 1):
                attends = self._attends(level) and (a.decoder_attention == "all" or i == a.blocks)
                layers.append(self._block(channels + skips.pop(), a.width * a.multipliers[level], attends))
                channels = a.width * a.multipliers[level]
        self.decoder = nn.ModuleList(layers)
        return channels

    def _attends(self, level: int) -> bool:
        a = self.architecture
        return (level if a.attention_by == "level" else self.size >> level) in a.attention

    def _block(self, inputs: int, outputs: int, attends: bool) -> Block:
        return Block(inputs, outputs, self.architecture, attention=self._attend(outputs) if attends else None)

    def _resampling(self, channels: int, resize: Resize) -> nn.Module:
        if self.architecture.resample == "block":
            return Block(channels, channels, self.architecture, resize)
        return Resampling(channels, self.architecture, resize)


# -- parts -------------------------------------------------------------------------------------------------------------


class Embedding(nn.Module):
    """Sines and cosines of the noise level, wave lengths from 2 pi to 20000 pi, plus a matrix of labels, two layers."""

    frequencies: Tensor

    def __init__(self, width: int, length: int, labels: int):
        super().__init__()
        frequencies = 10_000 ** -torch.linspace(0, 1, width // 2)
        self.register_buffer("frequencies", frequencies, persistent=False)
        self.labels = labels
        self.label = nn.Linear(labels, width, bias=False) if labels else None
        self.first, self.second = nn.Linear(width, length), nn.Linear(length, length)

    def forward(self, noise: Tensor, label: Tensor | None) -> Tensor:
        angles = noise[:, None] * self.frequencies.to(noise.dtype)
        e = torch.cat([angles.sin(), angles.cos()], 1)  # (B or 1, width)
        if self.label is not None:
            if label is None or label.shape[-1] != self.labels:
                got = None if label is None else tuple(label.shape)
                raise ValueError(f"label: expected (B, {self.labels}), got {got}")
            e = e + self.label(label * math.sqrt(self.labels))
        return silu(self.second(silu(self.first(e))))


class Stem(nn.Module):
    """A convolution of x; an extra field has two layers of its own, and a third joins both."""

    def __init__(self, inputs: int, extra: int, architecture: Architecture):
        super().__init__()
        width = architecture.width
        self.x = convolution(inputs, width, 3, architecture)
        self.extra = self.join = None
        if extra:
            first, second = (convolution(n, width, k, architecture) for n, k in ((extra, 1), (width, 3)))
            self.extra = nn.Sequential(first, nn.GELU(), second)
            self.join = convolution(2 * width, width, 1, architecture)

    def forward(self, x: Tensor, extra: Tensor | None) -> Tensor:
        if (extra is None) != (self.extra is None):
            raise ValueError(f"extra: expected {'a field' if self.extra else 'None'}, got {type(extra).__name__}")
        h = self.x(x)
        return h if self.extra is None or self.join is None else self.join(torch.cat([h, self.extra(extra)], 1))


class Block(nn.Module):
    """The residual block of the equations above; `resize` halves or doubles the grid before its first convolution."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        architecture: Architecture,
        resize: Resize | None = None,
        attention: nn.Module | None = None,
    ):
        super().__init__()
        a = architecture
        self.resize: Resize | None = resize
        self.modulate = a.modulate
        self.rescale = math.sqrt(0.5) if a.rescale else 1.0
        self.norm_0, self.norm_1 = normalisation(inputs, a), normalisation(outputs, a)
        self.conv_0 = convolution(inputs, outputs, 3, a)
        self.conv_1 = convolution(outputs, outputs, 3, a, scale=NEARLY_ZERO)
        length = a.width * a.embedding
        self.shift = nn.Linear(length, outputs * (2 if a.modulate else 1)) if length else None
        self.skip = convolution(inputs, outputs, 1, a) if resize or inputs != outputs else None
        self.dropout, self.attention = nn.Dropout(a.dropout), attention

    def forward(self, x: Tensor, e: Tensor | None, context: Any = None) -> Tensor:
        h = self.conv_0(_resize(silu(self.norm_0(x)), self.resize))
        h = silu(self._condition(h, e))
        h = self.conv_1(self.dropout(h))
        x = _resize(x, self.resize)
        x = ((x if self.skip is None else self.skip(x)) + h) * self.rescale
        return x if self.attention is None else (x + self.attention(x, context)) * self.rescale

    def _condition(self, h: Tensor, e: Tensor | None) -> Tensor:
        if self.shift is None:
            return self.norm_1(h)
        shift = self.shift(e)[:, :, None, None]
        if not self.modulate:
            return self.norm_1(h + shift)
        scale, shift = shift.chunk(2, 1)
        return self.norm_1(h) * (1 + scale) + shift


class Resampling(nn.Module):
    """A strided convolution, padded behind, or copied cells and a convolution."""

    def __init__(self, channels: int, architecture: Architecture, resize: Resize):
        super().__init__()
        self.resize, self.mode = resize, "circular" if architecture.padding == "circular" else "constant"
        self.conv = convolution(channels, channels, 3, architecture, stride=2 if resize == "down" else 1)

    def forward(self, x: Tensor, e: Tensor | None, context: Any = None) -> Tensor:
        if self.resize == "down":
            return self.conv(pad(x, (0, 1, 0, 1), mode=self.mode))
        return self.conv(_resize(x, "up"))


class SelfAttention(nn.Module):
    """Of all cells with each other, one head: softmax(q k^T / sqrt C) v."""

    def __init__(self, channels: int, architecture: Architecture):
        super().__init__()
        self.norm = normalisation(channels, architecture)
        self.qkv = convolution(channels, 3 * channels, 1, architecture, scale=math.sqrt(0.2))
        self.out = convolution(channels, channels, 1, architecture, scale=NEARLY_ZERO)

    def forward(self, x: Tensor, context: Any = None) -> Tensor:
        qkv = self.qkv(self.norm(x)).flatten(2).transpose(1, 2)  # (B, H W, 3 C)
        q, k, v = (part[:, None] for part in qkv.chunk(3, 2))  # (B, 1, H W, C)
        h = scaled_dot_product_attention(q, k, v)[:, 0]
        return self.out(h.transpose(1, 2).reshape(x.shape))


def normalisation(channels: int, architecture: Architecture) -> nn.GroupNorm:
    at_most = max(1, min(architecture.groups, channels // 4))
    groups = next(n for n in range(at_most, 0, -1) if channels % n == 0)
    return nn.GroupNorm(groups, channels, eps=1e-6)


def convolution(
    inputs: int, outputs: int, kernel: int, architecture: Architecture, scale: float = 1.0, stride: int = 1
) -> nn.Conv2d:
    """Glorot-uniform weights times `scale`, no initial bias. With a stride the caller pads."""
    padding = kernel // 2 if stride == 1 else 0
    mode = architecture.padding if padding else "zeros"
    conv = nn.Conv2d(inputs, outputs, kernel, stride, padding, padding_mode=mode)
    nn.init.xavier_uniform_(conv.weight, gain=scale)
    nn.init.zeros_(conv.bias)  # pyright: ignore[reportArgumentType]
    return conv


def _resize(x: Tensor, resize: Resize | None) -> Tensor:
    if resize is None:
        return x
    return avg_pool2d(x, 2) if resize == "down" else interpolate(x, scale_factor=2.0, mode="nearest")
