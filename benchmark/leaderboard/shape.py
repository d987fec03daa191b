"""What somebody wants a table to show: some of the methods, tasks and datasets, one metric, so many digits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmark.errors import UserError
from benchmark.leaderboard.measure import ERROR, Measure, check_measured
from benchmark.leaderboard.selection import third_party
from benchmark.planning.registry import near
from benchmark.records.record import Record

Names = Literal["id", "display"]
EVERY = ("all",)


@dataclass(frozen=True)
class Shape:
    """Empty means all. A third-party method, task or dataset that is named need not be asked for a second time."""

    methods: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    measure: Measure = ERROR
    title: str = ""  # of a suite, or of whatever else chose the names
    intervals: bool | None = None  # None: where the format has room for them
    names: Names | None = None  # as typed, or as printed in a paper; None: as the format has it

    @property
    def wanted(self) -> dict[str, tuple[str, ...]]:
        """Names by the part of a cell that they narrow."""
        kinds = {"method": self.methods, "task": self.tasks, "dataset": self.datasets}
        return {kind: names for kind, names in kinds.items() if names and names != EVERY}

    @property
    def is_narrow(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.wanted)

    def included(self, records: Sequence[Record], include: Collection[str]) -> tuple[str, ...]:
        """What is asked for in all: third-party names among those that are named here are."""
        named = {name for names in self.wanted.values() for name in names}
        return (*include, *sorted({name for record in records for name in third_party(record)} & named))

    def keep(self, records: Sequence[Record], others: Sequence[Record] = ()) -> list[Record]:
        """Those whose cells are named; UserError for a name that no record has, unless a suite gave it.

        `others`: records that were not asked for, whose names could be.
        """
        for part, names in self.wanted.items():
            known = {plain(getattr(record.cell, part)) for record in (*records, *others)}
            unknown = [name for name in names if name not in known]
            if unknown and records and not self.title:
                raise UserError(
                    f"--{part}: no record of {unknown[0]!r}{near(unknown[0], known)}; run it or leave it out"
                )
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
