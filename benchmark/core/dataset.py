"""A PDE with its generator, and how much of it a profile asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor

from benchmark.core.grid import Grid

if TYPE_CHECKING:
    from benchmark.core.equation import Equation

Split = Literal["train", "valid", "test"]


@dataclass(frozen=True)
class Sizes:
    """How much of a dataset a profile asks for."""

    resolution: int
    frames: int
    train: int
    valid: int
    test: int
    long_frames: int | None = None  # frames of the long_range test, where there is one

    def __post_init__(self) -> None:
        if self.resolution % 2 or self.resolution < 8:
            raise ValueError(f"resolution: expected an even number of points, 8 or more, got {self.resolution}")
        if self.frames < 2:
            raise ValueError(f"frames: expected 2 or more, got {self.frames}")


@dataclass(frozen=True)
class Layout:
    """How a split is stored: `runs` of `frames` frames, out of which clips are cut every `stride` frames."""

    runs: int
    frames: int
    stride: int

    def clips(self, clip_frames: int) -> int:
        """Clips of `clip_frames` frames in one run."""
        return (self.frames - clip_frames) // self.stride + 1


class Dataset(ABC):
    """A PDE with its generator. Run i of a split is a pure function of (settings, split, i)."""

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]  # the paper to cite
    profiles: ClassVar[Mapping[str, Any]]  # profile name -> frozen settings dataclass with a `sizes` field
    version: ClassVar[int] = 1  # raise it when a change of the code moves the data
    code: ClassVar[str] = ""  # of a plugin: sha256 of its source, set when it is loaded; edited, it makes data anew
    channels: ClassVar[tuple[str, ...]] = ("u",)
    static_names: ClassVar[tuple[str, ...]] = ()
    layout_settings: ClassVar[tuple[str, ...]] = ()  # settings that say how runs are cut, not what is in them
    frame_names: ClassVar[tuple[str, ...] | None] = None  # the fields of a steady problem, stored as frames

    def __init__(self, settings: Any):
        self.settings = settings

    @property
    def sizes(self) -> Sizes:
        return self.settings.sizes

    @property
    def steady(self) -> bool:
        return self.frame_names is not None

    def layout(self, split: Split) -> Layout:
        """One run per trajectory; test runs are long enough for the long-range task."""
        frames = self.sizes.frames
        if split == "test" and self.sizes.long_frames:
            frames = self.sizes.long_frames
        return Layout(runs=getattr(self.sizes, split), frames=frames, stride=frames)

    @abstractmethod
    def equation(self) -> Equation: ...

    @abstractmethod
    def grid(self, frames: int) -> Grid: ...

    @property
    def tile(self) -> int:
        """Runs solved together: few enough for the processor's cache, even, and fixed by the resolution alone."""
        return max(2, 8 * 64**2 // self.sizes.resolution**2 // 2 * 2)

    def generate(
        self, split: Split, indices: Sequence[int], frames: int, device: Any = "cpu", dtype: torch.dtype = torch.float32
    ) -> tuple[Tensor, Tensor | None]:
        """`u (B, frames, H, W, C)` and `static (B, H, W, Cs)` of the named runs.

        Runs are always solved in the same aligned tiles, so that their bytes do not depend on what else is asked for.
        """
        tiles: dict[int, tuple[Tensor, Tensor | None]] = {}
        for k in dict.fromkeys(i // self.tile for i in indices):
            with torch.no_grad():
                tiles[k] = self.simulate(split, range(k * self.tile, (k + 1) * self.tile), frames, device, dtype)
        pick = [(tiles[i // self.tile], i % self.tile) for i in indices]
        static = [c[j] for (_, c), j in pick if c is not None]
        return torch.stack([u[j] for (u, _), j in pick]), torch.stack(static) if static else None

    @abstractmethod
    def simulate(
        self, split: Split, indices: Sequence[int], frames: int, device: Any, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor | None]:
        """What `generate` returns, for one tile."""
