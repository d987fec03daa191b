"""Fields as one byte a value, so that a page of many videos stays small.

    plain    low + level * (high - low) / 255              truth and readings, on the range of their own
    signed   (level - 128) * scale / 127                   prediction - truth, on a scale of its own

The error has a scale of its own because it may be a hundredth of the field: the difference of two rounded fields would
be rounding. The page adds it to the truth to show the prediction. Each plane is stored as differences to the left and
to the upper neighbour (modulo 256), which halves what deflate makes of it.

A group is what shares one scale: a channel; of a steady problem a channel of a frame, as its fields differ in unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Size:
    """How much of a video the page has: so many frames at most, and points along a side."""

    frames: int
    points: int

    def picked(self, count: int) -> list[int]:
        """Frames, evenly, with the first and the last."""
        return sorted({round(i) for i in np.linspace(0, count - 1, min(count, self.frames))})

    def stride(self, shape: tuple[int, ...]) -> int:
        """Of points of (H, W): blocks of so many by so many become one."""
        return max(1, -(-max(shape) // self.points))


def planes(video: np.ndarray, size: Size) -> np.ndarray:
    """(T, H, W, C) -> (C, t, h, w): the frames that are kept, means over blocks."""
    return np.moveaxis(_blocks(video, size).mean((2, 4)), -1, 0)


def any_plane(mask: np.ndarray, size: Size, step: int = 1) -> np.ndarray:
    """Where a block has a sensor. `step`: of the fields, where they have a point for so many by so many sites."""
    return np.moveaxis(np.any(_blocks(mask, size, step), (2, 4)), -1, 0)


def seen_planes(values: np.ndarray, mask: np.ndarray, size: Size, step: int = 1) -> np.ndarray:
    """What the sensors of a block say, on average; 0 where there is none."""
    count = _blocks(mask, size, step).sum((2, 4))
    return np.moveaxis(_blocks(np.where(mask, values, 0), size, step).sum((2, 4)) / np.maximum(count, 1), -1, 0)


def _blocks(video: np.ndarray, size: Size, step: int = 1) -> np.ndarray:
    """(t, h, stride, w, stride, C); what does not fill a block is left out."""
    stride = step * size.stride((video.shape[1] // step, video.shape[2] // step))
    t, h, w, c = len(size.picked(len(video))), video.shape[1] // stride, video.shape[2] // stride, video.shape[3]
    return video[size.picked(len(video)), : h * stride, : w * stride].reshape(t, h, stride, w, stride, c)


def plain_levels(field: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """`low`, `high`: of each group, in a shape that spreads over the field."""
    span = np.where(high > low, high - low, 1.0)
    return np.rint(np.clip((field - low) / span, 0, 1) * 255).astype(np.uint8)


def signed_levels(field: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return (np.rint(np.clip(field / np.where(scale > 0, scale, 1.0), -1, 1) * 127) + 128).astype(np.uint8)


def filtered(levels: np.ndarray) -> bytes:
    """Differences to the left, then to the upper neighbour; the inverse is two running sums."""
    out = levels.copy()
    out[..., 1:] -= levels[..., :-1]
    rows = out.copy()
    rows[..., 1:, :] -= out[..., :-1, :]
    return rows.tobytes()
