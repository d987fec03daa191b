"""Is a smaller profile still the paper's problem? Its dimension and its reference errors beside those at paper size.

3 % of 32 x 32 are 31 sensors where 3 % of 128 x 128 are 492. A smaller profile is therefore a window of the paper's
problem: as many principal components per sensor, not the same field on a coarser grid, and not a field so smooth that
a few sensors know it all. The rule: what the sensors of `cont_3` cannot see of the initial field, the tail of its
spectrum, is within a factor 2 of its value at paper size. A larger one makes a harder task and is allowed; a smaller
one is degenerate.
Errors on every task stand beside it, so that a collapse shows wherever it happens. Those at paper size are read from
records, of smaller training sets where there is no other; the profile's own are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from benchmark.core import Dataset, Split
from benchmark.planning.registry import Registry, registry
from benchmark.planning.support import scored_length, unsupported
from benchmark.records.cell import Cell
from benchmark.records.files import read_record
from benchmark.records.record import SCORER_VERSION, Record, RecordError
from benchmark.running.evaluate import Question, evaluate, fit_in_memory
from benchmark.running.masks import MaskNames
from benchmark.tools.dimension import SHARES, dimension

FACTOR = 2.0
SENSORS = "cont_3"  # the task whose sensors count
REFERENCES = ("kriging", "linear", "persistence")
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
DEGENERATE = "degenerate"
Progress = Callable[[str, int, int], None]


def calibration(
    small: Dataset, large: Dataset, profile: str, root: Path, results: Path, progress: Progress | None = None
) -> Iterator[dict[str, Any]]:
    """One row per figure: its value at the profile and at paper size, their ratio, and what the rule says of it."""
    known = registry()
    for figure, value, paper in dimensions(known, small, large):
        row = _row(small.name, figure, profile, value, paper)
        yield row | ({"rule": verdict(row["ratio"])} if figure.startswith("tail") else {})
    for method in REFERENCES:
        for task in known.names("tasks"):
            value = reference_error(known, small, method, task, root, profile, progress)
            if isinstance(value, float):
                recorded = recorded_error(results, Cell(method, task, small.name, "paper", 0), small.steady)
                row = _row(small.name, f"{method} {task}", profile, value, recorded)
                yield row | ({"rule": "easier"} if 0 < row.get("ratio", 1) < 1 / FACTOR else {})


def dimensions(known: Registry, small: Dataset, large: Dataset) -> Iterator[tuple[str, float, float]]:
    """Sensors, principal components and the tail beyond the sensors, at both sizes."""
    here, there = (count_sensors(known, dataset) for dataset in (small, large))
    own, paper = dimension(small), dimension(large)
    yield f"sensors of {SENSORS}", float(here), float(there)
    for share in SHARES:
        yield f"components for {100 * share:g} %", float(own.components(share)), float(paper.components(share))
    yield "tail beyond the sensors, %", own.tail(here), paper.tail(there)


def count_sensors(known: Registry, dataset: Dataset) -> int:
    """In one frame."""
    grid = dataset.grid(dataset.sizes.frames)
    return int(known.load("tasks", SENSORS).mask(grid, torch.Generator().manual_seed(0))[0].sum())


def verdict(ratio: float) -> str:
    """Of a tail over that at paper size."""
    return DEGENERATE if ratio < 1 / FACTOR else "harder" if ratio > FACTOR else "kept"


def _row(dataset: str, figure: str, profile: str, value: float, paper: float | None) -> dict[str, Any]:
    row = {"dataset": dataset, "figure": figure, profile: value, "paper": "not recorded" if paper is None else paper}
    return row | ({"ratio": value / paper} if paper else {})


def recorded_error(results: Path, cell: Cell, steady: bool) -> float | None:
    """The headline of the stored record of a cell, else of its variant with the largest training set, in percent."""
    found = []
    for path in cell.path(results).parent.glob(f"{cell.method}[@-]*s{cell.seed}.json"):
        with suppress(OSError, RecordError):
            record = read_record(path)
            if record.state == "done" and record.cell.method == cell.method and _comparable(record, steady):
                found.append((not record.cell.variant, record.settings["dataset"]["sizes"]["train"], record))
    best = max(found, key=lambda one: one[:2], default=None)
    return best and best[2].headline.in_percent().mean


def _comparable(record: Record, steady: bool) -> bool:
    """Scored as today (version 2 changed the headline of steady problems), and at most with less training data."""
    changed = record.changes.keys() - {"dataset.sizes.train", "dataset.clips_per_run"}
    return not changed and (not steady or record.basis.scorer == SCORER_VERSION)


def reference_error(
    known: Registry,
    dataset: Dataset,
    method_name: str,
    task_name: str,
    root: Path,
    profile: str,
    progress: Progress | None,
) -> float | str:
    """Mean relative l2 error in percent on the test set, or why there is none."""
    from datasets.generate import ensure_data
    from datasets.store import open_split

    task, cls = known.load("tasks", task_name), known.load("methods", method_name)
    method = cls(cls.profiles[profile])
    if reason := unsupported(method, task, dataset):
        return reason
    ensure_data(dataset, root, progress=progress)
    length = {"test": scored_length(task, dataset)}
    train, valid, test = (open_split(dataset, split, root, frames=length.get(split)) for split in SPLITS)
    question = Question(dataset, task, MaskNames(dataset.name, task.name), lambda: test[:])
    return evaluate(question, lambda: fit_in_memory(method, train, valid, task)).error
