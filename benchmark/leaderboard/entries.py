"""One method at one task of one dataset: its seeds pooled into one number, or the state that stands in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from math import inf
from typing import Any, Literal

from benchmark.leaderboard.measure import ERROR, Measure
from benchmark.leaderboard.samplers import why_no_sampler
from benchmark.records.compare import Basis, difference, scored_part
from benchmark.records.record import STATES, MetricScore, Record

MISSING = "missing"
NO_RECORD = "no record"

Samples = Literal["one", "mean"]  # which error of a method that samples a table shows: of one sample, or of their mean


@dataclass(frozen=True)
class Entry:
    """What a table shows for a method in a column, in the metric's unit; `notes` is all a reader must know beside."""

    method: str
    task: str
    dataset: str
    state: str
    notes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()  # those in the mean
    mean: float | None = None
    low: float | None = None  # 95 % interval over test trajectories
    high: float | None = None
    seed_sd: float | None = None  # standard deviation of the seeds' means; None: one seed does not show it
    total_low: float | None = None  # 95 % interval over test trajectories and seeds, where there are several
    total_high: float | None = None
    by_seed: tuple[tuple[float, ...], ...] = ()  # one value per trajectory, for each of `seeds`
    groups: tuple[int, ...] | None = None  # the run of each trajectory where runs are shared
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


def pool(records: Sequence[Record], shared: Basis | None, samples: Samples = "one", measure: Measure = ERROR) -> Entry:
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
    scores = [score for record in used if (score := measure.score(record, samples)) is not None]
    if len(scores) < len(used):
        return Entry(cell.method, cell.task, cell.dataset, "done", notes=(f"its record has no {measure.name}",))
    notes = (
        *dict.fromkeys(record.remark for record in used if record.remark),
        *dict.fromkeys(filter(None, map(why_no_sampler, used))),
        *_not_converged(used),
        *([f"not ranked: {apart}"] if apart else filter(None, [scored_part(own)])),
        *(f"seed {seed} left out: {why}" for seed, why in seeds.items() if why),
        *(f"seed {record.cell.seed} {note}" for record in others for note in _reasons([record])),
    )
    return Entry(
        cell.method,
        cell.task,
        cell.dataset,
        "done",
        notes=notes,
        seeds=tuple(record.cell.seed for record in used),
        **_pooled(scores, used[0].groups, floor=0.0 if measure.is_error else -inf),
        groups=used[0].groups,
        ranked=apart is None,
    )


def _pooled(scores: Sequence[MetricScore], groups: tuple[int, ...] | None, floor: float) -> dict[str, Any]:
    """Mean, intervals and spread over seeds; of one seed the record's own."""
    by_seed = tuple(tuple(score.values) for score in scores)
    if len(scores) == 1:
        return {"mean": scores[0].mean, "low": scores[0].low, "high": scores[0].high, "by_seed": by_seed}
    from benchmark.scoring.stats import bootstrap_interval, seed_spread, total_interval

    low, high = bootstrap_interval([sum(column) / len(scores) for column in zip(*by_seed, strict=True)], groups=groups)
    total_low, total_high = total_interval(by_seed, groups=groups)
    return {
        "mean": sum(score.mean for score in scores) / len(scores),
        "low": low,
        "high": high,
        "seed_sd": seed_spread(by_seed),
        "total_low": max(total_low, floor),  # an error is not below 0
        "total_high": total_high,
        "by_seed": by_seed,
    }


def _not_converged(records: Sequence[Record]) -> list[str]:
    """Fits at test time that were cut off, or that miss the readings by more than the error they allow for them."""
    reports = [record.cost.get("diagnostics", {}) for record in records]
    fits = [
        done and misfit <= 1
        for report in reports
        for done, misfit in zip(report.get("converged", []), report.get("misfit") or repeat(0.0), strict=False)
    ]
    failed = fits.count(False)
    return [f"{failed} of {len(fits)} fits at test time did not converge, or not to the readings"] if failed else []


def _reasons(records: Sequence[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{r.state}: {r.reason or 'no reason recorded'}" for r in records))
