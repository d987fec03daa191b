"""What tells methods apart beside their errors: what they are given, and what one of their fits serves."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from benchmark.leaderboard.names import ordered
from benchmark.records.record import About, Record

SCOPES = {
    "dataset": "One fit serves all tasks of a dataset",
    "task": "One fit for each task",
    "instance": "Fitted to each test trajectory, nothing learned from the training set",
}


def traits(records: Iterable[Record], methods: Collection[str]) -> list[str]:
    """A sentence per trait that any of the methods has, as their records declare it."""
    abouts: dict[str, About] = {}
    for record in records:
        method, about = record.cell.method, record.about
        if method in methods and about is not None and record.state == "done":
            aids = {*about.aids, *(abouts[method].aids if method in abouts else ())}
            abouts[method] = replace(about, aids=tuple(sorted(aids)))
    aids = sorted({aid for about in abouts.values() for aid in about.aids})
    sentences = [
        _sentence("Uses the equation beside the data", abouts, lambda about: about.uses_equation),
        *(_sentence(text, abouts, _learned_with(scope)) for scope, text in SCOPES.items()),
        *(_sentence(f"Given {aid}", abouts, _has(aid)) for aid in aids),
    ]
    return [sentence for sentence in sentences if sentence]


def _learned_with(scope: str) -> Callable[[About], bool]:
    return lambda about: about.kind == "learned" and about.scope == scope


def _has(aid: str) -> Callable[[About], bool]:
    return lambda about: aid in about.aids


def _sentence(text: str, abouts: dict[str, About], holds: Callable[[About], bool]) -> str:
    who = ordered((method for method, about in abouts.items() if holds(about)), "methods")
    return f"{text}: {', '.join(who)}." if who else ""
