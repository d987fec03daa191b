"""One cell from names to record: data, fit (or a cached one), predict, score.

What a method gets at test time is made here, from copies: `make_problem` reads the test set, observes it and lets go of
it, and the truth is read again only when the prediction is there. Nothing that a method can reach holds hidden values.

The clock of `predict` runs over the whole test problem and is divided by its trajectories. On a GPU one trajectory is
predicted before, off the clock, so that compilation is not counted; on a CPU, and for methods that do all their work in
`predict`, that would cost more than it corrects.
"""

from __future__ import annotations

import gc
import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmark.core import Method, Prediction, Problem, Trajectories
from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolved
from benchmark.records.record import SCORER_VERSION, MetricScore, Record
from benchmark.running import provenance
from benchmark.running.fits import Fit, FitStore
from benchmark.running.masks import test_generators
from benchmark.running.meter import Meter


@dataclass(frozen=True)
class Surroundings:
    """What a cell's run may use and whom it tells."""

    request: Request
    device: torch.device
    since: str  # when this run began; with --overwrite older fits are thrown away
    code: dict[str, Any]  # commit and dirty flag
    progress: Callable[[str, float], None] = lambda message, fraction: None
    clock: Callable[[bool], None] = lambda runs: None  # False: what follows is not on the cell's time limit


def run_cell(cell: Resolved, around: Surroundings) -> Record:
    """The record of a cell that is done; whatever goes wrong is raised."""
    request, seed = around.request, cell.cell.seed
    prepare_data(cell, around)
    seed_globally(seed)
    method, fit = fitted(cell, around)
    problem = make_problem(cell, request)
    around.progress("predict", 0.0)
    prediction, meter = _predict(cell, method, problem, around)
    known = fit.cost if fit else method.cost()
    remark = method.remark(cell.task, cell.dataset)
    del method
    around.progress("score", 0.0)
    truth, again = observe(cell, request)
    metrics = score_prediction(cell, prediction, truth, again)
    return Record(
        cell.cell,
        "done",
        about=cell.about,
        settings=cell.identity,
        key=cell.key,
        remark=remark or "",
        frames=None if prediction.frames is None else tuple(prediction.frames),
        metrics=metrics,
        cost=_cost(known, fit, prediction, meter, len(problem)),
        provenance=describe(cell, around) | _data(cell, request) | {"mask_hash": mask_hash(again.mask)},
    )


def prepare_data(cell: Resolved, around: Surroundings) -> None:
    """Generate what is missing. Data is shared by many cells, so this is on nobody's time limit."""
    from datasets.generate import ensure_data

    def progress(what: str, done: int, total: int) -> None:
        around.progress(f"data: {what}", done / total)

    around.clock(False)
    ensure_data(cell.dataset, around.request.data, cell.splits, progress=progress)
    around.clock(True)


def fitted(cell: Resolved, around: Surroundings) -> tuple[Method, Fit | None]:
    """The method ready to predict. One of scope `instance` has no fit."""
    if cell.method.scope == "instance":
        return cell.method(cell.settings), None
    train, valid = _open(cell, around.request, "train"), _open(cell, around.request, "valid")
    since = around.since if around.request.overwrite else None
    store = FitStore(around.request.runs, around.device, since, around.progress, around.clock)
    return store.serve(cell, train, valid)


def observe(cell: Resolved, request: Request) -> tuple[Trajectories, Problem]:
    """The test trajectories and what is seen of them, a task's several masks one after another."""
    test = _open(cell, request, "test")
    count = cell.identity["evaluation"]["trajectories"]
    if len(test) < count:
        raise ValueError(f"{cell.cell.dataset} test: expected {count} trajectories, the data has {len(test)}")
    masks = cell.task.masks
    truth = test[:count]
    static = None if truth.static is None else truth.static.repeat_interleave(masks, dim=0)
    truth = replace(truth, u=truth.u.repeat_interleave(masks, dim=0), static=static)
    generators = test_generators(cell.cell.dataset, cell.cell.task, range(count), request.mask_seed, masks)
    return truth, cell.task.observe(truth, generators)


def make_problem(cell: Resolved, request: Request) -> Problem:
    """The test problem in memory of its own, zero where unseen, with an equation fresh from the dataset."""
    _, seen = observe(cell, request)
    return replace(
        seen,
        values=torch.where(seen.mask, seen.values, 0).clone(memory_format=torch.contiguous_format),
        mask=seen.mask.clone(memory_format=torch.contiguous_format),
        grid=replace(seen.grid),
        equation=cell.dataset.equation(),
        static=None if seen.static is None else seen.static.clone(memory_format=torch.contiguous_format),
    )


def _predict(cell: Resolved, method: Method, problem: Problem, around: Surroundings) -> tuple[Prediction, Meter]:
    seed, samples = cell.cell.seed, around.request.samples
    problem = problem.to(around.device)
    if around.device.type == "cuda" and cell.method.scope != "instance":
        method.predict(problem[:1], seed, 1)
    seed_globally(seed)
    with Meter(around.device) as meter:
        prediction = method.predict(problem, seed, samples)
    return check_prediction(prediction, problem, samples), meter


def check_prediction(prediction: Any, problem: Problem, samples: int) -> Prediction:
    """On the CPU, in float32, of the right shape and finite in every frame it claims."""
    if not isinstance(prediction, Prediction):
        raise TypeError(f"predict: expected a Prediction, got {type(prediction).__name__}")
    video = tuple(problem.values.shape)
    shape, frames = tuple(prediction.u.shape), prediction.frames
    if shape[1:] != video or shape[0] not in (1, samples):
        wanted = "1" if samples == 1 else f"{samples} or 1"
        raise ValueError(f"predict: expected ({wanted}, {str(video)[1:]}, got {shape}")
    if frames is not None and (not frames or list(frames) != sorted(set(frames) & set(range(video[1])))):
        raise ValueError(f"predict: expected frames as increasing numbers below {video[1]}, got {frames}")
    u = prediction.u.detach().to("cpu", torch.float32)
    scored = u if frames is None else u[:, :, list(frames)]
    bad = ~torch.isfinite(scored).flatten(2).all(2).all(0)  # (B,)
    if bad.any():
        raise ValueError(f"predict: NaN or infinity in {int(bad.sum())} of {len(bad)} trajectories")
    return replace(prediction, u=u)


def score_prediction(
    cell: Resolved, prediction: Prediction, truth: Trajectories, problem: Problem
) -> dict[str, MetricScore]:
    """Every metric with its mean over trajectories and the 95 % interval of that mean."""
    from benchmark.scoring.metrics import score

    metrics = score(prediction, truth, problem, frame_names=cell.dataset.frame_names)
    return {name: summary(name, metric.unit, metric.values) for name, metric in metrics.items()}


def summary(name: str, unit: str, values: list[Any]) -> MetricScore:
    """A metric of a record; for a curve the mean and its bounds are lists over frames too."""
    from benchmark.scoring.stats import bootstrap_interval

    table = np.asarray(values, dtype=np.float64)  # (B,) or (B, T)
    if not np.isfinite(table).all():
        raise ValueError(f"metric {name}: not finite in {int((~np.isfinite(table)).any(-1).sum())} trajectories")
    columns = table.reshape(len(table), -1).T  # (1 or T, B)
    bounds = [bootstrap_interval(column.tolist()) for column in columns]
    parts: dict[str, Any] = {
        "mean": [float(column.mean()) for column in columns],
        "low": [float(low) for low, _ in bounds],
        "high": [float(high) for _, high in bounds],
    }
    if table.ndim == 1:
        parts = {part: numbers[0] for part, numbers in parts.items()}
    return MetricScore(unit, **parts, values=table.tolist())


def describe(cell: Resolved, around: Surroundings) -> dict[str, Any]:
    """The provenance that every record has, done or not."""
    request = around.request
    return {
        **around.code,
        "packages": provenance.packages(),
        "hardware": provenance.hardware(),
        "device": str(around.device),
        "threads": torch.get_num_threads(),
        "seeds": {"fit": cell.cell.seed, "predict": cell.cell.seed, "mask": request.mask_seed},
        "plugins": {path.name: provenance.file_digest(path) for path in request.plugins},
        "method_version": cell.method.version,
        "dataset_version": cell.dataset.version,
        "scorer_version": SCORER_VERSION,
        "settings_hash": cell.key,
        "created": provenance.now(),
    }


def mask_hash(mask: Tensor) -> str:
    """sha256 over the test masks, to prove that two records saw the same sensors."""
    shape = str(tuple(mask.shape)).encode()
    return hashlib.sha256(shape + np.packbits(mask.cpu().numpy()).tobytes()).hexdigest()


def free_memory() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _open(cell: Resolved, request: Request, split: Any) -> Any:
    from datasets.store import open_split

    frames = cell.test_frames if split == "test" else cell.dataset.sizes.frames
    return open_split(cell.dataset, split, request.data, frames=frames)


def seed_globally(seed: int) -> None:
    """For methods that draw from the global generators; the suite's own use the seed they are given."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def _cost(
    known: dict[str, Any], fit: Fit | None, prediction: Prediction, meter: Meter, trajectories: int
) -> dict[str, Any]:
    """`known`: what the method says itself."""
    return {"parameters": 0, "steps": 0, **known} | {
        "fit_seconds": fit.seconds if fit else 0.0,
        "fit_cached": fit.cached if fit else False,
        "predict_seconds": meter.seconds / trajectories,
        "evaluations": None if prediction.evaluations is None else float(prediction.evaluations),
        "peak_memory_mb": max(meter.memory_mb, fit.memory_mb if fit else 0.0),
    }


def _data(cell: Resolved, request: Request) -> dict[str, Any]:
    splits = {split: _open(cell, request, split) for split in cell.splits}
    parts = {
        name: {"fingerprint": stored.fingerprint, "source": stored.source, "size": len(stored)}
        for name, stored in splits.items()
    }
    test = parts["test"]
    return {"data": parts, "data_fingerprint": test["fingerprint"], "data_source": test["source"]}
