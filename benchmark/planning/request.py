"""What a run asks for: lists of names and how to treat them. Plain values, so that it can be sent to a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from benchmark.errors import UserError
from benchmark.planning.settings import parse_overrides, read_config


@dataclass(frozen=True)
class Request:
    """methods x tasks x datasets x seeds at one profile; a list `("all",)` stands for every registered name."""

    methods: tuple[str, ...]
    tasks: tuple[str, ...]
    datasets: tuple[str, ...] = ("navier_stokes",)
    seeds: tuple[int, ...] = (0,)
    profile: str = "laptop"
    samples: int = 1
    device: str = "auto"  # auto: cuda if there is one, else cpu
    overrides: tuple[str, ...] = ()  # "width=32", "dataset.alpha=3", "task.noise=0.1"
    config: Path | None = None  # the same as YAML; `overrides` win
    plugins: tuple[Path, ...] = ()
    results: Path = Path("results")
    runs: Path = Path("runs")
    data: Path = Path("data")
    jobs: int = 1
    time_limit: float | None = None  # seconds per cell
    limit: int | None = None  # test trajectories
    overwrite: bool = False
    mask_seed: int = 0

    def __post_init__(self) -> None:
        for name in ("samples", "jobs", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"{name}: expected 1 or more, got {value}")
        if self.time_limit is not None and self.time_limit <= 0:
            raise UserError(f"time limit: expected more than 0 seconds, got {self.time_limit}")
        for name in ("methods", "tasks", "datasets", "seeds"):
            if not getattr(self, name):
                raise UserError(f"{name}: expected at least one")

    def changes(self) -> dict[str, Any]:
        """Every override as a dotted key."""
        return {**(read_config(self.config) if self.config else {}), **parse_overrides(self.overrides)}

    def to_json(self) -> dict[str, Any]:
        return {k: _plain(v) for k, v in asdict(self).items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        paths = {k: Path(values[k]) for k in ("results", "runs", "data")}
        config = Path(values["config"]) if values["config"] else None
        plugins = tuple(Path(p) for p in values["plugins"])
        lists = {k: tuple(values[k]) for k in ("methods", "tasks", "datasets", "seeds", "overrides")}
        return cls(**{**values, **lists, **paths, "config": config, "plugins": plugins})


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, Path) else value
