"""The table of a study: the same cells under several settings, side by side."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from benchmark.leaderboard import latex
from benchmark.leaderboard.board import Leaderboard, build_leaderboard
from benchmark.leaderboard.collect import read_records
from benchmark.leaderboard.display import display
from benchmark.leaderboard.entries import MISSING, Entry, Samples
from benchmark.leaderboard.markdown import bullets, escape, pipe_table
from benchmark.leaderboard.measure import number
from benchmark.leaderboard.names import ordered
from benchmark.leaderboard.selection import check_include
from benchmark.leaderboard.shape import EVERYTHING, Names, Shape
from benchmark.leaderboard.text import ONE_SEED, caption, what
from benchmark.planning.suites import Study


@dataclass(frozen=True)
class Comparison:
    """Entries by (dataset, task), method and variant: those of the suite, and all that have a record.

    `problems` are records that could not be read, `left_out` says which were not asked for.
    """

    study: Study
    profile: str
    samples: Samples
    shape: Shape
    entries: dict[tuple[str, str], dict[str, dict[str, Entry]]]
    problems: tuple[str, ...]
    left_out: tuple[str, ...] = ()


def compare(
    study: Study,
    results: Path,
    profile: str,
    samples: Samples = "one",
    include: Collection[str] = (),
    shape: Shape = EVERYTHING,
) -> Comparison:
    """UserError for a typed name that no variant has a record of."""
    read = {name: read_records(study.folder(results, name), profile) for name in study.variants}
    shape.check_names(record.cell for records, _ in read.values() for record in records)
    boards = {
        name: build_leaderboard(records, problems, profile, samples, include, replace(shape, suite=None))
        for name, (records, problems) in read.items()
    }
    check_include(include, frozenset().union(*(board.others for board in boards.values())))
    found = {name: _entries(board) for name, board in boards.items()}
    methods, places = _layout({cell for entries in found.values() for cell in entries}, shape)
    entries = {
        (d, t): {m: {v: found[v].get((d, t, m)) or Entry(m, t, d, MISSING) for v in study.variants} for m in methods}
        for d, t in places
    }
    problems = tuple(f"{variant}: {problem}" for variant, board in boards.items() for problem in board.problems)
    left_out = tuple(f"{variant}: {board.left_out}" for variant, board in boards.items() if board.left_out)
    return Comparison(study, profile, samples, shape, entries, problems, left_out)


def _layout(cells: Set[tuple[str, str, str]], shape: Shape) -> tuple[list[str], list[tuple[str, str]]]:
    """Methods, and datasets with tasks: those of the suite in its order, then others that have a record."""
    if not cells:
        return [], []
    listed = shape.wanted if shape.suite else {}
    datasets, tasks = listed.get("dataset", ()), listed.get("task", ())
    asked = set(product(datasets, tasks)) | {cell[:2] for cell in cells}
    methods = ordered((*listed.get("method", ()), *(cell[2] for cell in cells)), "methods", listed.get("method", ()))
    order = product(
        ordered({dataset for dataset, _ in asked}, "datasets", datasets),
        ordered({task for _, task in asked}, "tasks", tasks),
    )
    return methods, [place for place in order if place in asked]


def _entries(board: Leaderboard) -> dict[tuple[str, str, str], Entry]:
    return {(column.dataset, column.task, m): entry for column in board.columns for m, entry in column.entries.items()}


def heading(comparison: Comparison) -> str:
    """What the numbers of every format are."""
    shown = what(comparison.shape.measure, (dataset for dataset, _ in comparison.entries))
    interval = " the 95 % interval over test trajectories and" if has_intervals(comparison) else ""
    return (
        f"Profile {comparison.profile}. {shown}, with{interval}, "
        f"behind ±, the standard deviation of the seeds' means ({ONE_SEED}). Each column has data "
        "or settings of its own: a row shows a trend, and is not a ranking."
    )


def has_intervals(comparison: Comparison) -> bool:
    return comparison.shape.intervals is not False


def rows(comparison: Comparison, names: Names = "id") -> Iterator[tuple[str, list[str], list[list[str]], list[str]]]:
    """Title, header, rows and notes of each dataset and task."""
    header = ["method", *comparison.study.variants]
    for (dataset, task), found in comparison.entries.items():
        body = [[display(m, names), *(_place(entry, comparison) for entry in row.values())] for m, row in found.items()]
        yield f"{display(dataset, names)} {display(task, names)}", header, body, _notes(found)


def render_markdown(comparison: Comparison) -> str:
    parts = [
        f"# {comparison.study.title}",
        heading(comparison),
        caption(comparison.samples),
        bullets(_variants(comparison)),
    ]
    for title, header, body, notes in rows(comparison, comparison.shape.names or "id"):
        body = [[escape(cell) for cell in row] for row in body]
        parts += [
            f"## {title}",
            pipe_table(header, body),
            *([bullets([escape(note) for note in notes])] if notes else []),
        ]
    return "\n\n".join(parts) + "\n"


def render_latex(comparison: Comparison) -> str:
    parts = [latex.comment([f"{comparison.study.title}.", heading(comparison), *_variants(comparison)])]
    for title, header, body, notes in rows(comparison, comparison.shape.names or "display"):
        what = f"{comparison.study.title}. {title}. {heading(comparison)} {caption(comparison.samples)}"
        parts.append(latex.plain_table(what, f"{comparison.study.name} {title}", header, body, notes))
    return "\n\n".join(parts) + "\n"


def render_html(comparison: Comparison) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("benchmark", "leaderboard"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("study.html.j2").render(
        title=comparison.study.title,
        sentences=[heading(comparison), caption(comparison.samples)],
        variants=_variants(comparison),
        tables=list(rows(comparison, comparison.shape.names or "display")),
    )


def _variants(comparison: Comparison) -> list[str]:
    return [f"{name}: {spell(changes)}" for name, changes in comparison.study.variants.items()]


def _notes(rows: Mapping[str, Mapping[str, Entry]]) -> list[str]:
    """What must be known beside the numbers, a line each."""
    found = [(method, name, note) for method, row in rows.items() for name, e in row.items() for note in e.notes]
    return [f"{method}, {name}: {' '.join(note.split())}" for method, name, note in found]


def spell(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in changes.items()) or "as the profile has it"


def _place(entry: Entry, comparison: Comparison) -> str:
    measure = comparison.shape.measure
    if entry.mean is None or entry.low is None or entry.high is None:
        return entry.state
    spread = "" if entry.seed_sd is None else f" ± {number(entry.seed_sd, measure.digits)}"
    interval = f" [{measure.text(entry.low)}, {measure.text(entry.high)}]" if has_intervals(comparison) else ""
    return f"{measure.text(entry.mean)}{interval}{spread}"


def render_json(comparison: Comparison) -> str:
    study = comparison.study
    head = {"study": study.name, "title": study.title, "profile": comparison.profile, "variants": study.variants}
    head["metric"] = comparison.shape.measure.name
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
    """One a cell and variant, in the metric's unit."""
    return [
        {"variant": variant, **asdict(entry)}
        for rows in comparison.entries.values()
        for row in rows.values()
        for variant, entry in row.items()
    ]


RENDERERS: dict[str, tuple[str, Callable[[Comparison], str]]] = {
    "md": ("md", render_markdown),
    "latex": ("tex", render_latex),
    "csv": ("csv", render_csv),
    "json": ("json", render_json),
    "html": ("html", render_html),
}
