"""How a method gets its error: fit, observe, predict, score. Runs, sweeps, calibration and the gate all do it here.

What a method gets at test time is made from copies: `make_problem` reads the truth, observes it and lets go of it, and
the truth is read again only when the prediction is there. Nothing that a method can reach holds hidden values.

The clock of `predict` runs over the whole problem and is divided by its trajectories and samples. On a GPU one
trajectory is predicted before, off the clock, so that compilation is not counted; on a CPU, and for methods that do all
their work in `predict`, that would cost more than it corrects.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from benchmark.core import Dataset, Keeper, Method, Prediction, Problem, Run, Task, Trajectories, TrajectorySet
from benchmark.running.masks import MaskNames
from benchmark.running.meter import Meter

if TYPE_CHECKING:
    from benchmark.running.fits import Fit
    from benchmark.running.parts import KeptParts
    from benchmark.scoring.metrics import Metric


@dataclass(frozen=True)
class Question:
    """What a method is asked, and where the truth is that its answer is held against."""

    dataset: Dataset
    task: Task
    masks: MaskNames
    truth: Callable[[], Trajectories]  # read anew at every call, so that nobody keeps it while a method predicts
    seed: int = 0
    samples: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    progress: Callable[[str, float], None] = lambda message, fraction: None
    keep: Callable[[Problem, Fit | None], KeptParts] | None = None  # where a prediction goes on; None: it begins anew


class Fitted(NamedTuple):
    """A method ready to predict, and what its fit took where that is known."""

    method: Method
    fit: Fit | None = None


class Answer(NamedTuple):
    """What a method made of a question; nobody has looked at the prediction yet."""

    method: Method
    fit: Fit | None
    problem: Problem
    prediction: Any
    meter: Meter


@dataclass(frozen=True)
class Evaluation:
    """An answer held against the truth, and what it took."""

    prediction: Prediction
    metrics: dict[str, Metric]
    mask: Tensor  # (B, T, H, W, C) bool, what was seen
    seconds: float  # of prediction, per trajectory and sample
    cpu_seconds: float  # the same, of the processor
    memory_mb: float  # at the peak of prediction
    cost: dict[str, Any]  # what the method says itself
    fit: Fit | None
    remark: str | None

    @property
    def error(self) -> float:
        """Mean relative l2 error of one answer in percent; of several samples their average, which varies less."""
        averaged = "rel_l2_samples" in self.metrics and self.prediction.point is None
        values = self.metrics["rel_l2_samples" if averaged else "rel_l2"].values
        return sum(values) / len(values)


def evaluate(question: Question, fitted: Callable[[], Fitted]) -> Evaluation:
    """Fit, observe, predict, score. `fitted` fits the method, or gets it from where its fit is kept."""
    method, fit, problem, raw, meter = answer(question, fitted)
    prediction = check_prediction(raw, problem, question.samples)
    at_once = one_step(method, problem, question)
    cost = fit.cost if fit else method.cost()
    remark = method.remark(question.task, question.dataset)
    count = len(problem)
    del method, problem, raw  # the truth comes into memory next
    question.progress("score", 0.0)
    truth, seen = observe(question)
    metrics = score_prediction(prediction, truth, seen, question.dataset, at_once)
    videos = count * len(prediction.u)
    seconds, cpu_seconds = meter.seconds / videos, meter.cpu_seconds / videos
    return Evaluation(prediction, metrics, seen.mask, seconds, cpu_seconds, meter.memory_mb, cost, fit, remark)


def answer(question: Question, fitted: Callable[[], Fitted]) -> Answer:
    """Fit, observe, predict: the part without the truth."""
    seed_globally(question.seed)
    method, fit = fitted()
    problem = make_problem(question).to(question.device)
    if question.device.type == "cuda" and method.scope != "instance":
        question.progress("warm up", 0.0)
        method.predict(problem[:1], question.seed, 1)
    return Answer(method, fit, problem, *predict(method, problem, question, fit))


def fit_in_memory(method: Method, train: TrajectorySet, valid: TrajectorySet, task: Task, seed: int = 0) -> Fitted:
    """A fit for one task that nobody keeps."""
    method.fit(train, valid, [task], seed, Run())
    return Fitted(method)


def predict(method: Method, problem: Problem, question: Question, fit: Fit | None = None) -> tuple[Any, Meter]:
    """What a method predicts, the same whatever was drawn before, and what that took, also before it was killed."""
    kept = question.keep(problem, fit) if question.keep else None
    question.progress("predict", kept.fraction if kept else 0.0)
    method.keeper = kept or Keeper(question.progress)
    seed_globally(question.seed)
    try:
        with Meter(question.device, kept.spent if kept else None) as meter:
            prediction = method.predict(problem, question.seed, question.samples)
    finally:
        vars(method).pop("keeper", None)
    return prediction, meter


def one_step(method: Method, problem: Problem, question: Question) -> Prediction | None:
    """What a method that samples in many steps says in one, off the clock."""
    seed_globally(question.seed)
    prediction = method.one_step(problem, question.seed)
    return None if prediction is None else check_prediction(prediction, problem, samples=1)


def seed_globally(seed: int) -> None:
    """For methods that draw from the global generators; the suite's own use the seed they are given."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def observe(question: Question) -> tuple[Trajectories, Problem]:
    """The true trajectories and what is seen of them, a task's several masks one after another."""
    truth = question.truth()
    generators, masks = question.masks.generators(len(truth)), question.masks.masks
    static = None if truth.static is None else truth.static.repeat_interleave(masks, dim=0)
    truth = replace(truth, u=truth.u.repeat_interleave(masks, dim=0), static=static)
    return truth, question.task.observe(truth, generators)


def make_problem(question: Question) -> Problem:
    """What is seen, in memory of its own, zero where unseen, with an equation fresh from the dataset."""
    _, seen = observe(question)
    return replace(
        seen,
        values=torch.where(seen.mask, seen.values, 0).clone(memory_format=torch.contiguous_format),
        mask=seen.mask.clone(memory_format=torch.contiguous_format),
        grid=replace(seen.grid),
        equation=question.dataset.equation(),
        static=None if seen.static is None else seen.static.clone(memory_format=torch.contiguous_format),
    )


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
    _check_diagnostics(prediction.diagnostics, video[0])
    u = prediction.u.detach().to("cpu", torch.float32)
    point = None if prediction.point is None else prediction.point.detach().to("cpu", torch.float32)
    for answers in (u, *([] if point is None else [point[None]])):
        scored = answers if frames is None else answers[:, :, list(frames)]
        bad = ~torch.isfinite(scored).flatten(2).all(2).all(0)  # (B,)
        if bad.any():
            raise ValueError(f"predict: NaN or infinity in {int(bad.sum())} of {len(bad)} trajectories")
    return replace(prediction, u=u, point=point)


def _check_diagnostics(diagnostics: Any, count: int) -> None:
    """Lists of numbers, one per trajectory, finite: they go into the record."""
    for name, values in (diagnostics or {}).items():
        numbers = list(values) if isinstance(values, (list, tuple)) else None
        if numbers is None or len(numbers) != count or not all(isinstance(v, (int, float)) for v in numbers):
            raise ValueError(f"predict: expected {count} plain numbers as diagnostics {name!r}, got {values!r}")
        if not np.isfinite(numbers).all():
            raise ValueError(f"predict: NaN or infinity in diagnostics {name!r}")


def score_prediction(
    prediction: Prediction, truth: Trajectories, seen: Problem, dataset: Dataset, one_step: Prediction | None = None
) -> dict[str, Metric]:
    """Every metric that applies, one number (or curve) per trajectory."""
    from benchmark.scoring.metrics import score

    return score(prediction, truth, seen, frame_names=dataset.frame_names, one_step=one_step)
