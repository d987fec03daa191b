"""Where values sit in space and time, and the shapes that follow from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor

Boundary = Literal["periodic", "absorbing", "dirichlet"]


@dataclass(frozen=True)
class Grid:
    """Where the values sit. The boundary fixes the points of an axis of length L with N of them:

    periodic   x_i = i L / N           the end point is the start point
    absorbing  x_i = (i + 1/2) L / N   cell centres
    dirichlet  x_i = i L / (N - 1)     both end points are on the grid, and zero
    """

    shape: tuple[int, int]  # (H, W)
    lengths: tuple[float, float]
    times: tuple[float, ...]  # (T,); a steady problem's "frames" are its fields, at times 0 and 1
    boundary: Boundary

    def __post_init__(self) -> None:
        if len(self.times) < 2 or any(b <= a for a, b in zip(self.times, self.times[1:], strict=False)):
            raise ValueError(f"grid.times: expected two or more increasing times, got {self.times}")

    @property
    def spacing(self) -> tuple[float, float]:
        cells = (n - 1 if self.boundary == "dirichlet" else n for n in self.shape)
        hx, hy = (length / n for length, n in zip(self.lengths, cells, strict=True))
        return hx, hy

    @property
    def dt(self) -> float:
        """The frame spacing (frames are uniform in time)."""
        return (self.times[-1] - self.times[0]) / (len(self.times) - 1)

    def axes(self, dtype: torch.dtype = torch.float32, device: Any = None) -> tuple[Tensor, Tensor]:
        """Coordinates x (H, 1) and y (1, W), ready to broadcast."""
        offset = 0.5 if self.boundary == "absorbing" else 0.0
        x, y = (
            ((torch.arange(n, dtype=torch.float64) + offset) * h).to(dtype=dtype, device=device)
            for n, h in zip(self.shape, self.spacing, strict=True)
        )
        return x[:, None], y[None, :]

    def first(self, frames: int) -> Grid:
        """The same grid with its first `frames` frames."""
        if not 2 <= frames <= len(self.times):
            raise ValueError(f"grid: cannot take {frames} frames out of {len(self.times)}")
        return replace(self, times=self.times[:frames])


def check_video(name: str, value: Tensor, grid: Grid) -> None:
    expected = ("B", len(grid.times), *grid.shape, "C")
    if value.ndim != 5 or tuple(value.shape[1:4]) != expected[1:4]:
        raise ValueError(f"{name}: expected {expected}, got {tuple(value.shape)}")


def check_static(static: Tensor | None, batch: int, grid: Grid) -> None:
    if static is not None and (static.ndim != 4 or tuple(static.shape[:3]) != (batch, *grid.shape)):
        raise ValueError(f"static: expected ({batch}, {grid.shape[0]}, {grid.shape[1]}, C), got {tuple(static.shape)}")
