"""Records of several results folders as one: what may stand in one table is taken, the rest is refused with a reason.

The folders are read in order and never written. The first record of a cell is kept; a second one is the same, or is
refused. A record enters a column (dataset, task and variant) if some record that is already there may be compared with
it: the same data, masks, mask seed and scorer, the same versions of suite, dataset and task settings. Seeds of a method
must have the same version, settings and number of samples, as tables pool them. How many trajectories and frames a
method is scored on is its own affair: tables say so and do not rank it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.records.compare import difference
from benchmark.records.files import read_record, record_paths
from benchmark.records.record import Record, RecordError

SUITE = "pde-video-benchmark"
TREES = ("", "studies/*/*")  # where records lie in a results folder


@dataclass(frozen=True)
class Refusal:
    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass
class Merged:
    """`taken`: path in one folder -> the file it comes from; `counts`: how many of each folder that are."""

    taken: dict[Path, Path] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    counts: dict[Path, int] = field(default_factory=dict)


def merge(folders: Sequence[Path]) -> Merged:
    """What of each folder's records, studies included, may be in one."""
    merged, columns = Merged(), defaultdict(dict)
    for folder in folders:
        merged.counts[folder] = 0
        for tree in _trees(folder):
            for path in record_paths(tree):
                place = path.relative_to(folder)
                try:
                    record = read_record(path)
                except (RecordError, OSError) as error:
                    merged.refused.append(Refusal(path, str(error).removeprefix(f"{path}: ")))
                    continue
                column = columns[tree.relative_to(folder), record.cell.profile, record.cell.dataset, record.cell.task]
                _take(path, place, record, column, folder, merged)
    return merged


def _trees(folder: Path) -> Iterator[Path]:
    for tree in TREES:
        yield from sorted(folder.glob(tree)) if tree else [folder]


def _take(
    path: Path, place: Path, record: Record, column: dict[Path, tuple[Record, Path]], folder: Path, merged: Merged
) -> None:
    """`column`: the records that are there already, with the folder each is of."""
    if place in column:
        other, where = column[place]
        if not _same(record, other):
            merged.refused.append(Refusal(path, f"{where} has this cell too: {_how_apart(record, other)}"))
        return
    others = [one for one, where in column.values() if where != folder and one.cell.variant == record.cell.variant]
    if reason := why_refused(record, others):
        merged.refused.append(Refusal(path, reason))
        return
    column[place], merged.taken[place] = (record, folder), path
    merged.counts[folder] += 1


def why_refused(record: Record, others: Sequence[Record]) -> str | None:
    """Why a record may not stand beside those of other folders in a column, or None."""
    if record.state != "done":
        return None
    done = [other for other in others if other.state == "done"]
    seeds = [other for other in done if other.cell.method == record.cell.method]
    for other in seeds:  # every one, as they are pooled
        if reason := _first(record, other, SEEDS):
            return f"seed {other.cell.seed} of {record.cell.method} has {reason}"
    reasons = [_first(record, other, COLUMN) or _of_basis(record, other) for other in done]
    return next(iter(reasons)) if reasons and all(reasons) else None


def _of_basis(record: Record, other: Record) -> str | None:
    """Data, masks, task settings and scorer; fewer trajectories or frames are told apart by the tables."""
    one, two = (r.basis._replace(frames=None) for r in (record, other))
    if one.trajectories != two.trajectories:
        one, two = (basis._replace(trajectories=0, masks="") for basis in (one, two))
    return difference(one, two)


Look = Callable[[Record], Any]
COLUMN: tuple[tuple[str, Look], ...] = (
    ("suite version", lambda r: (r.provenance.get("packages") or {}).get(SUITE)),
    ("dataset version", lambda r: r.provenance.get("dataset_version")),
    ("data source", lambda r: r.source),
    ("mask seed", lambda r: (r.settings.get("evaluation") or {}).get("mask_seed")),
)
SEEDS: tuple[tuple[str, Look], ...] = (
    ("method version", lambda r: r.provenance.get("method_version")),
    ("method settings", lambda r: r.settings.get("method")),
    ("samples", lambda r: (r.settings.get("evaluation") or {}).get("samples")),
)


def _first(record: Record, other: Record, looks: Sequence[tuple[str, Look]]) -> str | None:
    """The first part in which two records differ."""
    for name, look in looks:
        one, two = look(record), look(other)
        if one != two:
            return f"other {name}" if isinstance(one, dict) else f"{name} {two}, this one {one}"
    return None


def _same(one: Record, other: Record) -> bool:
    """One run's record that lies in two folders, or two runs with the same outcome."""
    parts = ((r.key, r.state, r.reason, r.metrics, r.basis) for r in (one, other))
    return next(parts) == next(parts)


def _how_apart(record: Record, other: Record) -> str:
    if record.state != other.state:
        return f"{other.state} there, {record.state} here"
    if record.key != other.key:
        return "with other settings, versions or data"
    if reason := difference(record.basis, other.basis):
        return f"here with {reason}"
    return "another run, with other numbers" if record.state == "done" else "for another reason"


def link(merged: Merged, folder: Path) -> None:
    """The records taken, as links in an empty folder of ours, laid out as any results folder is."""
    for place, source in merged.taken.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        os.symlink(source.resolve(), target)
