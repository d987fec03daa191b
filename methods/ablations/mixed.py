"""Ablation, rung A: a plain video DiT whose input mixes noise and observations, x (1 - m) + y m.

    D(x, sigma; m, y) = c_skip x' + c_out F(c_in x (1 - m) + y m, c_noise),    x' = x (1 - m) + y m

An observed pixel enters without noise and without the factor c_in, so it can be read at every noise level; nothing
tells it from a noisy one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from methods.ablations.concat import SOURCE, Concat, conditioned
from methods.ablations.dit import DiT
from methods.blocks.conditioning import Shape
from methods.blocks.diffusion.edm import Denoise, Denoiser
from methods.videopde.method import VideoPDE


class Mixed(VideoPDE):
    """One model for one task of a dataset; the mask only says where y goes."""

    source = SOURCE
    profiles = Concat.profiles

    def network(self, shape: Shape) -> DiT:
        return MixedDiT(shape.channels, shape.fields, self.settings.architecture.for_video(*shape.video))

    def model(self) -> Denoiser:
        return MixedDenoiser(self.net_, self.settings.edm)

    def denoiser(self, known: Tensor) -> Denoise:
        return conditioned(self.model(), known)


class MixedDenoiser(Denoiser):
    def forward(self, x: Tensor, sigma: Tensor, *condition: Tensor | None) -> Tensor:
        (known,) = condition
        assert known is not None
        return super().forward(mixed(x, known), sigma, known)


class MixedDiT(DiT):
    """Beside the mixed video only the coefficient fields are channels."""

    def forward(self, x: Tensor, c_noise: Tensor, known: Tensor) -> Tensor:
        return super().forward(mixed(x, known), c_noise, known[..., 2 * x.shape[-1] :])


def mixed(x: Tensor, known: Tensor) -> Tensor:
    """x (1 - m) + y m; `known` starts with the channels of m and y."""
    channels = x.shape[-1]
    m, y = known[..., :channels], known[..., channels : 2 * channels]
    return torch.where(m > 0, y.to(x.dtype), x)
