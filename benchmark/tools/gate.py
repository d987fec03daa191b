"""The gate: what a method must satisfy before its numbers count, checked at smoke size.

shape       the prediction covers every sample, trajectory, frame and site, and is finite
determinism the same seed gives the same answer
input       the problem is left as it was
sensitivity the answer changes when an observed value changes
leak        the answer does not change when the values behind the mask do
batch       the answer to a trajectory does not depend on which others are asked for with it (methods with one answer)
storage     state() and restore() bring the fitted method back
gradients   training reaches every weight (methods with a network)
overfit     on two trajectories the fit beats their mean (methods with a network)
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_pre_hook

from benchmark.core import Dataset, Method, Problem, Task, Trajectories
from benchmark.planning.registry import Registry
from benchmark.planning.resolve import NoProfile, check_signature
from benchmark.planning.support import unsupported
from benchmark.running.evaluate import Fitted, Question, answer, fit_in_memory, make_problem, predict
from benchmark.running.masks import MaskNames

PROFILE = "smoke"


@dataclass(frozen=True)
class Check:
    name: str
    task: str
    verdict: Literal["pass", "fail", "skip"]
    note: str = ""


def run_gate(known: Registry, name: str, dataset_name: str, data: Path) -> list[Check]:
    """Every check on every task the method supports on one dataset."""
    from datasets.generate import ensure_data
    from datasets.store import open_split

    cls = check_signature(known.load("methods", name), name, known.origin["methods", name])
    if PROFILE not in cls.profiles:
        return [Check("profile", "", "fail", f"no profile {PROFILE!r}: the gate needs settings that run in seconds")]
    dataset = _dataset(known, dataset_name)
    ensure_data(dataset, data)
    splits = {split: open_split(dataset, split, data)[:] for split in ("train", "valid", "test")}
    checks: list[Check] = []
    for task_name in known.names("tasks"):
        task = known.load("tasks", task_name)
        method = cls(cls.profiles[PROFILE])
        if unsupported(method, task, dataset) or task.family == "long_range":
            continue
        checks += _guarded(task, method, cls, dataset, splits)
    return checks or [Check("support", "", "fail", f"supports no task on {dataset_name}")]


def _dataset(known: Registry, name: str) -> Dataset:
    cls = known.load("datasets", name)
    if PROFILE not in cls.profiles:
        raise NoProfile(
            f"{name} has no settings for profile {PROFILE!r}, at which the gate runs (it has "
            f"{', '.join(cls.profiles) or 'none'}); add them to its profiles, or name another --dataset"
        )
    return cls(cls.profiles[PROFILE])


def _guarded(task: Task, method: Method, cls: type[Method], dataset: Dataset, splits: dict) -> list[Check]:
    checks: list[Check] = []
    try:
        checks.extend(_checks(task, method, cls, dataset, splits))  # keeps what came before an error
    except Exception as error:  # a stranger's code
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        checks.append(Check("runs", task.name, "fail", f"{type(error).__name__}: {error} ({where})"))
    return checks


def _checks(task: Task, method: Method, cls: type[Method], dataset: Dataset, splits: dict) -> Iterator[Check]:
    train, valid, test = splits["train"], splits["valid"], splits["test"]
    trained: set[int] = set()

    def fitted() -> Fitted:
        with trained_weights(trained):
            return fit_in_memory(method, train, valid, task)

    question = _question(task, dataset, test)
    given = answer(question, fitted)
    problem, u = given.problem, given.prediction.u
    yield _verdict("shape", task, _shape_note(u, problem))
    asked = make_problem(question)
    untouched = torch.equal(problem.values, asked.values) and torch.equal(problem.mask, asked.mask)
    yield _verdict("input", task, "" if untouched else "predict changed problem.values or problem.mask")
    same = torch.equal(u, _predict(method, problem, question))
    yield _verdict("determinism", task, "" if same else "two calls with the same seed differ")
    moved = not torch.equal(u, _predict(method, _disturb(problem, seen=True), question))
    yield _verdict("sensitivity", task, "" if moved else "an observed value does not matter")
    tight = torch.equal(u, _predict(method, _disturb(problem, seen=False), question))
    yield _verdict("leak", task, "" if tight else "values behind the mask matter: use problem.mask")
    if not method.stochastic:
        alone = _predict(method, problem[:1], question)
        same = torch.allclose(alone, u[:, :1], rtol=1e-3, atol=1e-3 * float(u.std()))
        yield _verdict("batch", task, "" if same else "the answer depends on the other trajectories of the batch")
    restored = cls(method.settings).restore({k: v.clone() for k, v in method.state().items()}, train)
    equal = torch.allclose(u, _predict(restored, problem, question), rtol=1e-5, atol=1e-6)
    yield _verdict("storage", task, "" if equal else "state() and restore() do not bring the fit back")
    if networks(method):
        yield _gradients(method, task, trained)
        yield _overfit(cls(method.settings), task, train[:2], dataset)


def networks(method: Method) -> dict[str, nn.Module]:
    return {name: value for name, value in vars(method).items() if isinstance(value, nn.Module)}


def _question(task: Task, dataset: Dataset, truth: Trajectories) -> Question:
    return Question(dataset, task, MaskNames(dataset.name, task.name), lambda: truth)


def _predict(method: Method, problem: Problem, question: Question) -> Tensor:
    return predict(method, problem, question)[0].u


def _verdict(name: str, task: Task, note: str) -> Check:
    return Check(name, task.name, "fail" if note else "pass", note)


def _shape_note(u: Tensor, problem: Problem) -> str:
    expected = (1, *problem.values.shape)
    if tuple(u.shape) != expected:
        return f"expected (S, B, T, H, W, C) = {expected}, got {tuple(u.shape)}"
    return "" if torch.isfinite(u).all() else "not finite"


def _disturb(problem: Problem, seen: bool) -> Problem:
    """The problem with its observed (or its hidden) values changed by one standard deviation."""
    where = problem.mask if seen else ~problem.mask
    step = problem.values[problem.mask].std().nan_to_num(1.0)
    return replace(problem, values=problem.values + torch.where(where, step, 0))


@contextmanager
def trained_weights(trained: set[int]) -> Iterator[None]:
    """Adds the ids of all parameters that any optimiser steps with a gradient other than zero."""

    def look(optimiser: torch.optim.Optimizer, *arguments: Any) -> None:
        for p in (p for group in optimiser.param_groups for p in group["params"]):
            if id(p) not in trained and p.grad is not None and p.grad.abs().sum() > 0:
                trained.add(id(p))

    hook = register_optimizer_step_pre_hook(look)
    try:
        yield
    finally:
        hook.remove()


def _gradients(method: Method, task: Task, trained: set[int]) -> Check:
    nets = networks(method).items()
    weights = {f"{m}.{n}": p for m, net in nets for n, p in net.named_parameters() if p.requires_grad}
    if not any(id(p) in trained for p in weights.values()):
        return Check("gradients", task.name, "skip", "no torch optimiser has stepped these weights")
    dead = [name for name, p in weights.items() if id(p) not in trained]
    return _verdict("gradients", task, f"no gradient reaches {', '.join(dead[:3])}" if dead else "")


def _overfit(method: Method, task: Task, pair: Trajectories, dataset: Dataset) -> Check:
    given = answer(_question(task, dataset, pair), lambda: fit_in_memory(method, pair, pair, task))
    error = (given.prediction.u[0] - pair.u).norm() / pair.u.norm()
    mean = (pair.u.mean((0, 2, 3), keepdim=True) - pair.u).norm() / pair.u.norm()
    note = f"relative error {error:.2f} on two trajectories it was trained on, their mean has {mean:.2f}"
    return Check("overfit", task.name, "pass" if error < mean else "fail", note)
