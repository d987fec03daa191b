"""One method at one task of one dataset: its seeds pooled into one number, or the state that stands in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.records.compare import Basis, difference, scored_part
from benchmark.records.record import STATES, Record

MISSING = "missing"
NO_RECORD = "no record"


@dataclass(frozen=True)
class Entry:
    """What a table shows for a method in a column. Errors are in percent; `notes` is all a reader must know beside."""

    method: str
    task: str
    dataset: str
    state: str
    notes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()  # those in the mean
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    values: tuple[float, ...] = ()  # one per trajectory, mean over seeds
    ranked: bool = False  # scored on the same frames of the same trajectories as the rest of the column


def majority(records: Sequence[Record]) -> Basis | None:
    """The basis that most methods of a column share; whole videos go before parts of them."""
    votes = Counter(basis for _, basis in {(r.cell.method, r.basis) for r in records if r.state == "done"})
    if not votes:
        return None

    def standing(basis: Basis) -> tuple[Any, ...]:
        shared_by = sum(count for other, count in votes.items() if difference(basis, other) is None)
        return basis.frames is None, shared_by, bool(basis.training), basis.scorer, basis.trajectories, str(basis)

    return max(votes, key=standing)


def pool(records: Sequence[Record], shared: Basis | None) -> Entry:
    """Seeds of one method: mean over seeds of the trajectory mean. Seeds on another basis are left out and named."""
    cell = records[0].cell
    done = [record for record in records if record.state == "done"]
    others = [record for record in records if record.state != "done"]
    if not done or shared is None:
        state = min((record.state for record in others), key=STATES.index)
        return Entry(cell.method, cell.task, cell.dataset, state, notes=_reasons(others))
    own = shared if any(difference(record.basis, shared) is None for record in done) else majority(done)
    assert own is not None
    apart, seeds = difference(own, shared), {record.cell.seed: difference(record.basis, own) for record in done}
    used = [record for record in done if seeds[record.cell.seed] is None]
    notes = (
        *dict.fromkeys(record.remark for record in used if record.remark),
        *([f"not ranked: {apart}"] if apart else filter(None, [scored_part(own)])),
        *(f"seed {seed} left out: {why}" for seed, why in seeds.items() if why),
        *(f"seed {record.cell.seed} {note}" for record in others for note in _reasons([record])),
    )
    mean, low, high = _interval(used)
    return Entry(
        cell.method,
        cell.task,
        cell.dataset,
        "done",
        notes=notes,
        seeds=tuple(record.cell.seed for record in used),
        mean=mean,
        low=low,
        high=high,
        values=tuple(sum(column) / len(used) for column in zip(*map(_values, used), strict=True)),
        ranked=apart is None,
    )


def _interval(used: Sequence[Record]) -> tuple[float, float, float]:
    """Mean and 95 % bounds: the record's own for one seed, a bootstrap over seeds and trajectories for several."""
    if len(used) == 1:
        score = used[0].headline.in_percent()
        return score.mean, score.low, score.high
    from benchmark.scoring.stats import hierarchical_interval

    mean = sum(record.headline.in_percent().mean for record in used) / len(used)
    low, high = hierarchical_interval([_values(record) for record in used])
    return mean, float(low), float(high)


def _values(record: Record) -> list[float]:
    """The headline of each test trajectory, in percent."""
    return record.headline.in_percent().values


def _reasons(records: Sequence[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{r.state}: {r.reason or 'no reason recorded'}" for r in records))
