"""One method at one task of one dataset: its seeds pooled into one number, or the state that stands in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.leaderboard.collect import Basis, Record
from benchmark.records.record import STATES

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
    values: tuple[float, ...] = ()  # one a trajectory, mean over seeds
    ranked: bool = False  # scored on the same frames of the same trajectories as the rest of the column


def majority(records: Sequence[Record]) -> Basis | None:
    """The basis that most methods of a column share; whole videos go before parts of them."""
    votes = Counter(basis for _, basis in {(r.cell.method, r.basis) for r in records if r.state == "done"})
    if not votes:
        return None

    def standing(basis: Basis) -> tuple[Any, ...]:
        shared_by = sum(count for other, count in votes.items() if basis.agrees(other))
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
    own = shared if any(record.basis.agrees(shared) for record in done) else majority(done)
    assert own is not None
    used = [record for record in done if record.basis.agrees(own)]
    notes = (
        *dict.fromkeys(record.remark for record in used if record.remark),
        *(_difference(own, shared, "not ranked: ") if not own.agrees(shared) else _partial(own)),
        *(
            note
            for r in done
            if not r.basis.agrees(own)
            for note in _difference(r.basis, own, f"seed {r.cell.seed} left out: ")
        ),
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
        values=tuple(sum(column) / len(used) for column in zip(*(r.values for r in used), strict=True)),
        ranked=own.agrees(shared),
    )


def _interval(used: Sequence[Record]) -> tuple[float, float, float]:
    """Mean and 95 % bounds: the record's own for one seed, a bootstrap over seeds and trajectories for several."""
    if len(used) == 1:
        score, scale = used[0].headline, used[0].percent
        return scale * score["mean"], scale * score["low"], scale * score["high"]
    from benchmark.scoring.stats import hierarchical_interval

    mean = sum(record.percent * record.headline["mean"] for record in used) / len(used)
    low, high = hierarchical_interval([record.values for record in used])
    return mean, float(low), float(high)


def _reasons(records: Sequence[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{r.state}: {r.reason or 'no reason recorded'}" for r in records))


def _partial(basis: Basis) -> tuple[str, ...]:
    if basis.frames is None:
        return ()
    return (f"only frames {' '.join(map(str, basis.frames))} are predicted and scored",)


def _difference(basis: Basis, shared: Basis, prefix: str) -> tuple[str, ...]:
    """What sets a score apart from the rest of its column, or nothing. Masks of fewer trajectories are fewer masks."""
    parts = [
        (basis.frames != shared.frames, "".join(_partial(basis)) or "all frames are scored"),
        (basis.task != shared.task, "other task settings"),
        (basis.test != shared.test, "other test data"),
        (bool(basis.training and shared.training) and basis.training != shared.training, "other training data"),
        (basis.masks != shared.masks and basis.trajectories == shared.trajectories, "other masks"),
        (
            basis.trajectories != shared.trajectories,
            f"{basis.trajectories} test trajectories instead of {shared.trajectories}",
        ),
        (basis.scorer != shared.scorer, f"scorer version {basis.scorer} instead of {shared.scorer}"),
    ]
    differs = [text for is_different, text in parts if is_different]
    return (prefix + ", ".join(differs),) if differs else ()
