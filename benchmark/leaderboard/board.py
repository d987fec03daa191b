"""The leaderboard of one profile as values: columns by task family, overview, records, and what to say above them."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from benchmark.errors import UserError
from benchmark.leaderboard.capabilities import Capabilities, read_capabilities
from benchmark.leaderboard.collect import read_records
from benchmark.leaderboard.columns import Column, build_column
from benchmark.leaderboard.entries import Samples
from benchmark.leaderboard.names import FAMILIES, OWN_REFERENCES, Kind, ordered
from benchmark.leaderboard.overview import Overview, build_overview
from benchmark.leaderboard.selection import is_other_budget, note, other_names, select
from benchmark.leaderboard.shape import EVERYTHING, Shape
from benchmark.records.cell import PROFILES
from benchmark.records.record import Record


@dataclass(frozen=True)
class Leaderboard:
    profile: str
    methods: tuple[str, ...]
    references: frozenset[str]  # those of the methods that are references, by their own word
    families: dict[str, tuple[Column, ...]]  # title -> columns, datasets first, then tasks
    overview: Overview
    records: tuple[Record, ...]
    problems: tuple[str, ...]  # records that could not be read
    others: frozenset[str] = frozenset()  # names by which records that are not the suite's own can be asked for
    left_out: str = ""  # a word on those that were not
    samples: Samples = "one"  # which error of methods that sample is shown and ranked
    shape: Shape = EVERYTHING
    capabilities: Mapping[str, Capabilities] = field(default_factory=dict)  # by method, of all records of the profile
    budgets: tuple[Record, ...] = ()  # fits of other budgets than the profile's own, for curves
    kept: Path | None = None  # where predictions lie, for the page
    studies: Mapping[tuple[str, str], Sequence[Record]] = field(default_factory=dict)  # (study, variant), for the page
    beside: tuple[Leaderboard, ...] = ()  # those of other profiles, for the page

    @property
    def columns(self) -> list[Column]:
        return [column for columns in self.families.values() for column in columns]


def read_leaderboard(
    results: Path, profile: str, samples: Samples = "one", include: Collection[str] = (), shape: Shape = EVERYTHING
) -> Leaderboard:
    """Read every record of a profile and compare. Unreadable ones are in `problems` and stop nothing.

    `include` asks for records that are not the suite's own, or are variants (`selection`). `shape` narrows: methods
    are compared with those that are left. UserError for a name that nothing has, and for a suite without a record.
    """
    found, problems = read_records(Path(results), profile)
    shape.check_names(record.cell for record in found)
    board = build_leaderboard(found, problems, profile, samples, include, shape)
    if shape.suite and not (board.records or problems):
        left_out = f" ({board.left_out})" if board.left_out else ""
        raise UserError(
            f"{Path(results) / profile}: no records of this suite{left_out}; "
            f"`{_command(shape.suite.name, profile, shape)}` makes them"
        )
    return board


def _command(suite: str, profile: str, shape: Shape) -> str:
    typed = {f"--{part}": ",".join(names) for part, names in shape.typed.items()}
    options = {"--suite": suite, **typed, **({"--profile": profile} if profile != "laptop" else {})}
    return " ".join(["python -m benchmark run", *(f"{name} {shlex.quote(value)}" for name, value in options.items())])


def build_leaderboard(
    found: Sequence[Record],
    problems: Sequence[str],
    profile: str,
    samples: Samples = "one",
    include: Collection[str] = (),
    shape: Shape = EVERYTHING,
) -> Leaderboard:
    """Out of records that were read."""
    if profile not in PROFILES:
        raise UserError(f"profile: expected one of {', '.join(PROFILES)}, got {profile!r}")
    own, others = select(found, shape.included(found, include))
    records = shape.keep(own)
    methods = _names("method", records, shape)
    references = _references(own) & set(methods)
    columns = _columns(records, methods, references, samples, shape)
    families = {title: tuple(column for column in columns if column.family == title) for title in FAMILIES}
    return Leaderboard(
        profile=profile,
        methods=tuple(methods),
        references=references,
        families={title: members for title, members in families.items() if members},
        overview=build_overview(methods, references, columns, records, shape.measure),
        records=tuple(records),
        problems=tuple(problems),
        others=other_names(found),
        left_out=note(shape.matching(others)),
        samples=samples,
        shape=shape,
        capabilities=read_capabilities(own),
        budgets=tuple(record for record in found if is_other_budget(record)),
    )


def _names(part: Literal["method", "task", "dataset"], records: Sequence[Record], shape: Shape) -> list[str]:
    """Those that have a record, and all of a suite, in its order."""
    kinds: dict[str, Kind] = {"method": "methods", "task": "tasks", "dataset": "datasets"}
    listed = shape.wanted.get(part, ()) if shape.suite else ()
    return ordered((*listed, *(getattr(record.cell, part) for record in records)), kinds[part], listed)


def _references(records: Sequence[Record]) -> frozenset[str]:
    """By their own word; the suite's are known before they have a record."""
    declared = {record.cell.method for record in records if record.is_reference}
    return frozenset(declared | (OWN_REFERENCES - {record.cell.method for record in records}))


def _columns(
    records: Sequence[Record], methods: Sequence[str], references: Set[str], samples: Samples, shape: Shape
) -> list[Column]:
    """A column for each dataset and task that has a record, or is of the suite."""
    is_asked = shape.suite is not None
    groups: dict[tuple[str, str], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        groups[record.cell.dataset, record.cell.task][record.cell.method].append(record)
    return [
        build_column(task, dataset, methods, references, groups[dataset, task], samples, shape.measure, is_asked)
        for dataset in _names("dataset", records, shape)
        for task in _names("task", records, shape)
        if is_asked or (dataset, task) in groups
    ]
