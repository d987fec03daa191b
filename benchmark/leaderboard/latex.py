r"""LaTeX: one booktabs table a family, to be included with \input. Pure ASCII, so that any engine takes it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from benchmark.leaderboard import text
from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.columns import Column
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
    text.ALIKE: r"$^\dagger$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_FRAMES = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "reference": r"\textit{%s}", "": "%s"}
_LEGEND = (
    f"Bold: best learned method; underlined: second; {text.ALIKE}: not shown to be worse than the best; italic: the "
    f"best reference where no learned method has a lower error; {text.DASH}: missing."
)
_WIDE = 6  # more columns than this are scaled to the line


def render(board: Leaderboard) -> str:
    lines = [
        f"{text.title(board)}.",
        *text.heading(board),
        r"Needs \usepackage{booktabs,graphicx}.",
        *text.legend(board),
    ]
    if board.problems:
        lines += ["Could not be read:", *(" ".join(problem.split()) for problem in board.problems)]
    parts = ["\n".join(f"% {_ascii(line)}" for line in lines)]
    parts += [_family(table, board) for table in family_tables(board) if table.columns]
    if board.records:
        parts.append(_overview(board))
    return "\n\n".join(parts) + "\n"


def _family(table: Table, board: Leaderboard) -> str:
    body = []
    for _, rows in table.blocks:
        body.append(r"\midrule")
        body += [_row([_escape(method), *map(_place, places)]) for method, places in rows]
    notes = [_escape(_LEGEND), *(f"{_raised(mark)} {_one_line(note)}" for mark, note in table.footnotes)]
    notes += [_one_line(remark) for remark in table.remarks]
    what = f"{table.title}, profile {board.profile}: relative l2 error in percent."
    caption = f"{what} {table.caption} {_caption_sources(board)}"
    return _float(caption, _label(table.title), [*_header(table.columns), *body], len(table.columns), notes)


def _caption_sources(board: Leaderboard) -> str:
    parts = [f"{source} ({', '.join(datasets)})" for source, datasets in text.sources(board).items()]
    return f"Data: {'; '.join(parts)}." if parts else ""


def _header(columns: Sequence[Column]) -> list[str]:
    """Datasets above, their tasks below, a thin rule between."""
    names, rules, start = [""], [], 2
    for dataset, group in groupby(columns, key=lambda column: column.dataset):
        width = len(list(group))
        names.append(rf"\multicolumn{{{width}}}{{c}}{{{_escape(dataset)}}}")
        rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    return [_row(names), " ".join(rules), _row(["method", *(_escape(column.task) for column in columns)])]


def _place(shown: Shown) -> str:
    marks = ",".join(r"\dagger" if mark == text.ALIKE else rf"\mathrm{{{mark}}}" for mark in shown.marks)
    value = _FRAMES[shown.emphasis] % _escape(shown.text)
    return f"{value}$^{{{marks}}}$" if marks else value


def _overview(board: Leaderboard) -> str:
    rows = [_row([_escape(cell) for cell in row]) for row in text.overview_rows(board.overview)]
    header = _row([_escape(name) for name in text.OVERVIEW_HEADER])
    notes = [_escape(line) for line in text.overview_notes(board.overview)]
    caption = f"Overview, profile {board.profile}."
    return _float(caption, "tab:overview", [header, r"\midrule", *rows], len(text.OVERVIEW_HEADER) - 1, notes)


def _float(caption: str, label: str, lines: Sequence[str], columns: int, notes: Sequence[str]) -> str:
    tabular = [rf"\begin{{tabular}}{{l{'r' * columns}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"]
    if columns > _WIDE:
        tabular = [r"\resizebox{\linewidth}{!}{%", *tabular, "}"]
    footer = [r"\par\smallskip", r"\begin{minipage}{\linewidth}\footnotesize", " \\\\\n".join(notes), r"\end{minipage}"]
    return "\n".join(
        [
            r"\begin{table}[htbp]",
            r"\centering",
            rf"\caption{{{_escape(caption.strip())}}}",
            rf"\label{{{label}}}",
            *tabular,
            *(footer if notes else []),
            r"\end{table}",
        ]
    )


def _label(title: str) -> str:
    return "tab:" + "-".join(re.findall(r"[a-z]+", title.lower()))


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
