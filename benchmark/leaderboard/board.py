"""The leaderboard of one profile as values: columns by task family, overview, records, and what to say above them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.errors import UserError
from benchmark.leaderboard.collect import Record, read_records
from benchmark.leaderboard.columns import Column, build_column
from benchmark.leaderboard.names import DATASETS, FAMILIES, METHODS, OTHER, TASKS, family_of, ordered
from benchmark.leaderboard.overview import Overview, build_overview
from benchmark.records.record import PROFILES


@dataclass(frozen=True)
class Leaderboard:
    profile: str
    methods: tuple[str, ...]
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
    methods = ordered((record.cell.method for record in records), METHODS)
    columns = _columns(records, methods)
    families = {
        title: tuple(column for column in columns if family_of(column.task) == title) for title in (*FAMILIES, OTHER)
    }
    return Leaderboard(
        profile=profile,
        methods=tuple(methods),
        families={title: members for title, members in families.items() if members},
        overview=build_overview(methods, columns, records),
        records=tuple(records),
        problems=tuple(problems),
    )


def _columns(records: Sequence[Record], methods: Sequence[str]) -> list[Column]:
    """A column for each dataset and task that has a record."""
    groups: dict[tuple[str, str], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        groups[record.cell.dataset, record.cell.task][record.cell.method].append(record)
    return [
        build_column(task, dataset, methods, groups[dataset, task])
        for dataset in ordered({dataset for dataset, _ in groups}, DATASETS)
        for task in ordered({task for _, task in groups}, TASKS)
        if (dataset, task) in groups
    ]
