"""Cells: what a number of a leaderboard is about, and where its record lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PROFILES = ("smoke", "laptop", "paper")


@dataclass(frozen=True, order=True)
class Cell:
    """One number of a leaderboard: who, on what, at which size, with which seed."""

    method: str
    task: str
    dataset: str
    profile: str
    seed: int

    def path(self, results: Path) -> Path:
        return results / f"{self.profile}/{self.dataset}/{self.task}/{self.method}-s{self.seed}.json"

    def __str__(self) -> str:
        return f"{self.method} x {self.task} x {self.dataset} ({self.profile}, seed {self.seed})"
