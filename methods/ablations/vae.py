"""A convolutional VAE of videos: blocks of pixels become a few latent channels.

    z ~ N(mean(x), std(x)^2),    loss = |decode(z) - x|^2 + kl KL(N(mean, std^2) | N(0, 1))

A linear map of each block, residual 3 x 3 x 3 convolutions on the grid of blocks, a linear map to mean and variance;
the decoder mirrors it. Residual branches end in zeros, so training starts from a linear autoencoder.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from methods.ablations.dit import pad_end
from methods.blocks.networks.tables import Triple
from methods.videopde.layers import merge, split


@dataclass(frozen=True)
class Vae:
    """The paper describes its VAE by the words "task-specific" alone."""

    latents: int = 4  # channels of z, of each block of pixels
    width: int = 512
    layers: int = 4  # residual ones, in the encoder and in the decoder
    kl: float = 1e-6
    lr: float = 5e-4


class VideoVae(nn.Module):
    """For videos of one shape, cut into `block`s."""

    def __init__(self, channels: int, video: Triple, block: Triple, settings: Vae):
        super().__init__()
        self.video, self.block, self.settings = video, block, settings
        pixels, width = math.prod(block) * channels, settings.width
        self.read = nn.Linear(pixels, width)
        self.encoder = nn.Sequential(*(Residual(width) for _ in range(settings.layers)))
        self.moments = nn.Linear(width, 2 * settings.latents)
        self.start = nn.Linear(settings.latents, width)
        self.decoder = nn.Sequential(*(Residual(width) for _ in range(settings.layers)))
        self.write = nn.Linear(width, pixels)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Of z, without the batch: (T', H', W', latents)."""
        t, h, w = (math.ceil(n / size) for n, size in zip(self.video, self.block, strict=True))
        return t, h, w, self.settings.latents

    def forward(self, x: Tensor, noise: Tensor) -> Tensor:
        """The loss of each video (B,), for z = mean + std noise."""
        mean, log_variance = self.encode(x)
        error = self.decode(mean + (0.5 * log_variance).exp() * noise) - x
        kl = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance)
        return error.square().flatten(1).mean(1) + self.settings.kl * kl.flatten(1).mean(1)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T, H, W, C) -> mean and log variance of z, (B, T', H', W', latents) each."""
        hidden = self.encoder(self.read(merge(pad_end(x, self.block), self.block)))
        mean, log_variance = self.moments(hidden).float().chunk(2, dim=-1)
        return mean, log_variance.clamp(-30, 20)

    def decode(self, z: Tensor) -> Tensor:
        t, h, w = self.video
        blocks = self.write(self.decoder(self.start(z))).float()
        return split(blocks, self.block)[:, :t, :h, :w]


class Residual(nn.Module):
    """x + a convolution over neighbouring blocks, in a quarter of the width (He et al. 2016); channels last."""

    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.narrow = nn.Linear(width, width // 4)
        self.conv = nn.Conv3d(width // 4, width // 4, 3, padding=1)
        self.widen = nn.Linear(width // 4, width)
        nn.init.zeros_(self.widen.weight)

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.silu(self.narrow(self.norm(x))).movedim(-1, 1)
        return x + self.widen(F.silu(self.conv(hidden)).movedim(1, -1))
