"""From tests to verdicts, the same for records and for the paper's own numbers.

reproduced     shown, at the 5 % level                     undecided   tested, and shown neither way
contradicted   the opposite is shown, at the same level    not run     there is no record, or none that may be compared

Tests of one column of the paper, or of one claim, are adjusted together after Holm, as the daggers of the leaderboard
are within a column. A mean that points the other way than the test leaves a relation undecided.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from benchmark.published.claims import Claim, Quantifier, Relation

State = Literal["reproduced", "contradicted", "undecided", "not run"]
STATES: tuple[State, ...] = ("reproduced", "contradicted", "undecided", "not run")
LEVEL = 0.05
CLOCK = 1.25  # one timing says no more than such a factor


class Outcome(NamedTuple):
    """`log_ratio`: of factor x lower over higher, negative where the relation holds; `p` is None without a test."""

    log_ratio: float | None = None
    p: float | None = None
    lower: float | None = None  # means, in percent or seconds
    higher: float | None = None
    margin: float = 0.0  # of the log ratio, where there is no test
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.log_ratio is None else math.exp(self.log_ratio)


@dataclass(frozen=True)
class Verdict:
    """A published ordering, or a claim, held against records.

    `printed` has the paper's two errors of an ordering; `own` says of a claim whether the paper's numbers bear it out.
    `counts` are the groups of a claim by state; `notes` say why something is not run or what is contradicted.
    """

    kind: Literal["ordering", "claim"]
    id: str
    text: str
    state: State
    source: str = ""
    dataset: str = ""
    task: str = ""
    lower: str = ""
    higher: str = ""
    printed: tuple[float, float] | None = None
    ours: tuple[float, float] | None = None
    ratio: float | None = None
    p: float | None = None
    own: str = ""
    counts: tuple[tuple[State, int], ...] = ()
    reading: str = ""
    notes: tuple[str, ...] = ()


def decide(test: Outcome, relation: Relation, p: float | None) -> State:
    """`p`: adjusted for the tests beside it."""
    if test.log_ratio is None or test.lower is None or test.higher is None:
        return "not run"
    sure = abs(test.log_ratio) > test.margin if p is None else p < LEVEL
    of_means = relation.factor * test.lower - test.higher
    if not sure or test.log_ratio * of_means <= 0:
        return "undecided"
    return "reproduced" if test.log_ratio < 0 else "contradicted"


def adjusted(tests: Sequence[Outcome]) -> list[float | None]:
    """p-values after Holm; None where there is no test."""
    from benchmark.scoring.paired import holm

    ps = iter(holm([test.p for test in tests if test.p is not None]))
    return [None if test.p is None else next(ps) for test in tests]


def of_group(states: Sequence[State]) -> State:
    """Of relations that must hold together."""
    worst: tuple[State, ...] = ("contradicted", "not run", "undecided")
    found: list[State] = [state for state in worst if state in states]
    return found[0] if found else "reproduced"


def of_claim(states: Sequence[State], quantifier: Quantifier) -> State:
    """Of groups, of which all, most or some must hold. A claim of which anything is run is run."""
    count, total = Counter[str](states), len(states)
    held, failed = count["reproduced"], count["contradicted"]
    if count["not run"] == total:
        return "not run"
    holds, fails = {
        "all": (held == total, failed > 0),
        "most": (2 * held > total, 2 * failed >= total),
        "some": (held > 0, failed == total),
    }[quantifier]
    if holds:
        return "reproduced"
    return "contradicted" if fails else "undecided"


def counted(states: Sequence[State]) -> tuple[tuple[State, int], ...]:
    """Every state with its number, in a fixed order."""
    return tuple((state, list(states).count(state)) for state in STATES)


def judge_claim(claim: Claim, outcomes: dict[Relation, Outcome]) -> tuple[State, list[State], list[str]]:
    """The claim's state, its groups', and what is to be said of them."""
    relations = [relation for group in claim.groups for relation in group.relations]
    found = [outcomes[relation] for relation in relations]
    tested = zip(relations, found, adjusted(found), strict=True)
    states: dict[Relation, State] = {relation: decide(test, relation, p) for relation, test, p in tested}
    groups: list[State] = [of_group([states[relation] for relation in group.relations]) for group in claim.groups]
    return of_claim(groups, claim.quantifier), groups, _notes(relations, states, outcomes)


def _notes(
    relations: Sequence[Relation], states: dict[Relation, State], outcomes: dict[Relation, Outcome]
) -> list[str]:
    against = [f"contradicted: {relation}" for relation in relations if states[relation] == "contradicted"]
    absent = [outcomes[relation].note for relation in relations if states[relation] == "not run"]
    return list(dict.fromkeys([*against, *filter(None, absent)]))
