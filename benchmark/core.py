"""The few values that cross folders: Grid, Trajectories, Problem, Prediction, and who makes them.

    Dataset  ->  Task           ->  Method         ->  runner
    fields       what is seen       fit, predict       score, record, leaderboard

Fields are plain tensors in physical units, channels last: `(B, T, H, W, C)`, with H along x and W along y.
Everything is checked at construction, so a wrong shape is reported where it was made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

import torch
from torch import Tensor

if TYPE_CHECKING:
    from benchmark.equation import Equation

Boundary = Literal["periodic", "absorbing", "dirichlet"]
Scope = Literal["task", "dataset", "instance"]
Split = Literal["train", "valid", "test"]


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

    def window(self, frames: int) -> Grid:
        """The same grid with its first `frames` frames."""
        if not 2 <= frames <= len(self.times):
            raise ValueError(f"grid: cannot take {frames} frames out of {len(self.times)}")
        return replace(self, times=self.times[:frames])


def _check_video(name: str, value: Tensor, grid: Grid) -> None:
    expected = ("B", len(grid.times), *grid.shape, "C")
    if value.ndim != 5 or tuple(value.shape[1:4]) != expected[1:4]:
        raise ValueError(f"{name}: expected {expected}, got {tuple(value.shape)}")


def _check_static(static: Tensor | None, batch: int, grid: Grid) -> None:
    if static is not None and (static.ndim != 4 or tuple(static.shape[:3]) != (batch, *grid.shape)):
        raise ValueError(f"static: expected ({batch}, {grid.shape[0]}, {grid.shape[1]}, C), got {tuple(static.shape)}")


@dataclass(frozen=True)
class Trajectories:
    """Solutions of one equation on one grid, in memory."""

    u: Tensor  # (B, T, H, W, C)
    grid: Grid
    equation: Equation
    static: Tensor | None = None  # (B, H, W, Cs) coefficient fields every method may see

    def __post_init__(self) -> None:
        _check_video("u", self.u, self.grid)
        _check_static(self.static, len(self.u), self.grid)

    def __len__(self) -> int:
        return len(self.u)

    def __getitem__(self, index: slice | Sequence[int] | Tensor) -> Trajectories:
        static = None if self.static is None else self.static[index]
        return replace(self, u=self.u[index], static=static)

    def to(self, device: Any) -> Trajectories:
        return replace(self, u=self.u.to(device), static=None if self.static is None else self.static.to(device))


class TrajectorySet(Protocol):
    """What `fit` gets: as long as the set, in memory only what is indexed. `Trajectories` is one too."""

    @property
    def grid(self) -> Grid: ...
    @property
    def equation(self) -> Equation: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: slice | Sequence[int] | Tensor) -> Trajectories: ...


@dataclass(frozen=True)
class Problem:
    """All a method may see at test time; the truth stays with the runner."""

    values: Tensor  # (B, T, H, W, C), zero where unseen
    mask: Tensor  # (B, T, H, W, C) bool, True where seen
    grid: Grid
    equation: Equation
    static: Tensor | None = None  # (B, H, W, Cs)

    def __post_init__(self) -> None:
        _check_video("values", self.values, self.grid)
        _check_static(self.static, len(self.values), self.grid)
        if self.mask.shape != self.values.shape or self.mask.dtype != torch.bool:
            raise ValueError(
                f"mask: expected bool {tuple(self.values.shape)}, got {self.mask.dtype} {tuple(self.mask.shape)}"
            )

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: slice) -> Problem:
        static = None if self.static is None else self.static[index]
        return replace(self, values=self.values[index], mask=self.mask[index], static=static)

    def to(self, device: Any) -> Problem:
        static = None if self.static is None else self.static.to(device)
        return replace(self, values=self.values.to(device), mask=self.mask.to(device), static=static)


@dataclass(frozen=True)
class Prediction:
    """S samples of the whole video. A method that predicts only some frames names them; only those are scored."""

    u: Tensor  # (S, B, T, H, W, C)
    frames: tuple[int, ...] | None = None  # None: all of them
    evaluations: float | None = None  # network (or solver) evaluations spent on a trajectory

    def __post_init__(self) -> None:
        if self.u.ndim != 6:
            raise ValueError(f"prediction: expected (S, B, T, H, W, C), got {tuple(self.u.shape)}")


class Task(ABC):
    """What is seen of a trajectory. Masks are drawn from the generator that comes in, and from nothing else."""

    name: str
    family: Literal["continuous", "forward", "inverse", "long_range"]
    rate: float  # share of a frame's sites that are seen, 1 = the whole frame

    @abstractmethod
    def mask(self, grid: Grid, generator: torch.Generator) -> Tensor:
        """One trajectory's mask: (T, H, W) bool, True where seen."""

    @abstractmethod
    def observe(self, trajectories: Trajectories, generators: Sequence[torch.Generator]) -> Problem:
        """What a method sees of each trajectory, one generator a trajectory."""

    def unsupported(self, dataset: Dataset) -> str | None:
        """Why this task makes no sense on a dataset, or None."""
        return None


@dataclass(frozen=True)
class Run:
    """What a fit may use beside its data: a device, a folder for checkpoints and logs, a budget, a way to be heard."""

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    folder: Path | None = None  # kept until the cell is done; None: keep nothing
    progress: Callable[[str, float], None] = lambda message, fraction: None


class Method(ABC):
    """fit, predict, and a word on what it cannot do.

    The constructor only stores the settings; learned values end in `_`; `fit` forgets any earlier fit; the same seed
    gives the same answer. `scope` says what one fit serves: one `task` of a dataset, all tasks of a `dataset`, or
    nothing (`instance`: all work happens in `predict`). A setting named `instances` bounds how many test trajectories
    the method is scored on, where all of them would cost too much; tables show the number.
    """

    scope: ClassVar[Scope] = "task"
    version: ClassVar[int] = 1  # raise it when a change of the code moves the numbers
    profiles: ClassVar[Mapping[str, Any]]  # profile name -> frozen settings dataclass
    source: ClassVar[str] = ""  # the paper to cite
    sampling_settings: ClassVar[tuple[str, ...]] = ()  # settings that `predict` alone reads: they need no new fit

    def __init__(self, settings: Any):
        self.settings = settings

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        """Why this method cannot do this task on this dataset, or None."""
        return None

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        """What a table must say beside this score, such as where it leaves its source, or None."""
        return None

    @abstractmethod
    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self: ...

    @abstractmethod
    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction: ...

    def state(self) -> dict[str, Tensor]:
        """What a fit learned, as tensors, so that it can be stored. Default: every tensor whose name ends in `_`."""
        return {k: v for k, v in vars(self).items() if k.endswith("_") and isinstance(v, Tensor)}

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        """The inverse of `state`; `train` gives grid and equation to rebuild a network from."""
        vars(self).update(state)
        return self

    def cost(self) -> dict[str, float]:
        """What the last fit took, as far as the method knows: `parameters`, `steps`."""
        return {"parameters": 0, "steps": 0}


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
        """One run a trajectory; test runs are long enough for the long-range task."""
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
        u = torch.stack([u[j] for (u, _), j in pick])
        static = None if pick[0][0][1] is None else torch.stack([c[j] for (_, c), j in pick])
        return u, static

    @abstractmethod
    def simulate(
        self, split: Split, indices: Sequence[int], frames: int, device: Any, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor | None]:
        """What `generate` returns, for one tile."""
