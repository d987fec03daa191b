"""The paper against itself: what its own numbers say of its claims, and where they contradict each other.

Computed: a number printed twice with different values; studies whose common setting differs; a value that belongs to no
other cell; errors that are lower where less is seen; emphasis that is not on the lowest or second-lowest number; and
claims that the numbers do not bear out. What only a reader can find is in `contradictions.yaml`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from benchmark.published.claims import Claim, Relation, Remark, Side
from benchmark.published.numbers import ERROR, Number, by_place
from benchmark.published.verdicts import Outcome, State, judge_claim

MORE_SEEN = (("fwd_full", "fwd_partial"), ("inv_full", "inv_partial"), ("cont_3", "cont_1"), ("cont_1", "cont_05"))


class Contradiction(NamedTuple):
    """`how`: computed from the numbers, or found by a reader. `id` is that of a remark or a claim, else its kind."""

    id: str
    text: str
    where: str
    how: str = "computed"


class Printed:
    """The paper's numbers as evidence, without tests: a number printed twice counts as where it stands last."""

    def __init__(self, numbers: Sequence[Number]):
        self._values = {place: found[-1].value for place, found in by_place(numbers).items()}

    def judge(self, claim: Claim) -> tuple[State, list[State]]:
        relations = {relation for group in claim.groups for relation in group.relations}
        state, groups, _ = judge_claim(claim, {relation: self.test(relation) for relation in relations})
        return state, groups

    def test(self, relation: Relation) -> Outcome:
        higher = relation.higher
        a = self._value(relation.lower)
        b = self._value(higher) if isinstance(higher, Side) else higher
        if a is None or b is None:
            return Outcome(note="not printed")
        return Outcome(math.log(relation.factor * a / b), None, a, b)

    def _value(self, side: Side) -> float | None:
        value, over = self._values.get(side.place), self._values.get(side.over) if side.over else 1.0
        return None if value is None or over is None else value / over


def contradictions(
    numbers: Sequence[Number], claims: Sequence[Claim], remarks: Sequence[Remark]
) -> list[Contradiction]:
    stated = [*claims, *(remark.claim for remark in remarks if remark.claim)]
    read = [Contradiction(r.id, r.text, r.where, "read") for r in remarks if r.claim is None]
    kinds = (printed_twice, same_setting_twice, of_no_cell, better_with_less, wrong_marks)
    return [*(found for kind in kinds for found in kind(numbers)), *not_borne_out(numbers, stated), *read]


def printed_twice(numbers: Sequence[Number]) -> Iterator[Contradiction]:
    """One place, two values that no rounding explains."""
    for place, found in by_place(numbers).items():
        for one, other in combinations(found, 2):
            if not one.agrees(other):
                yield Contradiction("two values", f"{place}: {_both(one, other)}", _where(one, other))


def same_setting_twice(numbers: Sequence[Number]) -> Iterator[Contradiction]:
    """Studies that share a setting print it once each."""
    for setting, found in _settings(numbers).items():
        for one, other in combinations(found, 2):
            if not one.agrees(other):
                text = f"{one.place.method} {one.place.dataset}, {setting}: {_both(one, other)}"
                yield Contradiction("two values", text, _where(one, other))


def of_no_cell(numbers: Sequence[Number], own_setting: str = "20 frames x 0.05 s") -> Iterator[Contradiction]:
    """A study's number at the paper's own setting should stand in a table of the same method and dataset too."""
    tables = by_place([number for number in numbers if not number.place.study])
    for number in _settings(numbers).get(own_setting, [])[:1]:
        method, dataset = number.place.method, number.place.dataset
        others = [n for p, found in tables.items() if p[:2] == (method, dataset) and p.metric == ERROR for n in found]
        if not any(number.agrees(other) for other in others):
            text = f"{number.printed} {number.unit} of {method} {dataset} ({own_setting}) is the error of no task"
            yield Contradiction("no such cell", text, number.source)


def better_with_less(numbers: Sequence[Number]) -> Iterator[Contradiction]:
    places = by_place(numbers)
    for place, found in places.items():
        for more, less in MORE_SEEN:
            fewer = places.get(place._replace(task=less), [])
            if place.task == more and not place.study and fewer and _above(found, fewer):
                text = f"{place.method} {place.dataset}: {less} {fewer[0].printed} %, {more} {found[-1].printed} %"
                yield Contradiction("better with less seen", text, _where(found[-1], fewer[0]))


def wrong_marks(numbers: Sequence[Number]) -> Iterator[Contradiction]:
    """Bold on the lowest and a line under the second-lowest number of a table's column, wherever it has emphasis."""
    for (source, dataset, task), column in _marked_columns(numbers).items():
        ordered = sorted(column, key=lambda number: number.value or 0.0)
        for mark, number in zip(("best", "second"), ordered, strict=False):
            marked = [n.place.method for n in column if n.mark == mark]
            if number.place.method not in marked:
                shown = " and ".join(marked) or "nothing"
                text = f"{dataset} {task}: {mark} is {number.place.method} {number.printed} %, marked is {shown}"
                yield Contradiction("emphasis", text, source)


def not_borne_out(numbers: Sequence[Number], claims: Sequence[Claim]) -> Iterator[Contradiction]:
    printed = Printed(numbers)
    for claim in claims:
        state, groups = printed.judge(claim)
        if state == "contradicted":
            fails = [g.name for g, found in zip(claim.groups, groups, strict=True) if found == "contradicted"]
            text = f"{claim.text}: not in {len(fails)} of {len(groups)} cells ({', '.join(fails)})"
            yield Contradiction(claim.id, text, claim.source)


def _settings(numbers: Sequence[Number]) -> dict[str, list[Number]]:
    found: dict[str, list[Number]] = defaultdict(list)
    for number in numbers:
        if number.setting:
            found[number.setting].append(number)
    return dict(found)


def _marked_columns(numbers: Sequence[Number]) -> dict[tuple[str, str, str], list[Number]]:
    """Columns of a table with more than one number and any emphasis; of studies and times there is none."""
    found: dict[tuple[str, str, str], list[Number]] = defaultdict(list)
    for number in numbers:
        if number.printed and number.place.metric == ERROR:
            found[number.source, number.place.dataset, number.place.task].append(number)
    return {key: column for key, column in found.items() if any(number.mark for number in column)}


def _above(more: Sequence[Number], less: Sequence[Number]) -> bool:
    """Whether every printing of the one is above every one of the other."""
    return min(number.value or 0.0 for number in more) > max(number.value or 0.0 for number in less)


def _both(one: Number, other: Number) -> str:
    return f"{one.printed} {one.unit} ({one.table}) and {other.printed} {other.unit} ({other.table})"


def _where(*numbers: Number) -> str:
    return ", ".join(dict.fromkeys(number.source for number in numbers))
