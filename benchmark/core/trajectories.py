"""Solutions of one equation on one grid: in memory, or read as they are indexed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor

from benchmark.core.grid import Grid, check_static, check_video
from benchmark.core.transfer import to_device

if TYPE_CHECKING:
    from benchmark.core.equation import Equation


@dataclass(frozen=True)
class Trajectories:
    """Solutions of one equation on one grid, in memory."""

    u: Tensor  # (B, T, H, W, C)
    grid: Grid
    equation: Equation
    static: Tensor | None = None  # (B, H, W, Cs) coefficient fields every method may see

    def __post_init__(self) -> None:
        check_video("u", self.u, self.grid)
        check_static(self.static, len(self.u), self.grid)

    def __len__(self) -> int:
        return len(self.u)

    def __getitem__(self, index: slice | Sequence[int] | Tensor) -> Trajectories:
        static = None if self.static is None else self.static[index]
        return replace(self, u=self.u[index], static=static)

    def to(self, device: Any) -> Trajectories:
        static = None if self.static is None else to_device(self.static, device)
        return replace(self, u=to_device(self.u, device), static=static)


class TrajectorySet(Protocol):
    """What `fit` gets: as long as the set, in memory only what is indexed. `Trajectories` is one too."""

    @property
    def grid(self) -> Grid: ...
    @property
    def equation(self) -> Equation: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: slice | Sequence[int] | Tensor) -> Trajectories: ...
