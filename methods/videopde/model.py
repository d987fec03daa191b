"""HV-DiT: the hierarchical video diffusion transformer, F(c_in x_t, m, y; sigma) in the pixels of the video.

    video -> patches -> [neighbourhood layers -> merge 2 x 2 x 2] -> global layers
                              | skip                                      |
    video <- patches <- [neighbourhood layers <- split 2 x 2 x 2] <-------+

What the paper does not print follows its ancestor HDiT (Crowson et al., 2024), lifted to three dimensions; the paper's
parameter counts confirm it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from methods.blocks.networks.tables import Triple
from methods.videopde.layers import Level, Mapping, Merge, Split, linear, merge, rms_norm, split


@dataclass(frozen=True)
class Architecture:
    """Defaults: the paper's table "Training and inference hyperparameters", column "Ours". Triples are T x H x W."""

    patch: Triple = (2, 4, 4)
    widths: tuple[int, ...] = (384, 768)  # of the neighbourhood levels, then of the global one
    depths: tuple[int, ...] = (2, 11)  # a neighbourhood level has as many layers on its way down as on its way up
    kernel: Triple = (2, 7, 7)
    head_dim: int = 64
    mapping_width: int = 768
    mapping_depth: int = 1
    expansion: int = 3  # of the feed-forward maps; not printed, fits the parameter count
    merges: tuple[Triple, ...] = ((2, 2, 2),)  # between the levels; not printed for time, fits the parameter count

    def __post_init__(self) -> None:
        if not len(self.widths) == len(self.depths) == len(self.merges) + 1:
            raise ValueError(
                f"architecture: expected as many widths as depths and one merge less, got {self.widths}, {self.depths} "
                f"and {self.merges}"
            )
        if self.head_dim % 8 or any(width % self.head_dim for width in self.widths):
            raise ValueError(f"head_dim: expected a multiple of 8 that divides {self.widths}, got {self.head_dim}")

    def for_video(self, frames: int, height: int, width: int) -> Architecture:
        """The same for videos of one shape: patches no larger than the video, odd token counts are not merged.

        2 frames are one token in time, 5 frames 3 (padded to 6), 10 frames 5: none of them is merged in time.
        """
        shape = (frames, height, width)
        t, h, w = (min(p, n) for p, n in zip(self.patch, shape, strict=True))
        tokens = [math.ceil(n / p) for n, p in zip(shape, (t, h, w), strict=True)]
        merges = []
        for block in self.merges:
            fit = [m if n % m == 0 else 1 for n, m in zip(tokens, block, strict=True)]
            tokens = [n // m for n, m in zip(tokens, fit, strict=True)]
            merges.append((fit[0], fit[1], fit[2]))
        return replace(self, patch=(t, h, w), merges=tuple(merges))

    @property
    def stride(self) -> Triple:
        """Videos are padded to multiples of this."""
        t, h, w = (math.prod(axis) for axis in zip(self.patch, *self.merges, strict=True))
        return t, h, w


UNIFIED = Architecture(depths=(2, 6), kernel=(2, 4, 4))  # the same table, column "Ours (Unified)"


class HVDiT(nn.Module):
    """F(x, c_noise, known): x is the noisy video c_in x_t, `known` what is known of it, the channels of m and y.

    What depends on the noise level alone is `condition`, on the observations alone `observe`, the rest is `network`. A
    sampler calls `observe` once a problem and `condition` once a noise level, or once for all of them.
    """

    def __init__(self, channels: int, known: int, architecture: Architecture):
        super().__init__()
        a = self.architecture = architecture
        self.channels = channels, known
        self.columns = math.prod(a.patch) * channels  # columns of patch_in that read x
        levels = list(zip(a.widths, a.depths, strict=True))
        patch = math.prod(a.patch)
        self.patch_in = linear(patch * (channels + known), a.widths[0])
        self.down = nn.ModuleList(self._level(w, d, a.kernel) for w, d in levels[:-1])
        self.merges = nn.ModuleList(map(Merge, a.widths, a.widths[1:], a.merges))
        self.middle = self._level(*levels[-1], kernel=None)
        self.splits = nn.ModuleList(reversed(list(map(Split, a.widths[1:], a.widths, a.merges))))
        self.up = nn.ModuleList(self._level(w, d, a.kernel) for w, d in reversed(levels[:-1]))
        self.norm = nn.Parameter(torch.ones(a.widths[0]))
        self.patch_out = linear(a.widths[0], patch * channels, zero=True)
        down = [w for w, d in levels[:-1] for _ in range(2 * d)]
        self.gains = [*down, *[a.widths[-1]] * (2 * a.depths[-1]), *reversed(down)]  # widths, two a layer
        self.mapping = Mapping(a.mapping_width, a.mapping_depth, a.expansion * a.mapping_width, sum(self.gains))

    def _level(self, width: int, depth: int, kernel: Triple | None) -> Level:
        return Level(depth, width, self.architecture.head_dim, self.architecture.expansion * width, kernel)

    def forward(self, x: Tensor, c_noise: Tensor, known: Tensor) -> Tensor:
        """x (B, T, H, W, C), c_noise (B,) or (1,) for all, known (B, T, H, W, G) -> (B, T, H, W, C)."""
        return self.network(x, self.observe(known), self.condition(c_noise))

    def condition(self, c_noise: Tensor) -> Tensor:
        """Noise levels ln(sigma) / 4 (N,) -> the gains (N, sum of widths) of every AdaRMSNorm."""
        return self.mapping(c_noise)

    def observe(self, known: Tensor) -> Tensor:
        """The channels of m and y (B, T, H, W, G) -> what they add to the tokens; nothing is known of the padding."""
        if known.ndim != 5 or known.shape[-1] != self.channels[1]:
            raise ValueError(f"known: expected (B, T, H, W, {self.channels[1]}), got {tuple(known.shape)}")
        t, h, w = _missing(known, self.architecture.stride)
        padded = F.pad(known, (0, 0, 0, w, 0, h, 0, t))
        return F.linear(merge(padded, self.architecture.patch), self.patch_in.weight[:, self.columns :]).to(known.dtype)

    def network(self, x: Tensor, known: Tensor, gains: Tensor) -> Tensor:
        """`known` of `observe`, `gains` of `condition`: of each video, or one for all; any T, H and W."""
        if x.ndim != 5 or x.shape[-1] != self.channels[0]:
            raise ValueError(f"x: expected (B, T, H, W, {self.channels[0]}), got {tuple(x.shape)}")
        if len(gains) not in (1, len(x)):
            raise ValueError(f"c_noise: expected one noise level or {len(x)}, got {len(gains)}")
        patches = merge(_repeat_end(x, self.architecture.stride), self.architecture.patch)
        tokens = known + F.linear(patches, self.patch_in.weight[:, : self.columns])  # full precision, as all residuals
        tokens = self._transform(tokens, gains[:, None, None, None].split(self.gains, dim=-1))
        out = split(self.patch_out(rms_norm(tokens, self.norm)), self.architecture.patch)
        _, t, h, w, _ = x.shape
        return out[:, :t, :h, :w].to(x.dtype)

    def _transform(self, x: Tensor, gains: tuple[Tensor, ...]) -> Tensor:
        pairs = iter(zip(gains[::2], gains[1::2], strict=True))
        skips = []
        for level, merging in zip(self.down, self.merges, strict=True):
            x = level(x, pairs)
            skips.append(x)
            x = merging(x).to(x.dtype)
        x = self.middle(x, pairs)
        for level, splitting in zip(self.up, self.splits, strict=True):
            x = level(splitting(x, skips.pop()), pairs)
        return x


def _missing(x: Tensor, stride: Triple) -> Triple:
    """How many frames, rows and columns the video lacks to a multiple of the stride."""
    t, h, w = (-n % s for n, s in zip(x.shape[1:4], stride, strict=True))
    return t, h, w


def _repeat_end(x: Tensor, stride: Triple) -> Tensor:
    """Pad by repeating the last frame, row and column."""
    for axis, count in enumerate(_missing(x, stride), start=1):
        if count:
            end = x.narrow(axis, x.shape[axis] - 1, 1)
            x = torch.cat([x, end.expand(*(count if i == axis else -1 for i in range(x.ndim)))], dim=axis)
    return x
