"""What is checked, and what came of it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from benchmark.records.cell import Cell
from benchmark.records.files import read_record, record_paths
from benchmark.records.folders import STUDIES
from benchmark.records.record import Record, RecordError

TIERS = ("tables", "scores", "predictions", "training")


@dataclass(frozen=True)
class Check:
    """One record, or one other file, in one tier.

    `faults`: empty where all is well; `note`: what was looked at; `unchecked`: what could not be.
    """

    tier: str
    path: Path
    faults: tuple[str, ...] = ()
    note: str = ""
    unchecked: str = ""

    @property
    def passed(self) -> bool:
        return not self.faults

    def to_json(self) -> dict[str, object]:
        parts = {"tier": self.tier, "path": str(self.path), "passed": self.passed, "faults": list(self.faults)}
        said = {"note": self.note, "unchecked": self.unchecked}
        return {**parts, **{name: text for name, text in said.items() if text}}


@dataclass(frozen=True)
class Selection:
    """The records that are looked at, and what else is needed to look; empty lists mean all."""

    results: Path
    runs: Path = Path("runs")
    data: Path = Path("data")
    plugins: tuple[Path, ...] = ()
    wanted: dict[str, tuple[str, ...]] = field(default_factory=dict)  # profile, method, task, dataset
    progress: Callable[[str], None] = lambda message: None

    def matches(self, cell: Cell) -> bool:
        return all(not names or getattr(cell, part) in names for part, names in self.wanted.items())

    @cached_property
    def found(self) -> list[tuple[Path, Record | RecordError | OSError]]:
        """Every record file, read, or why it cannot be."""
        return [(path, _read(path)) for path in self._paths()]

    @property
    def records(self) -> Iterator[tuple[Path, Record]]:
        return ((path, record) for path, record in self.found if isinstance(record, Record))

    @property
    def trees(self) -> list[Path]:
        """The results folder, and those of studies inside it."""
        return [self.results, *sorted(self.results.glob(f"{STUDIES}/*/*"))]

    def _paths(self) -> Iterator[Path]:
        for tree in self.trees:
            for path in record_paths(tree):
                cell = Cell.from_path(path)
                if cell is None or self.matches(cell):
                    yield path


def run_tiers(tiers: Sequence[str], selection: Selection) -> list[Check]:
    checks: list[Check] = []
    for tier in tiers:
        run: Callable[[Selection], Iterable[Check]] = importlib.import_module(f"benchmark.verify.{tier}").check
        checks += run(selection)
    return checks


def _read(path: Path) -> Record | RecordError | OSError:
    try:
        return read_record(path)
    except (RecordError, OSError) as error:
        return error
