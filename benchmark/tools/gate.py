"""The gate: what a method must satisfy before its numbers count, checked at smoke size.

shape       the prediction covers every sample, trajectory, frame and site, and is finite
determinism the same seed gives the same answer
input       the problem is left as it was
sensitivity the answer changes when an observed value changes
leak        the answer does not change when the values behind the mask do
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

from benchmark.core import Dataset, Method, Problem, Run, Task, Trajectories
from benchmark.planning.registry import Registry
from benchmark.planning.resolve import check_method as check_signature
from benchmark.running.masks import test_generators

PROFILE = "smoke"


@dataclass(frozen=True)
class Check:
    name: str
    task: str
    verdict: Literal["pass", "fail", "skip"]
    note: str = ""


def check_method(known: Registry, name: str, dataset_name: str, data: Path) -> list[Check]:
    """Every check on every task the method supports on one dataset."""
    from datasets.generate import ensure_data
    from datasets.store import open_split

    cls = check_signature(known.load("methods", name), name, known.origin["methods", name])
    if PROFILE not in cls.profiles:
        return [Check("profile", "", "fail", f"no profile {PROFILE!r}: the gate needs settings that run in seconds")]
    dataset_cls = known.load("datasets", dataset_name)
    dataset = dataset_cls(dataset_cls.profiles[PROFILE])
    ensure_data(dataset, data)
    splits = {split: open_split(dataset, split, data)[:] for split in ("train", "valid", "test")}
    checks: list[Check] = []
    for task_name in known.names("tasks"):
        task = known.load("tasks", task_name)
        method = cls(cls.profiles[PROFILE])
        reason = task.unsupported(dataset) or method.unsupported(task, dataset)
        if reason or task.family == "long_range":
            continue
        checks += _guarded(task, method, cls, dataset, splits)
    return checks or [Check("support", "", "fail", f"supports no task on {dataset_name}")]


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
    with trained_weights() as trained:
        method.fit(train, valid, [task], 0, Run())
    problem = task.observe(test, test_generators(dataset.name, task.name, range(len(test)), 0))
    before = (problem.values.clone(), problem.mask.clone())
    answer = _predict(method, problem)
    yield _verdict("shape", task, _shape_note(answer, problem))
    untouched = torch.equal(problem.values, before[0]) and torch.equal(problem.mask, before[1])
    yield _verdict("input", task, "" if untouched else "predict changed problem.values or problem.mask")
    same = torch.equal(answer, _predict(method, problem))
    yield _verdict("determinism", task, "" if same else "two calls with the same seed differ")
    moved = not torch.equal(answer, _predict(method, _disturb(problem, seen=True)))
    yield _verdict("sensitivity", task, "" if moved else "an observed value does not matter")
    tight = torch.equal(answer, _predict(method, _disturb(problem, seen=False)))
    yield _verdict("leak", task, "" if tight else "values behind the mask matter: use problem.mask")
    restored = cls(method.settings).restore({k: v.clone() for k, v in method.state().items()}, train)
    equal = torch.allclose(answer, _predict(restored, problem), rtol=1e-5, atol=1e-6)
    yield _verdict("storage", task, "" if equal else "state() and restore() do not bring the fit back")
    if networks(method):
        yield _gradients(method, task, trained)
        yield _overfit(cls(method.settings), task, train[:2], dataset)


def networks(method: Method) -> dict[str, nn.Module]:
    return {name: value for name, value in vars(method).items() if isinstance(value, nn.Module)}


def _predict(method: Method, problem: Problem) -> Tensor:
    torch.manual_seed(0)
    return method.predict(problem, 0, 1).u


def _verdict(name: str, task: Task, note: str) -> Check:
    return Check(name, task.name, "fail" if note else "pass", note)


def _shape_note(answer: Any, problem: Problem) -> str:
    expected = (1, *problem.values.shape)
    if tuple(answer.shape) != expected:
        return f"expected (S, B, T, H, W, C) = {expected}, got {tuple(answer.shape)}"
    return "" if torch.isfinite(answer).all() else "not finite"


def _disturb(problem: Problem, seen: bool) -> Problem:
    """The problem with its observed (or its hidden) values changed by one standard deviation."""
    where = problem.mask if seen else ~problem.mask
    step = problem.values[problem.mask].std().nan_to_num(1.0)
    return replace(problem, values=problem.values + torch.where(where, step, 0))


@contextmanager
def trained_weights() -> Iterator[set[int]]:
    """The ids of all parameters that any optimiser steps with a gradient other than zero."""
    trained: set[int] = set()

    def look(optimiser: torch.optim.Optimizer, *arguments: Any) -> None:
        for p in (p for group in optimiser.param_groups for p in group["params"]):
            if id(p) not in trained and p.grad is not None and p.grad.abs().sum() > 0:
                trained.add(id(p))

    hook = register_optimizer_step_pre_hook(look)
    try:
        yield trained
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
    method.fit(pair, pair, [task], 0, Run())
    problem = task.observe(pair, test_generators(dataset.name, task.name, range(len(pair)), 0))
    error = (_predict(method, problem)[0] - pair.u).norm() / pair.u.norm()
    mean = (pair.u.mean((0, 2, 3), keepdim=True) - pair.u).norm() / pair.u.norm()
    note = f"relative error {error:.2f} on two trajectories it was trained on, their mean has {mean:.2f}"
    return Check("overfit", task.name, "pass" if error < mean else "fail", note)
