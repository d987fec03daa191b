"""What somebody wants a table to show: some of the methods, tasks and datasets, one metric, so many digits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmark.errors import UserError
from benchmark.leaderboard.measure import ERROR, Measure, check_measured
from benchmark.leaderboard.selection import third_party
from benchmark.planning.registry import near
from benchmark.records.cell import Cell
from benchmark.records.record import Record

Names = Literal["id", "display"]
EVERY = ("all",)


@dataclass(frozen=True)
class Suite:
    """The cells of a suite in its own order; its tables have all of them, with a record or without."""

    name: str  # as somebody typed it
    title: str
    methods: tuple[str, ...]
    tasks: tuple[str, ...]
    datasets: tuple[str, ...]
    capabilities: bool = False  # one table: what methods can do, seconds and errors


@dataclass(frozen=True)
class Shape:
    """What somebody typed; empty means all, or all of the suite.

    A third-party method, task or dataset that is named need not be asked for a second time.
    """

    methods: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    measure: Measure = ERROR
    suite: Suite | None = None
    intervals: bool | None = None  # None: where the format has room for them
    names: Names | None = None  # as typed, or as printed in a paper; None: as the format has it

    @property
    def typed(self) -> dict[str, tuple[str, ...]]:
        kinds = {"method": self.methods, "task": self.tasks, "dataset": self.datasets}
        return {kind: names for kind, names in kinds.items() if names}

    @property
    def wanted(self) -> dict[str, tuple[str, ...]]:
        """Names by the part of a cell that they narrow: those that were typed, else the suite's."""
        suite = self.suite
        kinds = {"method": suite.methods, "task": suite.tasks, "dataset": suite.datasets} if suite else {}
        return {kind: names for kind, names in (kinds | self.typed).items() if names != EVERY}

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.wanted)

    def included(self, records: Sequence[Record], include: Collection[str]) -> tuple[str, ...]:
        """What is asked for in all: third-party names among those that are named here are."""
        named = {name for names in self.wanted.values() for name in names}
        return (*include, *sorted({name for record in records for name in third_party(record)} & named))

    def check_names(self, cells: Iterable[Cell]) -> None:
        """UserError for a typed name that none of the cells has, where there are any. A suite's may be missing."""
        found = list(cells)
        for part, names in self.typed.items():
            known = {getattr(cell, part) for cell in found}
            unknown = [name for name in names if name not in known and names != EVERY]
            if unknown and found:
                raise UserError(
                    f"--{part}: no record of {unknown[0]!r}{near(unknown[0], known)}; run it or leave it out"
                )

    def keep(self, records: Sequence[Record]) -> list[Record]:
        """Those whose cells are named."""
        kept = self.matching(records)
        check_measured(self.measure, kept)
        return kept

    def matching(self, records: Sequence[Record]) -> list[Record]:
        parts = self.wanted.items()
        return [r for r in records if all(plain(getattr(r.cell, part)) in names for part, names in parts)]


EVERYTHING = Shape()


def plain(name: str) -> str:
    """A variant's row goes by what it is a variant of."""
    return name.partition(" @ ")[0]
