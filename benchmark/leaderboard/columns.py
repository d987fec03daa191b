"""One task of one dataset: all methods' entries side by side, and who is best.

Learned methods compete with each other. References do not; the best of them is pointed out where no
learned method has a lower error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from benchmark.leaderboard.entries import MISSING, NO_RECORD, Entry, Samples, majority, pool
from benchmark.leaderboard.measure import ERROR, Measure
from benchmark.leaderboard.names import family_of
from benchmark.records.compare import Basis
from benchmark.records.record import Record

Place = Literal["best", "second", "reference", ""]


class Leaders(NamedTuple):
    """Who stands out among ranked entries; more than one only where they are alike."""

    best: frozenset[str]
    second: frozenset[str]
    reference: frozenset[str]  # only where no learned method has a better value


@dataclass(frozen=True)
class Column:
    """Entries by method, in the order of the tables, with the names of those that stand out."""

    task: str
    dataset: str
    family: str  # title of the table it stands in
    entries: Mapping[str, Entry]
    basis: Basis | None
    best: frozenset[str]
    second: frozenset[str]
    alike: frozenset[str]  # learned, not distinguishable from the best
    best_reference: frozenset[str]  # only where no learned method has a lower error
    is_asked: bool = False  # by a suite: shown also while it has no number
    too_few: bool = False  # test trajectories to tell any two of the learned methods apart

    @property
    def supported(self) -> bool:
        """False where every record says `unsupported`: such a column is a note, not a column."""
        states = {entry.state for entry in self.entries.values()}
        return bool(states - {MISSING, "unsupported"}) or (self.is_asked and MISSING in states)

    def place(self, method: str) -> Place:
        return place_among(Leaders(self.best, self.second, self.best_reference), method)


def build_column(
    task: str,
    dataset: str,
    methods: Sequence[str],
    references: Set[str],
    records: Mapping[str, Sequence[Record]],
    samples: Samples = "one",
    measure: Measure = ERROR,
    is_asked: bool = False,
) -> Column:
    everything = [record for group in records.values() for record in group]
    plain = [record for record in everything if not record.changes]  # variants do not say what a column compares
    family = family_of(next((record.task for record in (*plain, *everything) if record.task), {}), task)
    shared = majority(plain) or majority(everything)
    entries = {
        method: pool(records[method], shared, samples, measure)
        if method in records
        else Entry(method, task, dataset, MISSING, notes=(f"{MISSING}: {NO_RECORD}",))
        for method in methods
    }
    ranked = [entry for entry in entries.values() if entry.ranked and measure.is_ranked]
    learned = [entry for entry in ranked if entry.method not in references]
    best, second, reference = leaders(ranked, references, measure)
    alike = _alike(learned) if measure.is_error else frozenset()
    return Column(
        task,
        dataset,
        family,
        entries,
        shared,
        best,
        second,
        (alike or frozenset()) - best,
        reference,
        is_asked,
        too_few=alike is None,
    )


def leaders(ranked: Sequence[Entry], references: Set[str], measure: Measure) -> Leaders:
    learned = [entry for entry in ranked if entry.method not in references]
    best = leading(learned, measure)
    second = leading([entry for entry in learned if entry.method not in best], measure)
    return Leaders(best, second, leading(ranked, measure) & references)


def place_among(leaders: Leaders, method: str) -> Place:
    if method in leaders.best:
        return "best"
    if method in leaders.second:
        return "second"
    return "reference" if method in leaders.reference else ""


def leading(entries: Iterable[Entry], measure: Measure) -> frozenset[str]:
    """The methods with the best mean; more than one only when they are exactly equal, or all negligible."""
    losses = {entry.method: measure.loss(entry.mean) for entry in entries if entry.mean is not None}
    least = min(losses.values(), default=None)
    return frozenset(method for method, loss in losses.items() if loss == least)


def _alike(learned: Sequence[Entry]) -> frozenset[str] | None:
    """Those not shown to be worse than the best; None: there are too few trajectories to show it of anyone."""
    if len(learned) < 2:
        return frozenset()
    from benchmark.scoring.paired import can_tell, not_distinguishable

    groups = next((entry.groups for entry in learned if entry.groups), None)  # of the same test set
    errors = {entry.method: entry.by_seed for entry in learned}
    return frozenset(not_distinguishable(errors, groups)) if can_tell(errors, groups) else None
