"""A comparison to read, as Markdown and LaTeX: counts, claims, orderings, and where the paper contradicts itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from benchmark.published.compare import Beside, Comparison
from benchmark.published.tidy import render_csv, render_json
from benchmark.published.verdicts import STATES, Verdict

TITLE = "The VideoPDE paper against these records, profile {}"
TEST = (
    "Tested at the 5 % level on the same trajectories, as the daggers of the leaderboard are, adjusted after Holm "
    "within a column and within a claim; on different data by Welch's test. Times are one reading of a clock: a factor "
    "of 1.25 counts. undecided: tested, and shown neither way, or not all of a claim is run; not run: no record, or "
    "none that may be compared."
)
OWN = "Own: whether the paper's own numbers bear the claim out, and in how many of its cells."
ORDERING = (
    "An ordering is a pair of methods whose errors the paper prints for the same task of the same dataset: 306 pairs."
)
BESIDE = (
    "Ours, the paper's, and the difference. A number without ours has the reason as its note; what the paper leaves "
    "open about a number, and is assumed here, is a note too."
)
LATEX_HEAD = "% needs \\usepackage{array,booktabs,longtable}\n{\\footnotesize\\setlength{\\tabcolsep}{3pt}\n"
Rows = list[list[str]]


def render_markdown(c: Comparison) -> str:
    parts = [f"# {TITLE.format(c.profile)}", *c.warnings, _pipe(*count_table(c)), f"{TEST} {ORDERING}"]
    parts += ["## Claims", OWN, _pipe(*claim_table(c.claims))]
    if found := [f"{v.id}: {'; '.join(v.notes)}" for v in c.claims if v.state != "not run" and v.notes]:
        parts += [_bullets(found)]
    parts += ["## Orderings", _pipe(*column_table(c.orderings))]
    if against := [_against(v) for v in c.orderings if v.state == "contradicted"]:
        parts += ["Contradicted:", _bullets(against)]
    parts += [
        "## Contradictions inside the paper",
        _bullets([f"{x.id} ({x.how}; {x.where}): {x.text}" for x in c.contradictions]),
    ]
    if c.numbers:
        parts += ["## Numbers", BESIDE, _pipe(*number_table(c.numbers))]
    return "\n\n".join(parts) + "\n"


def render_latex(c: Comparison) -> str:
    """Tables that take array, booktabs and longtable; long texts wrap."""
    claims = f"l{_wrapped(0.34)}l{_wrapped(0.12)}{_wrapped(0.07)}{_wrapped(0.2)}"
    tables = [
        ("l" + "r" * (len(STATES) + 1), f"{TITLE.format(c.profile)}. {' '.join(c.warnings)}", count_table(c)),
        (claims, f"Claims. {TEST} {OWN}", claim_table(c.claims)),
        ("l" + "r" * len(STATES), f"Orderings. {ORDERING}", column_table(c.orderings)),
    ]
    if c.numbers:
        columns = f"{_wrapped(0.08)}{_wrapped(0.2)}l{_wrapped(0.13)}rr{_wrapped(0.27)}"
        tables.append((columns, BESIDE, number_table(c.numbers)))
    body = "\n".join(_longtable(*table) for table in tables)
    return f"{LATEX_HEAD}{body}}}\n"


def _wrapped(share: float) -> str:
    """A column of text, so much of the line wide."""
    return f">{{\\raggedright\\arraybackslash}}p{{{share:g}\\linewidth}}"


RENDERERS: dict[str, tuple[str, Callable[[Comparison], str]]] = {
    "md": ("md", render_markdown),
    "latex": ("tex", render_latex),
    "csv": ("csv", render_csv),
    "json": ("json", render_json),
}


def count_table(c: Comparison) -> tuple[list[str], Rows]:
    rows = []
    for name, kind, verdicts in (("orderings", "ordering", c.orderings), ("claims", "claim", c.claims)):
        rows.append([name, *(str(n) for n in c.counts(kind).values()), str(len(verdicts))])
    return ["", *STATES, "all"], rows


def claim_table(claims: Sequence[Verdict]) -> tuple[list[str], Rows]:
    header = ["", "claim", "verdict", "cells", "own", "our reading"]
    return header, [[v.id, v.text, v.state, _cells(v), v.own, v.reading] for v in claims]


def _cells(v: Verdict) -> str:
    """4 reproduced, 2 not run; nothing for a claim of which nothing is run."""
    shown = [f"{n} {state}" for state, n in v.counts if n]
    return "" if v.state == "not run" else ", ".join(shown)


def column_table(orderings: Sequence[Verdict]) -> tuple[list[str], Rows]:
    rows = []
    for (dataset, task), column in groupby(orderings, lambda v: (v.dataset, v.task)):
        states = [v.state for v in column]
        rows.append([f"{dataset} {task}", *(str(states.count(state)) for state in STATES)])
    return ["", *STATES], rows


def number_table(numbers: Sequence[Beside]) -> tuple[list[str], Rows]:
    header = ["table", "number", "unit", "ours", "published", "difference", "note"]
    rows = []
    for one in numbers:
        interval = "" if one.low is None else f" [{one.low:.3g}, {one.high:.3g}]"
        ours = "" if one.ours is None else f"{one.ours:.3g}{interval}"
        difference = "" if one.difference is None else f"{one.difference:+.3g}"
        number = one.number
        printed = number.printed or "X"
        rows.append([number.table, str(number.place), number.unit, ours, printed, difference, one.note])
    return header, rows


def _against(v: Verdict) -> str:
    ours = "" if v.ours is None else f"{v.ours[0]:.3g} and {v.ours[1]:.3g} %"
    return f"{v.dataset} {v.task}: {v.text} in the paper; here {ours}, ratio {v.ratio:.2f}, p = {v.p:.2g}"


def _pipe(header: Sequence[str], rows: Rows) -> str:
    from tabulate import tabulate

    numbers = {*STATES, "all", "ours", "published", "difference"}
    align = ["right" if name in numbers else "left" for name in header]
    return tabulate(rows, header, tablefmt="pipe", disable_numparse=True, colalign=align)


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _longtable(columns: str, caption: str, table: tuple[list[str], Rows]) -> str:
    header, rows = table
    body = "\n".join(" & ".join(map(_tex, row)) + r" \\" for row in rows)
    head = " & ".join(map(_tex, header)) + r" \\"
    return (
        f"\\begin{{longtable}}{{{columns}}}\n\\caption{{{_tex(caption)}}} \\\\\n\\toprule\n{head}\n\\midrule\n"
        f"\\endfirsthead\n\\toprule\n{head}\n\\midrule\n\\endhead\n{body}\n\\bottomrule\n\\end{{longtable}}\n"
    )


def _tex(text: str) -> str:
    for mark, safe in (
        ("\\", r"\textbackslash "),
        ("&", r"\&"),
        ("%", r"\%"),
        ("_", r"\_"),
        ("#", r"\#"),
        ("<", "$<$"),
    ):
        text = text.replace(mark, safe)
    return text
