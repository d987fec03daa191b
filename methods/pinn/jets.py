"""Derivatives carried forward through a network: a jet holds a value and its derivatives at N points.

    axes ("", "t", "x", "y", "xx", "yy"):    u, u_t, u_x, u_y, u_xx, u_yy    along one axis of a tensor

One pass with a few more rows replaces the nested reverse passes of automatic differentiation. First derivatives come
before second ones, and those that have a second derivative come last, so that both are slices.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


@dataclass(frozen=True)
class Axes:
    """Which derivatives a jet holds: all first ones of the coordinates, some pure second ones."""

    first: tuple[str, ...]
    second: tuple[str, ...]  # coordinates; `first` ends with them

    @classmethod
    def of(cls, wanted: Iterable[str]) -> Axes:
        """The least set of axes that holds the wanted derivatives, e.g. {"t", "xx"}."""
        wanted = set(wanted)
        wrong = sorted(w for w in wanted if len(w) > 2 or len(set(w)) > 1 or not set(w) <= set("txy"))
        if wrong:
            raise ValueError(f"jets: expected first and pure second derivatives in t, x and y, got {', '.join(wrong)}")
        second = tuple(c for c in "txy" if 2 * c in wanted)
        first = tuple(c for c in "txy" if c in wanted and c not in second) + second
        return cls(first, second)

    @property
    def names(self) -> tuple[str, ...]:
        return ("", *self.first, *(2 * c for c in self.second))

    def __len__(self) -> int:
        return 1 + len(self.first) + len(self.second)

    @property
    def squares(self) -> slice:
        """The first derivatives whose squares enter the second ones."""
        return slice(1 + len(self.first) - len(self.second), 1 + len(self.first))

    @property
    def seconds(self) -> slice:
        return slice(1 + len(self.first), len(self))

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The rows of a first derivative and of the second one it belongs to."""
        return list(zip(range(*self.squares.indices(len(self))), range(*self.seconds.indices(len(self))), strict=True))

    def product(self, a: Tensor, b: Tensor, dim: int) -> Tensor:
        """The jet of a * b (Leibniz), derivatives along axis `dim` of both."""
        a, b = a.movedim(dim, 0), b.movedim(dim, 0)
        first = a[1 : self.squares.stop] * b[0] + a[0] * b[1 : self.squares.stop]
        p, s = self.squares, self.seconds
        second = a[s] * b[0] + 2 * a[p] * b[p] + a[0] * b[s]
        return torch.cat([a[:1] * b[:1], first, second]).movedim(0, dim)


VALUE = Axes((), ())  # no derivatives


def tanh(z: Tensor, bias: Tensor, axes: Axes) -> Tensor:
    """The jet of tanh(z + bias): z (B, D, N, W), bias (B, W)."""
    return _Tanh.apply(z, bias, axes)


class _Tanh(Function):
    """With s = tanh z:  h_i = s' z_i,  h_ii = s' z_ii + s'' z_i^2.

    s' = 1 - s^2 (slope),  s'' = -2 s s' (curve),  s''' = s' (4 s^2 - 2 s') (bend)
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, bias: Tensor, axes: Axes) -> Tensor:
        s = torch.tanh(z[:, 0] + bias[:, None])  # (B, N, W)
        slope = 1 - s * s
        h = z * slope[:, None]
        h[:, 0] = s
        curve = -2 * s * slope
        for first, second in axes.pairs:
            h[:, second].addcmul_(z[:, first].square(), curve)
        ctx.axes = axes
        ctx.save_for_backward(z, s)
        return h

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]  # the decorator is untyped
        ctx: Any, *gradients: Tensor
    ) -> tuple[Tensor, Tensor, None]:
        (g,), (z, s), axes = gradients, ctx.saved_tensors, ctx.axes
        slope = 1 - s * s
        curve, bend = -2 * s * slope, slope * (4 * s * s - 2 * slope)
        out, pull, turn = g * slope[:, None], torch.zeros_like(s), torch.zeros_like(s)
        for i in range(1, len(axes)):  # row by row: what is held at once stays small
            pull.addcmul_(g[:, i], z[:, i])
        for first, second in axes.pairs:
            tilt = z[:, first] * g[:, second]
            out[:, first].addcmul_(tilt, curve, value=2)
            turn.addcmul_(tilt, z[:, first])
        out[:, 0].addcmul_(curve, pull).addcmul_(bend, turn)
        return out, out[:, 0].sum(1), None
