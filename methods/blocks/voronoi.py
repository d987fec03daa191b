"""Nearest-sensor fill on a grid, exact, for any number of sensors at once, and nearest observed frame in time.

The squared distance splits into axes, so the nearest sensor of a site is found row by row and then across rows:

    g(i', j) = min_j' |y_j - y_j'|^2 over the sensors of row i',   d(i, j) = min_i' |x_i - x_i'|^2 + g(i', j)
"""

from __future__ import annotations

import torch
from torch import Tensor

from benchmark.core import Grid


def nearest_sensor(mask: Tensor, grid: Grid) -> Tensor:
    """The flat index of the sensor nearest to each site: masks (N, H, W) -> (N, H, W) long.

    Distances go around the torus where the grid is periodic. A mask without sensors has no answer and is refused.
    """
    if not mask.flatten(1).any(1).all():
        raise ValueError("mask: expected one sensor or more in each, got an empty one")
    if mask.all():
        return torch.arange(mask[0].numel(), device=mask.device).view_as(mask[0]).expand(mask.shape)
    x2, y2 = (_squared_distances(grid, axis, mask.device) for axis in (0, 1))  # (H, H), (W, W)
    far = torch.where(mask, 0.0, torch.inf)  # (N, H, W')
    row, column = (far[:, :, None, :] + y2).min(-1)  # (N, H', W): the best of each row, and where
    best = (row[:, None] + x2[None, :, :, None]).argmin(2)  # (N, H, W): which row
    return best * mask.shape[2] + column.gather(1, best)


def fill(values: Tensor, mask: Tensor, grid: Grid, chunk: int = 16) -> Tensor:
    """Each frame (N, H, W) with each site set to its nearest sensor's value; equal neighbours share the search."""
    changes = (mask[1:] != mask[:-1]).flatten(1).any(1)  # (N-1,)
    first = torch.cat([changes.new_ones(1), changes])  # where a new mask begins
    nearest = torch.cat([nearest_sensor(m, grid).flatten(1) for m in mask[first].split(chunk)])
    which = first.cumsum(0) - 1  # (N,) the mask each frame has
    filled = [v.flatten(1).gather(1, nearest[w]) for v, w in zip(values.split(chunk), which.split(chunk), strict=True)]
    return torch.cat(filled).view_as(values)


def fill_frames(values: Tensor, mask: Tensor, grid: Grid) -> Tensor:
    """(B, T, C, H, W) with each site set to its nearest sensor's value; a frame without sensors stays zero."""
    v, m = values.flatten(0, 2), mask.flatten(0, 2)
    seen = m.flatten(1).any(1)
    if not seen.any():
        return values
    filled = torch.zeros_like(v)
    filled[seen] = fill(v[seen], m[seen], grid)
    return filled.view_as(values)


def fill_video(values: Tensor, mask: Tensor, grid: Grid) -> Tensor:
    """The same, and a frame without sensors is the filled frame nearest in time, the earlier of two."""
    frames = fill_frames(values, mask, grid)
    nearest = _nearest_frame(mask.flatten(3).any(-1))  # (B, T, C)
    return frames.gather(1, nearest[..., None, None].expand_as(frames))


def _nearest_frame(seen: Tensor) -> Tensor:
    """(B, T, C) bool -> (B, T, C) long."""
    t = torch.arange(seen.shape[1], device=seen.device)
    distance = (t[:, None] - t).abs().float()  # (T, T')
    far = torch.where(seen, 0.0, torch.inf)  # (B, T', C)
    return (distance[None, :, :, None] + far[:, None]).argmin(2)


def _squared_distances(grid: Grid, axis: int, device: torch.device) -> Tensor:
    n, h = grid.shape[axis], grid.spacing[axis]
    i = torch.arange(n, device=device)
    steps = (i[:, None] - i).abs()
    if grid.boundary == "periodic":
        steps = torch.minimum(steps, n - steps)
    return (steps * h).square()
