"""What tells methods apart beside their errors: what they are given, and what one of their fits serves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from benchmark.leaderboard.display import display
from benchmark.leaderboard.names import ordered
from benchmark.leaderboard.shape import Names
from benchmark.records.record import About, Record

SCOPES = {
    "dataset": "One fit serves all tasks of a dataset",
    "task": "One fit for each task",
    "instance": "Fitted to each test trajectory, nothing learned from the training set",
}


def traits(records: Iterable[Record], methods: Collection[str], names: Names = "id") -> list[str]:
    """A sentence per trait that any of the methods has, as their records declare it."""
    abouts: dict[str, About] = {}
    for record in records:
        method, about = record.cell.method, record.about
        if method in methods and about is not None and record.state == "done":
            aids = {*about.aids, *(abouts[method].aids if method in abouts else ())}
            abouts[method] = replace(about, aids=tuple(sorted(aids)))
    aids = sorted({aid for about in abouts.values() for aid in about.aids})
    kinds: dict[str, Callable[[About], bool]] = {
        "Uses the equation beside the data": lambda about: about.uses_equation,
        **{text: _learned_with(scope) for scope, text in SCOPES.items()},
        **{f"Given {aid}": _has(aid) for aid in aids},
    }
    who = {text: [name for name, about in abouts.items() if holds(about)] for text, holds in kinds.items()}
    shown = {text: [display(name, names) for name in ordered(found, "methods")] for text, found in who.items()}
    return [f"{text}: {', '.join(found)}." for text, found in shown.items() if found]


def _learned_with(scope: str) -> Callable[[About], bool]:
    return lambda about: about.kind == "learned" and about.scope == scope


def _has(aid: str) -> Callable[[About], bool]:
    return lambda about: aid in about.aids
