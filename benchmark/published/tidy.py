"""A comparison for other programs: csv, a row a verdict or a number, and JSON, with everything."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict

from benchmark.published.compare import Beside, Comparison
from benchmark.published.verdicts import STATES, Verdict

COLUMNS: tuple[str, ...] = (
    "kind", "id", "text", "state", "source", "dataset", "task", "lower", "higher", "printed", "printed_higher", "ours",
    "ours_higher", "low", "high", "difference", "unit", "ratio", "p", "own", *STATES, "reading", "notes",
)  # fmt: skip


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
        "numbers": [_whole_number(number) for number in c.numbers],
    }
    return json.dumps(document, indent=1) + "\n"


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


def _whole_number(one: Beside) -> dict[str, object]:
    """With all that says which cell of ours it belongs to."""
    number = one.number
    place = {**number.place._asdict(), "fields": number.fields, "setting": number.setting}
    words = {"table": number.table, "source": number.source, "mark": number.mark, "assumed": number.assumed}
    ours = {name: getattr(one, name) for name in ("ours", "low", "high", "difference", "seeds", "note")}
    return {**place, **words, "printed": number.printed or None, "unit": number.unit, **ours, "data": one.source}
