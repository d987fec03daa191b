"""Markdown: pipe tables that also read well in a terminal, with interval and spread over seeds behind each number."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmark.leaderboard import text
from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.columns import Column
from benchmark.leaderboard.display import display
from benchmark.leaderboard.shape import Names
from benchmark.leaderboard.tables import Shown, Table, family_tables

_SPECIAL = re.compile(r"([\\|*<`\[\]]|(?<!\w)_|_(?!\w))")  # an underscore inside a word is safe
_WIDEST = {True: 6, False: 10}  # columns of a table, with and without intervals
_FRAMES = {"best": "**{}**", "second": "<u>{}</u>", "reference": "*{}*", "": "{}"}


def render(board: Leaderboard) -> str:
    parts = [f"# {text.title(board)}", *map(escape, text.heading(board))]
    if board.records:
        parts += ["\n".join(f"- {line}" for line in text.legend(board))]
        intervals = board.shape.intervals is not False
        parts += [p for table in family_tables(board, _WIDEST[intervals]) for p in _family(table, board, intervals)]
        parts += ["## Overview", *_overview(board)]
    if board.problems:
        parts += ["## Could not be read", bullets([_one_line(problem) for problem in board.problems])]
    return "\n\n".join(parts) + "\n"


def _family(table: Table, board: Leaderboard, intervals: bool) -> list[str]:
    names = board.shape.names or "id"
    parts = [f"## {table.title}"]
    if table.columns:
        parts += [escape(table.caption)] if table.caption else []
        header = ["method", *table.beside.header, *(_header(column, names) for column in table.columns)]
        body = []
        for block, rows in table.blocks:
            body.append([f"*{block}*", *[""] * (len(header) - 1)])
            body += [
                [escape(display(method, names)), *table.beside.of(method), *(_place(one, intervals) for one in row)]
                for method, row in rows
            ]
        parts.append(pipe_table([escape(name) for name in header], body))
    notes = [f"<sup>{mark}</sup> {_one_line(note)}" for mark, note in table.footnotes]
    notes += [_one_line(remark) for remark in table.remarks]
    return [*parts, bullets(notes)] if notes else parts


def _header(column: Column, names: Names) -> str:
    """`kolmogorov cont_3`, or 'Kolmogorov flow, 3 %'."""
    return f"{display(column.dataset, names)}{',' * (names == 'display')} {display(column.task, names)}"


def _place(shown: Shown, intervals: bool) -> str:
    value = _FRAMES[shown.emphasis].format(shown.text)
    letters = ",".join(mark for mark in shown.marks if mark != text.ALIKE)
    value += text.ALIKE if text.ALIKE in shown.marks else ""
    value += f"<sup>{letters}</sup>" if letters else ""
    return " ".join(filter(None, [value, shown.interval if intervals else "", shown.seeds]))


def _overview(board: Leaderboard) -> list[str]:
    parts = []
    for title, (header, *rows) in text.overview_tables(board).items():
        parts += [f"### {title}", pipe_table(header, [[escape(cell) for cell in row] for row in rows])]
    return [*parts, bullets(text.overview_notes(board.overview))]


def pipe_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns padded to their width, first one left, the others right."""
    widths = [max(3, *map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "| " + " | ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]) + " |"

    rule = "|" + "|".join(["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])]) + "|"
    return "\n".join([line(header), rule, *map(line, rows)])


def bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def escape(line: str) -> str:
    """Text as it is, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(line.splitlines()))


def _one_line(note: str, limit: int = 200) -> str:
    """A reason or message on one line, cut where it grows long; csv, json and html have the whole."""
    line = " ".join(note.split())
    return escape(line if len(line) <= limit else line[: limit - 3] + "...")
