"""The leaderboard of one profile as values: columns by task family, overview, records, and what to say above them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from benchmark.errors import UserError
from benchmark.leaderboard.collect import read_records
from benchmark.leaderboard.columns import Column, build_column
from benchmark.leaderboard.names import FAMILIES, ordered
from benchmark.leaderboard.overview import Overview, build_overview
from benchmark.records.cell import PROFILES
from benchmark.records.record import Record


@dataclass(frozen=True)
class Leaderboard:
    profile: str
    methods: tuple[str, ...]
    references: frozenset[str]  # those of the methods that set floor and ceiling, by their own word
    families: dict[str, tuple[Column, ...]]  # title -> columns, datasets first, then tasks
    overview: Overview
    records: tuple[Record, ...]
    problems: tuple[str, ...]  # records that could not be read

    @property
    def columns(self) -> list[Column]:
        return [column for columns in self.families.values() for column in columns]


def read_leaderboard(results: Path, profile: str) -> Leaderboard:
    """Read every record of a profile and compare. Unreadable ones are in `problems` and stop nothing."""
    if profile not in PROFILES:
        raise UserError(f"profile: expected one of {', '.join(PROFILES)}, got {profile!r}")
    records, problems = read_records(Path(results), profile)
    methods = ordered((record.cell.method for record in records), "methods")
    references = frozenset(record.cell.method for record in records if record.is_reference)
    columns = _columns(records, methods, references)
    families = {title: tuple(column for column in columns if column.family == title) for title in FAMILIES}
    return Leaderboard(
        profile=profile,
        methods=tuple(methods),
        references=references,
        families={title: members for title, members in families.items() if members},
        overview=build_overview(methods, references, columns, records),
        records=tuple(records),
        problems=tuple(problems),
    )


def _columns(records: Sequence[Record], methods: Sequence[str], references: Set[str]) -> list[Column]:
    """A column for each dataset and task that has a record."""
    groups: dict[tuple[str, str], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        groups[record.cell.dataset, record.cell.task][record.cell.method].append(record)
    return [
        build_column(task, dataset, methods, references, groups[dataset, task])
        for dataset in ordered({dataset for dataset, _ in groups}, "datasets")
        for task in ordered({task for _, task in groups}, "tasks")
        if (dataset, task) in groups
    ]
