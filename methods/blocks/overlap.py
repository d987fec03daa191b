"""Videos as overlapping windows of n consecutive frames, one frame apart, and back."""

from __future__ import annotations

import torch
from torch import Tensor


def cut(x: Tensor, frames: int) -> Tensor:
    """All runs of so many frames: (B, T, ...) -> (B, T - n + 1, n, ...)."""
    count = x.shape[1] - frames + 1
    return torch.stack([x[:, i : i + count] for i in range(frames)], 2)


def joined(windows: Tensor) -> Tensor:
    """(B, W, n, ...) -> (B, W + n - 1, ...): each frame from the window whose centre it is.

    With k = n // 2, the first k frames are from the first window and the last ones from the last.
    """
    k = windows.shape[2] // 2
    return torch.cat([windows[:, 0, :k], windows[:, :, k], windows[:, -1, k + 1 :]], 1)
