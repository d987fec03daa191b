"""The Gaussian law of a video's first frame, as a function of white noise.

    first = m + (1 - w)^(1/2) X_0^T z + w^(1/2) S_00^(1/2) v,    x = (z, v) white,

with the first-frame columns X_0 of the training videos and the structured covariance S_00.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from methods.blocks.gaussian.bases import Basis
from methods.blocks.gaussian.samples import Blend
from methods.blocks.lbfgs import minimise


@dataclass(frozen=True)
class FirstFrame:
    mean: Tensor  # (H, W)
    samples: Tensor  # (N, H W), times (1 - w)^(1/2)
    basis: Basis
    root: Tensor  # (1, 1, modes)
    scale: Tensor  # (H, W), times w^(1/2)

    @classmethod
    def of(cls, law: Blend, weight: float) -> FirstFrame:
        """The law with another weight of its structured part, which is the only one that reaches every frame."""
        prior, (mean, anomalies) = law.structured, law.samples
        samples = (1 - weight) ** 0.5 * anomalies[: 0 if weight == 1 else None, : mean[0].numel()].double()
        root = prior.spectrum[:1, :1].clamp(min=0).sqrt()
        middle = (1 - weight) * mean[0].double() + weight * prior.mean[0]
        return cls(middle, samples, prior.basis, root, weight**0.5 * prior.scale[0])

    def frame(self, x: Tensor) -> Tensor:
        """(B, N + H W) -> (B, H, W)."""
        z, v = x.split([len(self.samples), self.mean.numel()], dim=1)
        structured = self.basis.operate(self.root, v.view(-1, 1, *self.mean.shape))[:, 0]
        return self.mean + (z @ self.samples).view_as(structured) + self.scale * structured

    def adjoint(self, f: Tensor) -> Tensor:
        """The transpose of the linear part of `frame`: (B, H, W) -> (B, N + H W)."""
        structured = self.basis.operate(self.root, (self.scale * f)[:, None]).flatten(1)
        return torch.cat([f.flatten(1) @ self.samples.T, structured], dim=1)

    def noise_of(self, f: Tensor, misfit: float = 0.03) -> Tensor:
        """White noise (B, N + H W) that gives frames f (B, H, W), up to `misfit` of their spread."""
        sigma = misfit * (f - self.mean).square().mean((1, 2)).sqrt().clamp(min=1e-30)

        def objective(x: Tensor) -> Tensor:
            miss = (self.frame(x) - f) / sigma[:, None, None]
            return (x.square().sum(1) + miss.square().sum((1, 2))) / 2

        size = len(self.samples) + self.mean.numel()
        return minimise(objective, f.new_zeros(len(f), size), iterations=60).x
