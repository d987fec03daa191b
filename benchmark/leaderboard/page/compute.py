"""Error against compute: the curves that the stored records make, one for each column with fits of several budgets."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import Any

from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.curve import build_curve
from benchmark.leaderboard.curve_text import as_json
from benchmark.leaderboard.display import display
from benchmark.leaderboard.page.details import short
from benchmark.leaderboard.page.videos import own_cell
from benchmark.records.record import Record

BUDGET = re.compile(r"(?:(.*)\+)?budget_([0-9.e+-]+)")


def compute_curves(board: Leaderboard) -> list[dict[str, Any]]:
    """In the order of the columns."""
    columns: dict[tuple[str, str], dict[tuple[str, float], list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in (*board.budgets, *board.records):
        line, budget = line_of(record)
        own = columns[record.cell.dataset, record.cell.task][line, budget]
        own += [record] if all(record.cell.seed != other.cell.seed for other in own) else []
    found = ((key, _several(points)) for key, points in columns.items())
    return [_curve(board, *key, points) for key, points in sorted(found) if points]


def line_of(record: Record) -> tuple[str, float]:
    """`fno @ wide+budget_5` is a point of the line `fno @ wide`, at five times the budget."""
    cell = own_cell(record)
    match = BUDGET.fullmatch(cell.variant)
    if match is None:
        return cell.label, 1.0
    return replace(cell, variant=match[1] or "").label, float(match[2])


def _several(points: dict[tuple[str, float], list[Record]]) -> dict[tuple[str, float], list[Record]]:
    """The lines with another budget than the profile's own."""
    lines = {line for line, budget in points if budget != 1}
    return {key: records for key, records in points.items() if key[0] in lines}


def _curve(
    board: Leaderboard, dataset: str, task: str, points: dict[tuple[str, float], list[Record]]
) -> dict[str, Any]:
    references = [
        record
        for record in board.records
        if (record.cell.dataset, record.cell.task) == (dataset, task) and record.is_reference
        and record.state == "done" and record.cell.seed == 0
    ]  # fmt: skip
    shown = as_json(build_curve(board.profile, dataset, task, points, references, board.samples))
    for one in (*shown["points"], *shown["references"]):
        one.update(
            {name: short(value) for name, value in one.items() if isinstance(value, float)},
            label=display(one["method"]),
        )
    return shown | {"datasetLabel": display(dataset), "taskLabel": display(task)}
