"""What a cell asks Slurm for. `--cluster FILE` says it for all cells and, in a list of rules, for some:

    partition: gpu
    time: 1d
    cells:
      - method: [kriging, linear]
        partition: cpu
        gpus: 0
      - method: videopde
        profile: paper
        gpus: 4

Of several entries that match a cell, the last one wins, key by key. What nobody says follows from the plan's estimate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmark.errors import UserError
from benchmark.planning.machine import gpu
from benchmark.planning.plan import PlannedCell
from benchmark.planning.registry import Registry, near, registry
from benchmark.planning.settings import read_yaml, resolve
from benchmark.records.cell import PROFILES, Cell

WHICH = ("method", "task", "dataset", "profile")  # what an exception chooses cells by
CELLS = "cells"

UNITS = {"m": 1, "h": 60, "d": 24 * 60}  # minutes
SIMPLE_TIME = re.compile(r"(?P<count>\d{1,6}(?:\.\d{1,6})?)(?P<unit>[mhd])")
SLURM_TIME = re.compile(r"(?P<m>\d{1,6}):(?P<s>\d\d)|(?P<H>\d{1,6}):(?P<M>\d\d):(?P<S>\d\d)")
SLURM_DAYS = re.compile(r"(?P<d>\d{1,4})-(?P<h>\d{1,2})(?::(?P<m>\d\d)(?::(?P<s>\d\d))?)?")
SECONDS = {"d": 24 * 3600, "h": 3600, "m": 60, "s": 1}
MEMORY = re.compile(r"\d+(?:\.\d+)?[MGT]")

SAFETY = 4.0  # times the estimated seconds: a shared node is slower than a quiet one
FORECAST_SAFETY = 2.0  # times the seconds that are forecast for the GPU: training took up to 1.7 of them on a CPU
SHORTEST, UNKNOWN = 30, {"smoke": 30, "laptop": 4 * 60}  # minutes
LONGEST = 24 * 60  # where nothing is known: what most clusters allow; the job goes on in another turn
FLOOR_GB = {"smoke": 2, "laptop": 4}
GPU_HOST_GB = 16


@dataclass(frozen=True)
class Resources:
    """Names as in Slurm where it has one; `gpus` and `tasks` are per node, `cpus` per task."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    gpus: int | None = None  # None: 1 for a learned method at profile paper, else 0
    gpu_type: str | None = None  # "L40S": what `time` is forecast for; Slurm is not told
    cpus: int = 4
    mem: str | None = None  # "32G", of a node
    time: str | None = None  # "90m", "12h", "2d", or as Slurm writes it
    nodes: int = 1
    tasks_per_node: int = 1  # processes that share one fit (DDP)
    turns: int = 10  # how often a fit may go on after its time was up
    warning: int = 90  # seconds before its end at which a job is told
    parallel: int = 256  # jobs of one array that run at the same time
    setup: tuple[str, ...] = ()  # shell lines before the job
    sbatch: dict = field(default_factory=dict)  # any other option of sbatch

    def __post_init__(self) -> None:
        for name in ("cpus", "nodes", "tasks_per_node", "parallel", "warning"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: expected 1 or more, got {getattr(self, name)}")
        if min(self.gpus or 0, self.turns) < 0:
            raise ValueError("gpus and turns: expected 0 or more")
        if self.mem is not None and not MEMORY.fullmatch(self.mem):
            raise ValueError(f"mem: expected a number and a unit like 500M or 32G, got {self.mem!r}")
        if self.time is not None and 60 * minutes(self.time) <= self.warning:
            raise ValueError(f"warning: expected less than the time, {self.time}, got {self.warning} seconds")
        if self.gpu_type is not None:
            _check_gpu(self.gpu_type)
        for key, value in self.sbatch.items():
            if not isinstance(key, str) or not (value is True or type(value) in (str, int, float)):
                raise ValueError(f"sbatch: expected options like exclude: node7 or exclusive: true, got {key}: {value}")


def _check_gpu(name: str) -> None:
    try:
        gpu(name)
    except UserError as error:
        raise ValueError(f"gpu_type: {error}") from error


def minutes(time: str) -> int:
    """Of a time limit; whole ones, as Slurm counts them."""
    if match := SIMPLE_TIME.fullmatch(time):
        return max(1, math.ceil(float(match["count"]) * UNITS[match["unit"]]))
    if match := SLURM_TIME.fullmatch(time) or SLURM_DAYS.fullmatch(time):
        parts = {name.lower(): int(value) for name, value in match.groupdict().items() if value}
        return max(1, math.ceil(sum(SECONDS[name] * value for name, value in parts.items()) / 60))
    raise ValueError(f"time: expected 90m, 12h, 2d or 1-12:00:00, got {time!r}")


@dataclass(frozen=True)
class Rule:
    """Resources of some cells: names to choose them by, and what they change."""

    which: Mapping[str, tuple[str, ...]]
    changes: Mapping[str, Any]

    def matches(self, cell: Cell) -> bool:
        return all(getattr(cell, key) in names for key, names in self.which.items())


@dataclass(frozen=True)
class Cluster:
    """What `--cluster FILE` says; without a file, nothing."""

    common: Mapping[str, Any]
    rules: tuple[Rule, ...] = ()
    name: str = "cluster"

    @classmethod
    def read(cls, path: Path | None, plugins: Iterable[Path] = ()) -> Cluster:
        """Everything in the file is checked at once, before any cell is submitted."""
        if path is None:
            return cls({})
        known = registry(plugins)
        values = read_yaml(path)
        listed = values.pop(CELLS, [])
        if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
            raise UserError(f"{path}: {CELLS}: expected a list of entries like `- method: kriging`")
        rules = tuple(_rule(entry, f"{path}: {CELLS}[{i}]", known) for i, entry in enumerate(listed))
        cluster = cls(values, rules, str(path))
        _checked(Resources(), values, str(path))
        for i, rule in enumerate(rules):
            _checked(Resources(), {**values, **rule.changes}, f"{path}: {CELLS}[{i}]")
        return cluster

    def changes(self, cell: Cell) -> dict[str, Any]:
        """What is said for a cell."""
        found = dict(self.common)
        for rule in self.rules:
            if rule.matches(cell):
                found |= rule.changes
        return found

    def of(self, planned: PlannedCell, device: str = "auto") -> Resources:
        return completed(_checked(Resources(), self.changes(planned.cell), self.name), planned, device)


def completed(resources: Resources, planned: PlannedCell, device: str) -> Resources:
    """With what the plan suggests in place of what was not said."""
    gpus = resources.gpus if resources.gpus is not None else _default_gpus(planned, device)
    return replace(
        resources,
        gpus=gpus,
        mem=resources.mem or f"{_default_gb(planned, gpus)}G",
        time=resources.time or f"{max(_default_minutes(planned, gpus), resources.warning // 30)}m",
    )


def _default_gpus(planned: PlannedCell, device: str) -> int:
    learned = planned.about is not None and planned.about.kind == "learned"
    return int(device.startswith("cuda") or (device == "auto" and learned and planned.cell.profile == "paper"))


def _default_gb(planned: PlannedCell, gpus: int) -> int:
    """Half as much again as estimated, and room for the process; the estimate may be a lower bound."""
    floor = GPU_HOST_GB if gpus else FLOOR_GB.get(planned.cell.profile, GPU_HOST_GB)
    return max(floor, math.ceil(1.5 * planned.estimate.memory_mb / 1024 + 1))


def _default_minutes(planned: PlannedCell, gpus: int) -> int:
    seconds, is_forecast = planned.estimate.seconds, planned.estimate.flop is not None
    if seconds is None or (is_forecast and not gpus):  # it is of a GPU
        return UNKNOWN.get(planned.cell.profile, LONGEST)
    safety = FORECAST_SAFETY if is_forecast else SAFETY
    return min(LONGEST, max(SHORTEST, math.ceil(safety * seconds / 60)))


def _rule(entry: Mapping[str, Any], where: str, known: Registry) -> Rule:
    which = {key: _names(entry[key], f"{where}: {key}", key, known) for key in WHICH if key in entry}
    if not which:
        raise UserError(f"{where}: says for no cells; name them by {', '.join(WHICH)}")
    return Rule(which, {key: value for key, value in entry.items() if key not in which})


def _names(value: Any, where: str, key: str, known: Registry) -> tuple[str, ...]:
    found = value if isinstance(value, list) else [value]
    if not found or not all(isinstance(name, str) for name in found):
        raise UserError(f"{where}: expected a name or a list of names, got {value!r}")
    try:
        for name in found:
            _check_profile(name, known) if key == "profile" else known.check(f"{key}s", name)
    except UserError as error:
        raise UserError(f"{where}: {error}") from error
    return tuple(found)


def _check_profile(name: str, known: Registry) -> None:
    """The suite's, or one of a plugin's dataset."""
    if name not in PROFILES and not any(name in known.load("datasets", d).profiles for d in known.names("datasets")):
        raise UserError(f"unknown profile {name!r}{near(name, PROFILES)}")


def _checked(resources: Resources, changes: Mapping[str, Any], where: str) -> Resources:
    for key, value in changes.items():
        if not isinstance(key, str) or "." in key:
            raise UserError(f"{where}: unknown key {key!r}")
        if key in ("time", "mem") and isinstance(value, int):  # YAML reads 24:00:00 as a number of seconds
            raise UserError(f"{where}: {key}: {value} has no unit; write {'12h or 2d' if key == 'time' else '32G'}")
    return resolve(resources, changes, where)
