"""What a run asks for: lists of names and how to treat them. Plain values, so that it can be sent to a worker."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from benchmark.errors import UserError
from benchmark.planning.settings import parse_overrides, read_config
from benchmark.records.cell import VARIANT
from benchmark.records.folders import kept_in

RESERVED = ("all", "none", "plugins", "variants")  # of `leaderboard --include` and `records --variant`

SAMPLES = {"smoke": 2, "laptop": 8, "paper": 1}  # per trajectory, of a method that samples, unless asked otherwise


@dataclass(frozen=True)
class Request:
    """methods x tasks x datasets x seeds at one profile; a list `("all",)` stands for every registered name."""

    methods: tuple[str, ...]
    tasks: tuple[str, ...]
    datasets: tuple[str, ...] = ("navier_stokes",)
    seeds: tuple[int, ...] = (0,)
    profile: str = "laptop"
    samples: int | None = None  # of methods that sample; None: the profile's
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
    save_predictions: int = 4  # of the first test trajectories of each cell, for pictures; 0: none
    log: str = ""  # tensorboard or wandb, where fits and scores can be watched too; "": neither
    budget: float = 1.0  # how many times as long as the settings say a method trains, in its `budget_settings`
    base: tuple[str, ...] = ()  # a study's own overrides: what `config` and `overrides` depart from
    name: str = ""  # of the variants that departing makes; "": named after what they change

    def __post_init__(self) -> None:
        for name in ("samples", "jobs", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"{name}: expected 1 or more, got {value}")
        if self.save_predictions < 0:
            raise UserError(f"save predictions: expected 0 or more, got {self.save_predictions}")
        if self.time_limit is not None and not self.time_limit > 0:
            raise UserError(f"time limit: expected more than 0 seconds, got {self.time_limit}")
        if not all(0 <= seed < 1 << 63 for seed in self.seeds):
            raise UserError(f"seeds: expected whole numbers from 0 to 2**63 - 1, got {self.seeds}")
        if not 0 < self.budget < math.inf:
            raise UserError(f"budget: expected a number above 0, got {self.budget:g}")
        if self.name in RESERVED:
            raise UserError(f"--name: {self.name!r} has a meaning of its own; choose another name")
        if self.name and not VARIANT.fullmatch(self.name):
            raise UserError(f"--name: expected a letter or digit, then up to 79 of these or '_.=+-', got {self.name!r}")
        for name in ("methods", "tasks", "datasets", "seeds"):
            if not getattr(self, name):
                raise UserError(f"{name}: expected at least one")

    @property
    def kept(self) -> Path:
        """Where the logs, notes and predictions of its cells go; fits are in `runs`, and shared."""
        return kept_in(self.runs, self.results)

    def samples_of(self, stochastic: bool) -> int:
        """How many samples a method is asked for; one that has a single answer is asked for that."""
        return (self.samples or SAMPLES.get(self.profile, 1)) if stochastic else 1

    def changes(self) -> dict[str, Any]:
        """Every override as a dotted key."""
        config = read_config(self.config) if self.config else {}
        return {**parse_overrides(self.base), **config, **parse_overrides(self.overrides)}

    def plain(self) -> Self:
        """The same cells with the profile's own settings and evaluation."""
        default = type(self)
        return replace(
            self, overrides=(), config=None, name="", samples=default.samples, limit=None,
            mask_seed=default.mask_seed, budget=default.budget,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        return {k: _plain(v) for k, v in asdict(self).items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        paths = {k: Path(values[k]) for k in ("results", "runs", "data")}
        config = Path(values["config"]) if values["config"] else None
        plugins = tuple(Path(p) for p in values["plugins"])
        lists = {k: tuple(values[k]) for k in ("methods", "tasks", "datasets", "seeds", "overrides", "base")}
        return cls(**{**values, **lists, **paths, "config": config, "plugins": plugins})


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, Path) else value
