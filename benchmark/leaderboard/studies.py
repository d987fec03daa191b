"""The table of a study: the same cells under several settings, side by side."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmark.leaderboard.board import Leaderboard, read_leaderboard
from benchmark.leaderboard.entries import MISSING, Entry, Samples
from benchmark.leaderboard.markdown import pipe_table
from benchmark.leaderboard.names import ordered
from benchmark.leaderboard.selection import check_include
from benchmark.leaderboard.text import ONE_SEED, caption, error, number
from benchmark.planning.suites import Study


@dataclass(frozen=True)
class Comparison:
    """Entries by (dataset, task), method and variant; `problems` are records that could not be read, `left_out`
    says which were not asked for."""

    study: Study
    profile: str
    samples: Samples
    entries: dict[tuple[str, str], dict[str, dict[str, Entry]]]
    problems: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def compare(
    study: Study, results: Path, profile: str, samples: Samples = "one", include: Collection[str] = ()
) -> Comparison:
    boards = {name: read_leaderboard(study.folder(results, name), profile, samples, include) for name in study.variants}
    check_include(include, frozenset().union(*(board.others for board in boards.values())))
    found = {name: _entries(board) for name, board in boards.items()}
    cells = {cell for entries in found.values() for cell in entries}
    methods = ordered({method for _, _, method in cells}, "methods")
    places = [
        (d, t) for d in ordered({c[0] for c in cells}, "datasets") for t in ordered({c[1] for c in cells}, "tasks")
    ]
    entries = {
        (d, t): {m: {v: found[v].get((d, t, m)) or Entry(m, t, d, MISSING) for v in study.variants} for m in methods}
        for d, t in places
        if any((d, t) == cell[:2] for cell in cells)
    }
    problems = tuple(f"{variant}: {problem}" for variant, board in boards.items() for problem in board.problems)
    left_out = tuple(f"{variant}: {board.left_out}" for variant, board in boards.items() if board.left_out)
    return Comparison(study, profile, samples, entries, problems, left_out)


def _entries(board: Leaderboard) -> dict[tuple[str, str, str], Entry]:
    return {(column.dataset, column.task, m): entry for column in board.columns for m, entry in column.entries.items()}


def render_markdown(comparison: Comparison) -> str:
    study = comparison.study
    parts = [
        f"# {study.title}",
        f"Profile {comparison.profile}. Relative l2 error of the whole video in percent, with the 95 % interval over "
        f"test trajectories and, behind ±, the standard deviation of the seeds' means ({ONE_SEED}). Each column has "
        "data or settings of its own: a row shows a trend, and is not a ranking.",
        caption(comparison.samples),
        "\n".join(f"- {name}: {spell(changes)}" for name, changes in study.variants.items()),
    ]
    for (dataset, task), rows in comparison.entries.items():
        table = [[method, *(_place(entry) for entry in row.values())] for method, row in rows.items()]
        parts += [f"## {dataset} {task}", pipe_table(["method", *study.variants], table)]
        parts += _notes(rows)
    return "\n\n".join(parts) + "\n"


def _notes(rows: Mapping[str, Mapping[str, Entry]]) -> list[str]:
    """What must be known beside the numbers, a line each."""
    found = [(method, name, note) for method, row in rows.items() for name, e in row.items() for note in e.notes]
    return ["\n".join(f"- {method}, {name}: {' '.join(note.split())}" for method, name, note in found)] if found else []


def spell(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in changes.items()) or "as the profile has it"


def _place(entry: Entry) -> str:
    if entry.mean is None or entry.low is None or entry.high is None:
        return entry.state
    spread = "" if entry.seed_sd is None else f" ± {number(entry.seed_sd)}"
    return f"{error(entry.mean)} [{error(entry.low)}, {error(entry.high)}]{spread}"


def render_json(comparison: Comparison) -> str:
    study = comparison.study
    head = {"study": study.name, "title": study.title, "profile": comparison.profile, "variants": study.variants}
    return json.dumps({**head, "cells": _rows(comparison)}, indent=1) + "\n"


def render_csv(comparison: Comparison) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("variant", "dataset", "task", "method", "state", "mean", "low", "high", "seed_sd")
    writer.writerow([*names, "seeds", "notes"])
    for row in _rows(comparison):
        writer.writerow([*(row[name] for name in names), " ".join(map(str, row["seeds"])), "; ".join(row["notes"])])
    return text.getvalue()


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """One a cell and variant; errors in percent."""
    return [
        {"variant": variant, **asdict(entry)}
        for rows in comparison.entries.values()
        for row in rows.values()
        for variant, entry in row.items()
    ]


RENDERERS: dict[str, Callable[[Comparison], str]] = {"md": render_markdown, "csv": render_csv, "json": render_json}
