"""Many small networks of one shape: deepxde's FNN, its weights stacked over instances, evaluated on jets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from methods.blocks.networks.deepxde import fnn
from methods.pinn.jets import Axes, tanh


def start(sizes: Sequence[int], count: int, seed: int) -> Tensor:
    """The weights of `count` networks (B, P), all alike: an instance must not depend on its place in a batch."""
    layers = [layer for layer in fnn(sizes, "tanh", seed).modules() if isinstance(layer, nn.Linear)]
    nn.init.zeros_(layers[-1].weight)  # the answer starts from what is known: a frame stands still
    parts = [torch.cat([layer.weight.detach().T.flatten(), layer.bias.detach()]) for layer in layers]
    return torch.cat(parts).repeat(count, 1)


def evaluate(weights: Tensor, sizes: Sequence[int], features: Tensor, axes: Axes) -> Tensor:
    """Jets of the inputs (B or 1, D, N, F) -> jets of the outputs (B, D, N, K)."""
    b, (_, d, n, _) = len(weights), features.shape
    layers = _layers(weights, sizes)
    h = features.expand(b, -1, -1, -1)
    for matrix, bias in layers[:-1]:
        z = torch.bmm(h.reshape(b, d * n, -1), matrix)
        h = tanh(z.view(b, d, n, -1), bias, axes)
    matrix, bias = layers[-1]
    z = torch.bmm(h.reshape(b, d * n, -1), matrix).view(b, d, n, -1)
    return torch.cat([z[:, :1] + bias[:, None, None], z[:, 1:]], dim=1)


def _layers(weights: Tensor, sizes: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    """Flat weights (B, P) as matrices (B, in, out) and biases (B, out)."""
    shapes = list(pairwise(sizes))
    parts = weights.split([n for a, b in shapes for n in (a * b, b)], dim=1)
    return [(w.view(-1, *shape), b) for w, b, shape in zip(parts[::2], parts[1::2], shapes, strict=True)]
