"""Ablation, rung A: a plain video DiT whose input mixes noise and observations, x (1 - m) + y m.

    D(x, sigma; m, y) = c_skip x' + c_out F(c_in x (1 - m) + y m, c_noise),    x' = x (1 - m) + y m

An observed pixel enters without noise and without the factor c_in, so it can be read at every noise level; nothing
tells it from a noisy one.
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmark.core import Problem
from methods.ablations.concat import Concat
from methods.ablations.dit import DiT
from methods.blocks.diffusion.edm import Denoiser
from methods.blocks.networks.tiles import Triple
from methods.videopde.method import VideoPDE


class Mixed(Concat):
    """One model for one task of a dataset."""

    def given(self, problem: Problem) -> Tensor:
        """m, y and the coefficient fields, (B, T, H, W, 2 C + Cs); m only says where y goes."""
        return VideoPDE.given(self, problem)

    def _network(self, channels: int, static: int, video: Triple | None = None) -> DiT:
        return MixedDiT(channels, static, self._fitted(video))

    def _denoiser(self) -> Denoiser:
        return MixedDenoiser(self.net_, self.settings.edm.sigma_data)


class MixedDenoiser(Denoiser):
    def forward(self, x: Tensor, sigma: Tensor, *condition: Tensor | None) -> Tensor:
        (given,) = condition
        assert given is not None
        return super().forward(mixed(x, given), sigma, given)


class MixedDiT(DiT):
    """Beside the mixed video only the coefficient fields are channels."""

    def forward(self, x: Tensor, c_noise: Tensor, given: Tensor) -> Tensor:
        return super().forward(mixed(x, given), c_noise, given[..., 2 * x.shape[-1] :])


def mixed(x: Tensor, given: Tensor) -> Tensor:
    """x (1 - m) + y m; `given` starts with the channels of m and y."""
    channels = x.shape[-1]
    m, y = given[..., :channels], given[..., channels : 2 * channels]
    return torch.where(m > 0, y.to(x.dtype), x)
