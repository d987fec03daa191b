"""What a record is of: the cell, where its record lies, and the hash of the settings it was made with.

Equal settings have equal digests, whatever machine or day.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Self

PROFILES = ("smoke", "laptop", "paper")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")  # of a method, a task or a dataset: never with an @
VARIANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.=+-]{0,79}")
FILE = re.compile(r"(?P<method>[^@]+)(?:@(?P<variant>.+))?-s(?P<seed>\d+)\.json")


@dataclass(frozen=True, order=True)
class Cell:
    """One number of a leaderboard: who, on what, at which size, with which seed.

    A variant departs from the profile's own settings or evaluation; "" is the profile's own.
    """

    method: str
    task: str
    dataset: str
    profile: str
    seed: int
    variant: str = ""

    @property
    def label(self) -> str:
        """The method as tables name it: `fno`, or `fno @ width=64`."""
        return f"{self.method} @ {self.variant}" if self.variant else self.method

    def path(self, results: Path) -> Path:
        name = f"{self.method}@{self.variant}" if self.variant else self.method
        return results / f"{self.profile}/{self.dataset}/{self.task}/{name}-s{self.seed}.json"

    @classmethod
    def from_path(cls, path: Path) -> Self | None:
        """The inverse of `path`; None for a file of another form, or of no cell's name."""
        if len(path.parts) < 4 or not (match := FILE.fullmatch(path.name)):
            return None
        profile, dataset, task = path.parts[-4:-1]
        cell = cls(match["method"], task, dataset, profile, int(match["seed"]), match["variant"] or "")
        return cell if cell.is_named else None

    @property
    def is_named(self) -> bool:
        """Whether these can be the names of a cell, and of its file."""
        names = (self.method, self.task, self.dataset, self.profile)
        return all(map(NAME.fullmatch, names)) and (not self.variant or VARIANT.fullmatch(self.variant) is not None)

    def to_json(self) -> dict[str, Any]:
        """Plain values; a variant only where there is one."""
        return {name: value for name, value in vars(self).items() if name != "variant" or value}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`; ValueError for what could not be the name of a cell, or of its file."""
        cell = cls(**{**raw, "seed": int(raw["seed"])})
        if not cell.is_named:
            raise ValueError(f"no cell has these names: {cell}")
        return cell

    def __str__(self) -> str:
        return f"{self.label} x {self.task} x {self.dataset} ({self.profile}, seed {self.seed})"


def plain(value: Any) -> Any:
    """Settings as JSON values: dataclasses become dicts, tuples lists, non-finite floats strings."""
    if is_settings(value):
        return {name: plain(getattr(value, name)) for name in field_names(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def digest(value: Any) -> str:
    """sha256 of the settings' JSON with sorted keys."""
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def is_settings(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def field_names(settings: Any) -> list[str]:
    """The fields that can be set."""
    return [f.name for f in fields(settings) if f.init]
