"""Chooses how a fitted method predicts, on `valid`: one fit, then every combination of the values given.

What can be varied are the settings that `predict` alone reads, `Method.sampling_settings`; the fit is the one that a
run with the request's settings makes or has made. Nothing of the test set is read, and its masks are not used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any

import yaml

from benchmark.errors import UserError
from benchmark.planning.plain_yaml import load_yaml
from benchmark.planning.registry import near
from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolved, Resolver
from benchmark.planning.settings import SettingsError, covers, keys, resolve
from benchmark.records.cell import Cell
from benchmark.scoring.spread import pooled_spread

if TYPE_CHECKING:
    import torch

    from benchmark.core import Trajectories
    from benchmark.running.evaluate import Evaluation, Question

Values = Mapping[str, Sequence[Any]]  # dotted key -> what to try
Scores = dict[str, float]  # by the name of a measure
ERRORS = ("rel_l2", "rel_l2_mean", "crps")  # measures that a choice may be made by; those but the first are of samples


@dataclass(frozen=True)
class Trial:
    choice: dict[str, Any]
    scores: dict[str, Scores]  # of each task, mean over trajectories; only of those before a failure
    seconds: float  # of prediction, a trajectory
    failure: str | None = None  # why a task has no scores, such as a prediction that is not finite
    by: str = "rel_l2"

    @property
    def errors(self) -> Scores:
        """What the choice is made by, of each task, in percent."""
        return {task: scores[self.by] for task, scores in self.scores.items()}

    @property
    def error(self) -> float:
        return math.inf if self.failure else sum(self.errors.values()) / len(self.errors)


def parse_values(items: Iterable[str]) -> dict[str, list[Any]]:
    """`["edm.steps=10,20", "guidance.update=solve"]` as lists of values."""
    result: dict[str, list[Any]] = {}
    for item in items:
        key, equals, text = item.partition("=")
        try:
            values = load_yaml(f"[{text}]") if equals and key.strip() else []
        except yaml.YAMLError:
            values = []
        if not values:
            raise SettingsError(f"--vary {item!r}: expected key=value,value,..., e.g. edm.steps=10,20")
        result[key.strip()] = values
    return result


def combinations(cell: Resolved, values: Values) -> list[tuple[dict[str, Any], Any]]:
    """Every choice of the values, and the method's settings with it."""
    name, allowed = cell.cell.method, sampling_keys(cell)
    for key in values:
        if key not in allowed:
            hint = near(key, allowed)
            raise SettingsError(f"{name}: {key!r} is no setting that its predictions alone depend on{hint}")
    choices = (dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))
    return [(choice, resolve(cell.settings, choice, name)) for choice in choices]


def sampling_keys(cell: Resolved) -> list[str]:
    """The dotted keys that can be varied without another fit."""
    if cell.method.scope == "instance":
        return keys(cell.settings)
    return [key for key in keys(cell.settings) if covers(cell.method.sampling_settings, key)]


def plan_sweep(request: Request, values: Values) -> tuple[list[Resolved], list[tuple[dict[str, Any], Any]]]:
    """A cell for each task of the request, and every choice with its settings; what cannot be is refused here."""
    resolver = Resolver.of(request)
    resolver.check_changes()
    method, dataset = (resolver.registry.check(kind, getattr(request, kind)[0]) for kind in ("methods", "datasets"))
    tasks = resolver.names("tasks")
    cells = [resolver.resolve(Cell(method, task, dataset, request.profile, request.seeds[0])) for task in tasks]
    for cell in cells:
        _check(cell)
    return cells, combinations(cells[0], values)


def sweep(
    request: Request, values: Values, progress: Callable[[str, float], None], by: str = "rel_l2"
) -> Iterator[Trial]:
    """Each choice's scores on the first `request.limit` trajectories of `valid`, for all tasks of the request."""
    cells, chosen = plan_sweep(request, values)
    if by not in ERRORS:
        raise UserError(f"--by {by}: expected {', '.join(ERRORS)}{near(by, ERRORS)}")
    if by != ERRORS[0] and request.samples_of(cells[0].method.stochastic) == 1:
        raise UserError(f"--by {by}: of several samples alone; add --samples 8, with a method that samples")
    trials = [_Tried(cell, request, progress) for cell in cells]
    for choice, settings in chosen:
        yield _trial(choice, settings, trials, by)


def _trial(choice: dict[str, Any], settings: Any, trials: Sequence[_Tried], by: str) -> Trial:
    """A choice that fails is a result like any other: the rest goes on."""
    found: dict[str, Scores] = {}
    seconds, failure = 0.0, None
    for tried in trials:
        task = tried.cell.cell.task
        try:
            found[task], spent = tried(settings)
        except Exception as error:  # whatever a stranger's method raises
            failure = f"{task}: {type(error).__name__}: {error}"
            break
        seconds += spent / len(trials)
    return Trial(choice, found, seconds, failure, by)


class _Tried:
    """A fit for one task, to be asked on `valid` with one choice after another."""

    def __init__(self, cell: Resolved, request: Request, progress: Callable[[str, float], None]):
        from benchmark.running.cell import RunContext, fitted
        from benchmark.running.evaluate import seed_globally
        from benchmark.running.worker import choose_device
        from datasets.generate import ensure_data
        from datasets.store import open_split

        self.cell, device = cell, choose_device(request.device, 0)
        ensure_data(
            cell.dataset, request.data, ("train", "valid"), progress=lambda w, i, n: progress(f"data {w}", i / n)
        )
        self.train, valid = (open_split(cell.dataset, split, request.data) for split in ("train", "valid"))
        seed_globally(cell.cell.seed)
        method, self.fit = fitted(cell, RunContext(request, device, "", {}, progress))
        self.state = method.state()
        self.question = _question(cell, request, device, lambda: valid[: request.limit])

    def __call__(self, settings: Any) -> tuple[Scores, float]:
        """Its scores, and seconds per trajectory."""
        from benchmark.running.evaluate import Fitted, evaluate

        def fitted() -> Fitted:
            return Fitted(self.cell.method(settings).restore(self.state, self.train), self.fit)

        done = evaluate(self.question, fitted)
        return scores_of(done), done.seconds


def scores_of(done: Evaluation) -> Scores:
    """The relative error of one sample; of several, what tells a sampler from a regression; of many steps, of one."""
    values = {name: metric.values for name, metric in done.metrics.items()}
    of_samples = ("rel_l2_mean", "crps") if "spread_skill" in values else ()
    scores = {name: fmean(values[name]) for name in (*of_samples, "rel_l2_one_step") if name in values}
    if of_samples:
        scores["spread_skill"] = pooled_spread(values["spread_skill"], values["rel_l2_mean"])
    return {"rel_l2": done.error, **scores}


def _question(cell: Resolved, request: Request, device: torch.device, truth: Callable[[], Trajectories]) -> Question:
    """The cell's task on `valid`, with one mask per trajectory that no test trajectory has."""
    from benchmark.running.evaluate import Question
    from benchmark.running.masks import MaskNames

    masks = MaskNames(f"{cell.cell.dataset} valid", cell.cell.task, request.mask_seed)
    samples = request.samples_of(cell.method.stochastic)
    return Question(cell.dataset, cell.task, masks, truth, cell.cell.seed, samples, device)


def _check(cell: Resolved) -> None:
    if cell.unsupported:
        raise UserError(f"{cell.cell}: {cell.unsupported}")
    if cell.task.family == "long_range":
        raise UserError(f"{cell.cell.task}: `valid` has no long trajectories; choose on a forward task")
