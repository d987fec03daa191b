"""What records say of a relation: the test of the leaderboard's dagger where both errors are of the same trajectories.

Errors of one dataset are compared trajectory by trajectory (`scoring.paired`); of two datasets, or of two variants of
a study, whose data differ, the means of their logarithms are (Welch's test). Records of a cell on different bases, such
as data of two machines, are never pooled: of all pairs that may be compared the one with most seeds is taken.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmark.published.claims import Relation, Side
from benchmark.published.numbers import SECONDS, Place
from benchmark.published.verdicts import CLOCK, LEVEL, Outcome
from benchmark.records.compare import Basis, difference
from benchmark.records.cost import cost
from benchmark.records.record import Record
from benchmark.scoring.paired import compare, compare_unpaired, least_p, run_logs

Studies = Mapping[tuple[str, str], Sequence[Record]]  # (study, variant) -> records
MEAN_OF_SAMPLES, SINCE_SCORER = "rel_l2_mean", 2
MACHINE = ("hardware", "device", "threads")


class NotRun(Exception):
    """There is nothing to test; the message says why."""


@dataclass(frozen=True)
class Sample:
    """The seeds of one method on one cell that share a basis."""

    basis: Basis
    records: tuple[Record, ...]

    def values(self, metric: str) -> np.ndarray:
        """(seeds, n), relative errors in percent."""
        scores = [record.metrics[metric] for record in self.records]
        return np.array([(s.in_percent() if metric.startswith("rel_l2") else s).values for s in scores])

    def logs(self, metric: str) -> np.ndarray:
        """(seeds, runs)"""
        return run_logs(self.values(metric), self.records[0].groups)

    def seconds(self) -> list[float]:
        """Of an answer, as tables have them, of the records that say it."""
        return [seconds for record in self.records if (seconds := cost(SECONDS, record)) is not None]

    @cached_property
    def seeds(self) -> tuple[int, ...]:
        return tuple(record.cell.seed for record in self.records)


class Evidence:
    """Records of one profile by their place. Plugins and variants of the command line do not count."""

    def __init__(self, records: Sequence[Record], studies: Studies | None = None):
        self._records: dict[tuple[str, ...], list[Record]] = defaultdict(list)
        for study, found in {("", ""): records, **(studies or {})}.items():
            for record in found:
                cell = record.cell
                if not cell.variant and not record.third_party:
                    self._records[cell.method, cell.dataset, cell.task, *study].append(record)
        self._samples: dict[tuple[str, ...], list[Sample]] = {}
        self._outcomes: dict[Relation, Outcome] = {}

    def test(self, relation: Relation) -> Outcome:
        if relation not in self._outcomes:
            self._outcomes[relation] = self._tested(relation)
        return self._outcomes[relation]

    def samples(self, place: Place) -> list[Sample]:
        """The done records of a place by basis, most seeds first. Raises NotRun."""
        key = (place.method, place.dataset, place.task, place.study, place.variant)
        if key not in self._samples:
            self._samples[key] = _by_basis(record for record in self._records[key] if record.state == "done")
        found = [sample for sample in self._samples[key] if _has(sample, place.metric)]
        if not found:
            raise NotRun(f"{place}: {_why(self._records[key], place)}")
        return found

    def _tested(self, relation: Relation) -> Outcome:
        try:
            lower, higher, factor = relation
            if not isinstance(higher, Side):
                return self._bounded(lower, higher, factor)
            if lower.place.metric == SECONDS:
                return self._timed(lower.place, higher.place, factor)
            return self._compared(lower, higher, factor)
        except NotRun as reason:
            return Outcome(note=str(reason))

    def _compared(self, lower: Side, higher: Side, factor: float) -> Outcome:
        is_paired = (lower.place.dataset, *_study(lower)) == (higher.place.dataset, *_study(higher))
        if is_paired and lower.over is None and higher.over is None:
            one, other = self._match(lower.place, higher.place)
            logs = one.logs(lower.place.metric), other.logs(higher.place.metric)
            means = one.values(lower.place.metric).mean(), other.values(higher.place.metric).mean()
        else:
            (a, mean_a), (b, mean_b) = self._ratio(lower), self._ratio(higher)
            logs, means = (a, b), (mean_a, mean_b)
        test = compare if is_paired else compare_unpaired
        ratio, p = test(logs[0] + math.log(factor), logs[1])
        note = "too few test trajectories to tell" if is_paired and _too_few(*logs) else ""
        return Outcome(ratio, p, float(means[0]), float(means[1]), note=note)

    def _ratio(self, side: Side) -> tuple[np.ndarray, float]:
        """Logarithms (seeds, runs) of an error, or of one over another of the same seeds, and the mean or its ratio."""
        metric = side.place.metric
        if side.over is None:
            sample = self.samples(side.place)[0]
            return sample.logs(metric), float(sample.values(metric).mean())
        one, other = self._match(side.place, side.over)
        if one.seeds != other.seeds:
            raise NotRun(f"{side}: other seeds")
        return one.logs(metric) - other.logs(metric), float(one.values(metric).mean() / other.values(metric).mean())

    def _bounded(self, side: Side, bound: float, factor: float) -> Outcome:
        logs, mean = self._ratio(side)
        ratio, p = compare(logs + math.log(factor), np.full(logs.shape, math.log(bound)))
        return Outcome(ratio, p, mean, bound)

    def _match(self, lower: Place, higher: Place) -> tuple[Sample, Sample]:
        """Samples that may be compared, with as many seeds as can be."""
        pairs = [(a, b) for a in self.samples(lower) for b in self.samples(higher)]
        reasons = [_apart(a.basis, b.basis, lower.task == higher.task) for a, b in pairs]
        fit = [pair for pair, reason in zip(pairs, reasons, strict=True) if reason is None]
        if not fit:
            raise NotRun(f"{lower} may not be compared with {higher}: {reasons[0]}")
        return max(fit, key=lambda pair: len(pair[0].records) + len(pair[1].records))

    def _timed(self, lower: Place, higher: Place, factor: float) -> Outcome:
        """Medians of what tables show, on one machine; there is nothing to test."""
        one, other = (self.samples(place)[0] for place in (lower, higher))
        if len({_machine(record) for record in (*one.records, *other.records)}) > 1:
            raise NotRun(f"{lower.method} and {higher.method} were timed on different machines")
        a, b = (float(np.median(sample.seconds())) for sample in (one, other))
        ratio = math.log(max(factor * a, 1e-12) / max(b, 1e-12))
        return Outcome(ratio, None, a, b, math.log(CLOCK), "one clock, no test")


def _too_few(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether no outcome on so many runs (seeds, runs) could show a difference."""
    return len(one) == len(other) == 1 and least_p(one.shape[1]) >= LEVEL


def _study(side: Side) -> tuple[str, str]:
    return side.place.study, side.place.variant


def _by_basis(done: Iterator[Record]) -> list[Sample]:
    groups: dict[Basis, list[Record]] = defaultdict(list)
    for record in done:
        groups[record.basis].append(record)
    samples = [Sample(basis, tuple(sorted(rs, key=lambda r: r.cell.seed))) for basis, rs in groups.items()]
    return sorted(samples, key=lambda sample: -len(sample.records))


def _has(sample: Sample, metric: str) -> bool:
    if metric == SECONDS:
        return len(sample.seconds()) == len(sample.records)
    is_old = metric == MEAN_OF_SAMPLES and sample.basis.scorer < SINCE_SCORER
    return not is_old and all(metric in record.metrics and record.metrics[metric].values for record in sample.records)


def _apart(one: Basis, other: Basis, same_task: bool) -> str | None:
    """What forbids to compare two errors trajectory by trajectory; of two tasks the sensors may differ."""
    if not same_task:
        one, other = (basis._replace(task="", masks="") for basis in (one, other))
    return difference(one, other)


def _why(records: Sequence[Record], place: Place) -> str:
    if any(record.state == "done" for record in records):
        return "its record has no such value"
    reasons = [f"{record.state}{f', {record.reason}' if record.reason else ''}" for record in records]
    return "; ".join(dict.fromkeys(reasons)) or "no record"


def _machine(record: Record) -> tuple[Any, ...]:
    return tuple(str(record.provenance.get(name)) for name in MACHINE)
