"""One cell from names to record: prepare data; fit, observe, predict, score, which is `evaluate`; record."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchmark.core import Problem, Run, Split, Trajectories
from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolved
from benchmark.records.cell import digest
from benchmark.records.folders import parts_folder
from benchmark.records.record import MetricScore, Record
from benchmark.running.evaluate import Evaluation, Fitted, Question, evaluate, seed_globally
from benchmark.running.fits import Fit, FitStore
from benchmark.running.keep import forget_predictions, keep_predictions
from benchmark.running.masks import MaskNames
from benchmark.running.parts import KeptParts, digest_of
from benchmark.running.provenance import data_used, describe, mask_hash
from benchmark.running.team import Team, called
from benchmark.running.watch import watched

if TYPE_CHECKING:
    from datasets.store import StoredTrajectories


@dataclass(frozen=True)
class RunContext:
    """What the cells of a run share, what they may use, and whom they tell."""

    request: Request
    device: torch.device
    since: str  # when this run began; with --overwrite older fits are thrown away
    code: dict[str, Any]  # commit and dirty flag
    progress: Callable[[str, float], None] = lambda message, fraction: None
    clock: Callable[[bool], None] = lambda runs: None  # False: what follows is not on the cell's time limit


def run_cell(cell: Resolved, context: RunContext) -> Record:
    """The record of a cell that is done; whatever goes wrong is raised. A logger may watch."""
    if not context.request.log:
        return compute(cell, context)
    with watched(cell, context.request.log, context.request.runs) as watch:
        record = compute(cell, replace(context, progress=watch.follow(context.progress)))
        watch.finish(record)
    return record


def compute(cell: Resolved, context: RunContext) -> Record:
    prepare_data(cell, context)
    done = evaluate(question_of(cell, context), lambda: fitted(cell, context))
    keep(cell, context, done)
    frames, splits = done.prediction.frames, {split: _open(cell, context, split) for split in cell.splits}
    groups = shared_runs(splits["test"], len(done.mask), cell.task.masks)
    return Record(
        cell.cell,
        "done",
        about=cell.about,
        settings=cell.identity,
        key=cell.key,
        changes=cell.changes,
        remark=done.remark or "",
        frames=None if frames is None else tuple(frames),
        metrics={name: summary(name, metric.unit, metric.values, groups) for name, metric in done.metrics.items()},
        cost=_cost(done),
        provenance=describe(cell, context)
        | data_used(splits)
        | {"mask_hash": mask_hash(done.mask)}
        | ({"groups": groups} if groups else {}),
    )


def prepare_data(cell: Resolved, context: RunContext) -> None:
    """Generate what is missing. Data is shared by many cells, so this is on nobody's time limit."""
    from datasets.generate import ensure_data

    def progress(what: str, done: int, total: int) -> None:
        context.progress(f"data: {what}", done / total)

    context.clock(False)
    ensure_data(cell.dataset, context.request.data, cell.splits, progress=progress)
    context.clock(True)


def keep(cell: Resolved, context: RunContext, done: Evaluation) -> None:
    """What it answered first, for pictures. Without room for it the record is still worth having."""
    kept, videos = context.request.kept, min(context.request.save_predictions, len(done.mask))
    try:
        forget_predictions(kept, cell.cell)
        if videos:
            keep_predictions(kept, cell, question_of(cell, context, videos), done)
    except OSError as error:
        print(f"predictions are not kept: {error}", file=sys.stderr)


def fitted(cell: Resolved, context: RunContext) -> Fitted:
    """The method ready to predict. One of scope `instance` has no fit."""
    if cell.method.scope == "instance":
        return Fitted(cell.method(cell.settings))
    context.progress("fit", 0.0)
    train, valid = _open(cell, context, "train"), _open(cell, context, "valid")
    since = context.since if context.request.overwrite else None
    call = partial(called, cell.cell, context.device)
    store = FitStore(context.request.runs, context.device, since, context.progress, context.clock, call)
    method, fit = store.serve(cell, train, valid)
    context.progress("fit", 1.0)  # a prediction that goes on from its middle is a phase of its own
    return Fitted(method, fit)


def help_to_fit(cell: Resolved, context: RunContext, team: Team, number: int) -> None:
    """Our part of a fit that process 0 of a team has called us to; it keeps what is learned."""
    seed_globally(cell.cell.seed)
    train, valid = _open(cell, context, "train"), _open(cell, context, "valid")
    run = Run(context.device, cell.fit_folder(context.request.runs))
    with team.joined(number, context.device):
        cell.method(cell.settings).fit(train, valid, cell.tasks, cell.cell.seed, run)


def question_of(cell: Resolved, context: RunContext, videos: int | None = None) -> Question:
    """What a cell asks of its method: the task on the first test trajectories, as many as the request says.

    Asked for some `videos` alone, it has the trajectories they show, each with all its masks.
    """
    request, task = context.request, cell.task
    count = None if videos is None else -(-videos // task.masks)
    return Question(
        cell.dataset,
        task,
        masks=MaskNames(cell.cell.dataset, cell.cell.task, request.mask_seed, task.masks),
        truth=lambda: _test_trajectories(cell, context, count),
        seed=cell.cell.seed,
        samples=cell.identity["evaluation"]["samples"],
        device=context.device,
        progress=context.progress,
        keep=partial(kept_parts, cell, context),
    )


def kept_parts(cell: Resolved, context: RunContext, problem: Problem, fit: Fit | None) -> KeptParts:
    """What there is of the cell's prediction, from before a kill."""
    asked = {
        "cell": cell.cell.to_json(),
        "key": cell.key,
        "fit": None if fit is None else [fit.created, fit.seconds],
        "problem": digest_of(problem),
        "device": context.device.type,
        "torch": torch.__version__,
    }
    since = context.since if context.request.overwrite else None
    return KeptParts(
        parts_folder(context.request.kept, cell.cell), digest(asked), context.device, context.progress, since
    )


def _test_trajectories(cell: Resolved, context: RunContext, first: int | None = None) -> Trajectories:
    test = _open(cell, context, "test")
    count = cell.identity["evaluation"]["trajectories"]
    if len(test) < count:
        raise ValueError(f"{cell.cell.dataset} test: expected {count} trajectories, the data has {len(test)}")
    return test[: count if first is None else min(first, count)]


def _open(cell: Resolved, context: RunContext, split: Split) -> StoredTrajectories:
    from datasets.store import open_split

    frames = cell.scored_length if split == "test" else cell.dataset.sizes.frames
    return open_split(cell.dataset, split, context.request.data, frames=frames)


def shared_runs(test: StoredTrajectories, scored: int, masks: int) -> list[int] | None:
    """The run of each scored video, a trajectory's masks one after another; None where no two are of one run."""
    runs = [run for run in test.runs(scored // masks) for _ in range(masks)]
    return runs if len(set(runs)) < len(runs) else None


def summary(name: str, unit: str, values: list[Any], groups: list[int] | None = None) -> MetricScore:
    """A metric of a record; of a curve the mean and its bounds are lists over frames, and values are not kept."""
    from benchmark.scoring.stats import bootstrap_interval

    table = np.asarray(values, dtype=np.float64)  # (B,) or (B, T)
    if not np.isfinite(table).all():
        raise ValueError(f"metric {name}: not finite in {int((~np.isfinite(table)).any(-1).sum())} trajectories")
    columns = table.reshape(len(table), -1).T  # (1 or T, B)
    bounds = [bootstrap_interval(column.tolist(), groups=groups) for column in columns]
    parts: dict[str, Any] = {
        "mean": [float(column.mean()) for column in columns],
        "low": [float(low) for low, _ in bounds],
        "high": [float(high) for _, high in bounds],
    }
    if table.ndim > 1:
        return MetricScore(unit, **parts, values=[])
    return MetricScore(unit, **{part: numbers[0] for part, numbers in parts.items()}, values=table.tolist())


def _cost(done: Evaluation) -> dict[str, Any]:
    fit, evaluations = done.fit, done.prediction.evaluations
    diagnostics = done.prediction.diagnostics
    extra = {} if diagnostics is None else {"diagnostics": {name: list(v) for name, v in diagnostics.items()}}
    return {"parameters": 0, "steps": 0, **done.cost} | {
        "fit_seconds": fit.seconds if fit else 0.0,
        "fit_cpu_seconds": fit.cpu_seconds if fit else 0.0,
        "fit_cached": fit.cached if fit else False,
        "predict_seconds": done.seconds,
        "predict_cpu_seconds": done.cpu_seconds,
        "evaluations": None if evaluations is None else float(evaluations),
        "peak_memory_mb": max(done.memory_mb, fit.memory_mb if fit else 0.0),
        **extra,
    }


def free_memory() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
