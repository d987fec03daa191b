r"""LaTeX: one booktabs table a family, to be included with \input. Pure ASCII, so that any engine takes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from benchmark.leaderboard import text
from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.capabilities import CAN
from benchmark.leaderboard.columns import Column
from benchmark.leaderboard.display import display
from benchmark.leaderboard.shape import Names
from benchmark.leaderboard.tables import Shown, Table, family_tables

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    text.DASH: "---",
    CAN: r"\checkmark{}",
    text.ALIKE: r"$^\dagger$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_FRAMES = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "reference": r"\textit{%s}", "": "%s"}
_LEGEND = (
    f"Bold: best learned method; underlined: second; {text.ALIKE}: not shown to be worse than the best; italic: the "
    f"best reference where no learned method has a lower error; missing: no record."
)
_WIDEST = {True: 3, False: 6}  # columns of a table, with and without intervals


def render(board: Leaderboard) -> str:
    lines = [
        f"{text.title(board)}.",
        *text.heading(board),
        r"Needs \usepackage{amssymb,booktabs}.",
        *text.legend(board),
    ]
    if board.problems:
        lines += ["Could not be read:", *(" ".join(problem.split()) for problem in board.problems)]
    parts = [comment(lines)]
    tables = family_tables(board, _WIDEST[bool(board.shape.intervals)], "display")
    parts += [_family(table, board) for table in tables if table.columns]
    if board.records:
        parts += _overview(board)
    return "\n\n".join(parts) + "\n"


def comment(lines: Sequence[str]) -> str:
    return "\n".join(f"% {_ascii(line)}" for line in lines)


def plain_table(
    caption: str, label: str, header: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]
) -> str:
    """A table of texts as they are."""
    first, *others = header
    lines = [_row([_escape(first), *map(_stacked, others)]), r"\midrule"]
    lines += [_row(list(map(_escape, row))) for row in rows]
    return _float(caption, _label(label), lines, "r" * len(others), [_escape(" ".join(note.split())) for note in notes])


def _stacked(words: str, side: str = "r") -> str:
    """One word a line, so that a heading is no wider than it must be."""
    lines = [_escape(word) for word in words.split()]
    return rf"\shortstack[{side}]{{" + r" \\ ".join(lines) + "}" if len(lines) > 1 else lines[0]


def _family(table: Table, board: Leaderboard) -> str:
    beside, body, intervals, names = (
        table.beside.header,
        [],
        bool(board.shape.intervals),
        board.shape.names or "display",
    )
    for _, rows in table.blocks:
        body.append(r"\midrule")
        body += [
            _row([*map(_escape, (display(m, names), *table.beside.of(m))), *(_place(one, intervals) for one in row)])
            for m, row in rows
        ]
    notes = [
        _escape(_LEGEND if board.shape.measure.is_error else text.NOT_TESTED),
        *(f"{_raised(mark)} {_one_line(note)}" for mark, note in table.footnotes),
    ]
    notes += [_one_line(remark) for remark in table.remarks]
    shown = text.what(board.shape.measure, (column.dataset for column in table.columns))
    what = f"{table.title}, profile {board.profile}: {shown}."
    caption = " ".join(filter(None, [what, table.caption, _caption_sources(board, table, names)]))
    align = "l" * bool(beside) + "c" * (len(beside) - 1) + "r" * len(table.columns)
    return _float(
        caption, _label(table.title), [*_header(table.columns, names, beside), *body], align, notes, 2 if beside else 3
    )


def _caption_sources(board: Leaderboard, table: Table, names: Names) -> str:
    """Where the numbers of this table come from."""
    here = {column.dataset for column in table.columns}
    found = {source: [display(d, names) for d in ds if d in here] for source, ds in text.sources(board).items()}
    parts = [f"{source} ({', '.join(datasets)})" for source, datasets in found.items() if datasets]
    return f"Data: {'; '.join(parts)}." if parts else ""


def _header(columns: Sequence[Column], shown: Names, beside: Sequence[str]) -> list[str]:
    """Datasets above, their tasks below, a thin rule between."""
    names, rules, start = [""] * (1 + len(beside)), [], 2 + len(beside)
    for dataset, group in groupby(columns, key=lambda column: column.dataset):
        width = len(list(group))
        names.append(rf"\multicolumn{{{width}}}{{c}}{{{_heading(display(dataset, shown), width)}}}")
        rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    return [
        _row(names),
        " ".join(rules),
        _row(
            [
                "method",
                *(_stacked(words, "c") for words in beside),
                *(_escape(display(column.task, shown)) for column in columns),
            ]
        ),
    ]


def _heading(dataset: str, width: int) -> str:
    """Over a single column a name takes several lines."""
    return _stacked(dataset.replace("-", "- ")) if width == 1 else _escape(dataset)


def _place(shown: Shown, intervals: bool) -> str:
    marks = ",".join(r"\dagger" if mark == text.ALIKE else rf"\mathrm{{{mark}}}" for mark in shown.marks)
    value = _FRAMES[shown.emphasis] % _escape(shown.text)
    value = f"{value}$^{{{marks}}}$" if marks else value
    return rf"{value} {{\scriptsize {_escape(shown.interval)}}}" if intervals and shown.interval else value


def _overview(board: Leaderboard) -> list[str]:
    names, floats = board.shape.names or "display", []
    notes = text.overview_notes(board.overview)
    tables = text.overview_tables(board)
    for number, (title, (header, *rows)) in enumerate(tables.items(), 1):
        body = [[display(first, names), *others] for first, *others in rows]
        last = notes if number == len(tables) else []
        floats.append(plain_table(f"{title}, profile {board.profile}.", title, header, body, last))
    return floats


def _float(caption: str, label: str, lines: Sequence[str], align: str, notes: Sequence[str], gap: int = 3) -> str:
    """`gap`: points on each side of a column."""
    tabular = [rf"\begin{{tabular}}{{l{align}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"]
    footer = [r"\par\smallskip", r"\begin{minipage}{\linewidth}\footnotesize", " \\\\\n".join(notes), r"\end{minipage}"]
    return "\n".join(
        [
            r"\begin{table}[htbp]",
            rf"\centering\footnotesize\setlength{{\tabcolsep}}{{{gap}pt}}",
            rf"\caption{{{_escape(caption.strip())}}}",
            rf"\label{{{label}}}",
            *tabular,
            *(footer if notes else []),
            r"\end{table}",
        ]
    )


def _label(title: str) -> str:
    return "tab:" + "-".join(re.findall(r"[a-z0-9]+", title.lower()))


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _raised(mark: str) -> str:
    return rf"$^{{\mathrm{{{mark}}}}}$"


def _one_line(note: str, limit: int = 160) -> str:
    line = " ".join(note.split())
    return _escape(line if len(line) <= limit else line[: limit - 3] + "...")


def _escape(line: str) -> str:
    return _ascii("".join(_SPECIAL.get(character, character) for character in line))


def _ascii(line: str) -> str:
    return (
        line.replace(text.ALIKE, "dagger")
        .replace(text.DASH, "---")
        .replace("±", "+-")
        .encode("ascii", "replace")
        .decode()
    )
