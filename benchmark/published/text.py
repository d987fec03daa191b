"""A comparison as Markdown, LaTeX, csv and JSON: counts, claims, orderings, and where the paper contradicts itself."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import groupby

from benchmark.published.compare import Beside, Comparison
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
    """Tables that take booktabs and longtable; a claim's text wraps."""
    tables = [
        ("l" + "r" * (len(STATES) + 1), f"{TITLE.format(c.profile)}. {' '.join(c.warnings)}", count_table(c)),
        (r"lp{0.42\linewidth}lrrp{0.2\linewidth}", f"Claims. {TEST} {OWN}", claim_table(c.claims)),
        ("l" + "r" * len(STATES), f"Orderings. {ORDERING}", column_table(c.orderings)),
        *([(r"lllrrrp{0.3\linewidth}", BESIDE, number_table(c.numbers))] if c.numbers else []),
    ]
    return "% needs \\usepackage{booktabs,longtable}\n" + "\n".join(_longtable(*table) for table in tables)


def render_csv(c: Comparison) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, lineterminator="\n")
    writer.writeheader()
    verdicts = [_flat(v, c.profile == "paper") for v in (*c.claims, *c.orderings)]
    writer.writerows([*verdicts, *map(_flat_number, c.numbers)])
    return buffer.getvalue()


def render_json(c: Comparison) -> str:
    document = {
        "profile": c.profile,
        "warnings": c.warnings,
        "counts": {kind: c.counts(kind) for kind in ("ordering", "claim")},
        "claims": [{**asdict(v), "counts": dict(v.counts)} for v in c.claims],
        "orderings": [asdict(v) for v in c.orderings],
        "contradictions": [x._asdict() for x in c.contradictions],
        "numbers": [_flat_number(number) for number in c.numbers],
    }
    return json.dumps(document, indent=1) + "\n"


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


COLUMNS: tuple[str, ...] = (
    "kind", "id", "text", "state", "source", "dataset", "task", "lower", "higher", "printed", "printed_higher", "ours",
    "ours_higher", "low", "high", "difference", "unit", "ratio", "p", "own", *STATES, "reading", "notes",
)  # fmt: skip


def _flat(v: Verdict, with_printed: bool) -> dict[str, object]:
    """The paper's numbers stand beside ours only at its sizes."""
    names = (
        "kind",
        "id",
        "text",
        "state",
        "source",
        "dataset",
        "task",
        "lower",
        "higher",
        "ratio",
        "p",
        "own",
        "reading",
    )
    pairs = {name: pair for name, pair in (("printed", v.printed if with_printed else None), ("ours", v.ours)) if pair}
    values = {
        name: value for name, pair in pairs.items() for name, value in zip((name, f"{name}_higher"), pair, strict=True)
    }
    unit = {"unit": "%"} if v.kind == "ordering" else {}
    return {**{n: getattr(v, n) for n in names}, **values, **unit, **dict(v.counts), "notes": "; ".join(v.notes)}


def _flat_number(one: Beside) -> dict[str, object]:
    number, place = one.number, one.number.place
    return {
        "kind": "number", "id": number.table, "text": str(place), "state": "" if one.ours is not None else "not run",
        "source": number.source, "dataset": place.dataset, "task": place.task, "lower": place.method,
        "printed": number.printed, "ours": one.ours, "low": one.low, "high": one.high, "difference": one.difference,
        "unit": number.unit, "notes": one.note,
    }  # fmt: skip
