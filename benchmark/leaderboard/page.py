"""html: one plain page without outside parts; tables sort on a click and read as they are without scripts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmark.leaderboard import text
from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.tables import family_tables
from benchmark.leaderboard.tidy import missing_entries
from benchmark.records.record import Record

CELL_HEADER = (
    "method",
    "task",
    "dataset",
    "seed",
    "state",
    "error %",
    "low",
    "high",
    "n",
    "frames",
    "parameters",
    "fit s",
    "predict s",
    "evaluations",
    "peak MB",
    "data",
    "commit",
    "reason",
)


def render(board: Leaderboard) -> str:
    from jinja2 import Environment

    source = Path(__file__).with_name("page.html.j2").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)
    return (
        template.render(
            title=text.title(board),
            heading=text.heading(board),
            legend=text.legend(board),
            tables=family_tables(board),
            overview_header=text.OVERVIEW_HEADER,
            overview_rows=text.overview_rows(board.overview),
            overview_notes=text.overview_notes(board.overview),
            cell_header=CELL_HEADER,
            cells=list(_cells(board)),
            problems=board.problems,
        )
        + "\n"
    )


def _cells(board: Leaderboard) -> Iterator[list[str]]:
    for record in board.records:
        yield _cell(record)
    for entry in missing_entries(board):
        yield [entry.method, entry.task, entry.dataset, "", entry.state, *[""] * (len(CELL_HEADER) - 6), "no record"]


def _cell(record: Record) -> list[str]:
    cell, done = record.cell, record.state == "done"
    error = _error(record) if done else ["", "", ""]
    cost, provenance = record.cost, record.provenance
    seconds = [_cost(cost.get(name)) for name in ("fit_seconds", "predict_seconds", "evaluations")]
    return [
        cell.method,
        cell.task,
        cell.dataset,
        str(cell.seed),
        record.state,
        *error,
        str(record.basis.trajectories) if done else "",
        "" if record.frames is None else ", ".join(map(str, record.frames)),
        f"{cost['parameters']:.0f}" if "parameters" in cost else "",
        *seconds,
        _cost(cost.get("peak_memory_mb")),
        record.source if done else "",
        str(provenance.get("commit") or "")[:12] + (" (changed)" if provenance.get("dirty") else ""),
        record.reason,
    ]


def _error(record: Record) -> list[str]:
    score = record.headline.in_percent()
    return [text.number(number) for number in (score.mean, score.low, score.high)]


def _cost(value: Any) -> str:
    return text.number(value) if isinstance(value, (int, float)) else ""
