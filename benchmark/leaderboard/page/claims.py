"""What the paper claims and how the records stand to it, for the page."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.display import display
from benchmark.leaderboard.page.details import short
from benchmark.published import Comparison, Verdict, compare
from benchmark.published.compare import Beside


def claims_json(board: Leaderboard) -> dict[str, Any] | None:
    """None: the board has a part of the records alone, and says nothing of the paper's claims."""
    if board.shape.is_narrow:
        return None
    found = compare(board.records, board.profile, board.studies)
    return {
        "warnings": list(found.warnings),
        "counts": {"claims": found.counts("claim"), "orderings": found.counts("ordering")},
        "claims": [_claim(verdict) for verdict in found.claims],
        "orderings": [_ordering(verdict, found) for verdict in found.orderings],
        "contradictions": [{name: str(value) for name, value in x._asdict().items()} for x in found.contradictions],
        "numbers": [_number(number) for number in found.numbers],
    }


def _claim(verdict: Verdict) -> dict[str, Any]:
    parts = asdict(verdict)
    names = ("id", "text", "state", "source", "own", "reading", "notes")
    return {name: parts[name] for name in names} | {"counts": [list(pair) for pair in verdict.counts if pair[1]]}


def _ordering(verdict: Verdict, found: Comparison) -> dict[str, Any]:
    """The paper's errors stand beside ours at its own sizes alone."""
    parts = {
        "column": f"{display(verdict.dataset)}, {display(verdict.task)}",
        "text": f"{display(verdict.lower)} < {display(verdict.higher)}",
        "state": verdict.state,
        "ratio": short(verdict.ratio),
        "p": short(verdict.p, 2),
        "note": "; ".join(verdict.notes),
    }
    return parts | ({"printed": verdict.printed, "ours": short(verdict.ours)} if found.profile == "paper" else {})


def _number(one: Beside) -> dict[str, Any]:
    return {
        "table": one.number.table,
        "place": str(one.number.place),
        "printed": one.number.printed or "X",
        "unit": one.number.unit,
        "ours": short(one.ours),
        "difference": short(one.difference),
        "note": one.note,
    }
