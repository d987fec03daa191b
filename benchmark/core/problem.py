"""What a method sees, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import torch
from torch import Tensor

from benchmark.core.grid import Grid, check_static, check_video
from benchmark.core.transfer import to_device

if TYPE_CHECKING:
    from benchmark.core.equation import Equation

# How a model of T frames covers a longer video: each window starts from the last frame of the one before.
# drop: that repeated frame is dropped, T - 1 new frames per window; keep: it counts as a new frame.
RollOut = Literal["drop", "keep"]


@dataclass(frozen=True)
class Problem:
    """All a method may see at test time; the truth stays with the runner."""

    values: Tensor  # (B, T, H, W, C), zero where unseen
    mask: Tensor  # (B, T, H, W, C) bool, True where seen
    grid: Grid
    equation: Equation
    static: Tensor | None = None  # (B, H, W, Cs)
    noise: float = 0.0  # of the sensors: standard deviation over that of the observed values
    roll_out: RollOut = "drop"

    def __post_init__(self) -> None:
        check_video("values", self.values, self.grid)
        check_static(self.static, len(self.values), self.grid)
        if self.mask.shape != self.values.shape or self.mask.dtype != torch.bool:
            raise ValueError(
                f"mask: expected bool {tuple(self.values.shape)}, got {self.mask.dtype} {tuple(self.mask.shape)}"
            )
        if self.roll_out not in get_args(RollOut):
            raise ValueError(f"roll_out: expected {' or '.join(get_args(RollOut))}, got {self.roll_out!r}")

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: slice | Tensor) -> Problem:
        static = None if self.static is None else self.static[index]
        return replace(self, values=self.values[index], mask=self.mask[index], static=static)

    def to(self, device: Any) -> Problem:
        static = None if self.static is None else to_device(self.static, device)
        values, mask = to_device(self.values, device), to_device(self.mask, device)
        return replace(self, values=values, mask=mask, static=static)


@dataclass(frozen=True)
class Prediction:
    """S samples of the whole video. A method that predicts only some frames names them; only those are scored.

    `point` is for methods that know more than their samples show, such as the mean of the law they draw from.
    """

    u: Tensor  # (S, B, T, H, W, C)
    frames: tuple[int, ...] | None = None  # None: all of them
    evaluations: float | None = None  # network (or solver) evaluations spent on a sample of a trajectory
    point: Tensor | None = None  # (B, T, H, W, C), the answer where one is asked for; None: the first sample
    diagnostics: Mapping[str, Sequence[float]] | None = None  # how an iteration went: a number per trajectory each

    def __post_init__(self) -> None:
        if self.u.ndim != 6:
            raise ValueError(f"prediction: expected (S, B, T, H, W, C), got {tuple(self.u.shape)}")
        if self.point is not None and self.point.shape != self.u.shape[1:]:
            raise ValueError(f"point: expected {tuple(self.u.shape[1:])}, got {tuple(self.point.shape)}")
