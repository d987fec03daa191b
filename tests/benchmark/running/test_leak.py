"""Nothing that a method gets at test time holds a hidden value, not even behind a view, a closure or an attribute."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import datasets
import tasks
from benchmark.core import Dataset, Method, Trajectories
from benchmark.planning.plan import cells_of
from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolved, Resolver
from benchmark.running.cell import RunContext, prepare_data, question_of
from benchmark.running.evaluate import Question, make_problem, observe
from tests.benchmark.support import toy_request

ATOMS = (str, bytes, int, float, bool, complex, type(None), types.ModuleType, type, torch.dtype, torch.device)


def reachable(root: Any) -> Iterator[Any]:
    """Every object that can be got at from `root`: attributes, items, closures, defaults, bases of views."""
    stack, seen = [root], set()
    while stack:
        value = stack.pop()
        if id(value) in seen or isinstance(value, ATOMS):
            continue
        seen.add(id(value))
        yield value
        stack += children(value)


def children(value: Any) -> list[Any]:
    found = list(getattr(value, "__dict__", {}).values())
    found += [getattr(value, name) for name in getattr(value, "__slots__", ()) if hasattr(value, name)]
    if isinstance(value, dict):
        found += [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple, set, frozenset)):
        found += value
    if isinstance(value, types.MethodType):
        found += [value.__self__, value.__func__]
    if isinstance(value, types.FunctionType):
        found += [cell.cell_contents for cell in value.__closure__ or ()]
        found += [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if isinstance(value, torch.Tensor):
        found += [value._base, value.grad, value.grad_fn]
    if isinstance(value, np.ndarray):
        found.append(value.base)
    return found


def stored_numbers(value: Any) -> torch.Tensor:
    """All numbers in a tensor's memory, also those that the tensor itself does not show."""
    storage = value.untyped_storage()
    return torch.empty(0, dtype=value.dtype).set_(storage).flatten()


def context(request: Request) -> RunContext:
    return RunContext(request, torch.device("cpu"), "", {})


def question(cell: Resolved, request: Request) -> Question:
    return question_of(cell, context(request))


def cells(request: Request) -> Iterator[Resolved]:
    resolver = Resolver.of(request)
    for cell in cells_of(request, resolver):
        resolved = resolver.resolve(cell)
        if not resolved.unsupported:
            prepare_data(resolved, context(request))
            yield resolved


def check(cell: Resolved, request: Request) -> None:
    problem = make_problem(question(cell, request))
    truth, seen = observe(question(cell, request))
    hidden = truth.u[~seen.mask]
    hidden = hidden[hidden != 0]
    values = set(hidden.tolist()) - set(truth.u[seen.mask].tolist())
    if truth.static is not None:
        values -= set(truth.static.flatten().tolist())
    assert values
    for thing in reachable(problem):
        assert not isinstance(thing, (Dataset, Trajectories, Method, torch.Generator)), type(thing)
        assert not hasattr(thing, "generate") and not hasattr(thing, "simulate"), type(thing)
        assert not isinstance(thing, (types.GeneratorType, types.FrameType)), type(thing)
        if isinstance(thing, np.ndarray):
            thing = torch.from_numpy(np.ascontiguousarray(thing))
        if isinstance(thing, torch.Tensor) and thing.is_floating_point():
            assert not values & set(stored_numbers(thing).tolist()), f"{cell.cell}: hidden values in {thing.shape}"
    for tensor in (problem.values, problem.mask, problem.static):
        if tensor is not None:  # its memory holds exactly itself
            assert tensor._base is None and tensor.untyped_storage().nbytes() == tensor.numel() * tensor.element_size()
    assert not problem.values[~problem.mask].any()


@pytest.mark.parametrize("dataset", ["toy", "toy_long"])
def test_toy_problems(tmp_path, dataset):
    request = toy_request(
        tmp_path, methods=("odd",), tasks=("all",), datasets=(dataset,), overrides=("task.noise=0.1",)
    )
    for cell in cells(request):
        check(cell, request)
    for cell in cells(replace(request, overrides=())):
        check(cell, request)


@pytest.mark.parametrize("dataset", datasets.DATASETS)
def test_problems_of_the_suite(tmp_path, dataset):
    request = toy_request(tmp_path, methods=("odd",), tasks=tuple(tasks.TASKS), datasets=(dataset,))
    checked = [check(cell, request) for cell in cells(request)]
    assert len(checked) >= 7


def test_a_view_or_a_generator_would_be_found(tmp_path):
    """The check itself: it sees through views, closures and attributes."""
    u = torch.arange(6.0)
    view = u[:2]
    assert 5.0 in stored_numbers(view)
    assert any(thing is u for thing in reachable({"a": [lambda: u]}))
    assert any(thing is u for thing in reachable(view))


def test_no_truth_is_in_memory_while_a_method_predicts(tmp_path):
    """make_problem lets go of what it read, so that not even a walk over all objects finds it."""
    request = toy_request(tmp_path, methods=("odd",), tasks=("fwd_full",))
    (cell,) = cells(request)

    def trajectories() -> set[int]:
        return {id(x) for x in gc.get_objects() if type(x) is Trajectories}

    before = trajectories()
    problem = make_problem(question(cell, request))
    assert trajectories() <= before
    assert problem.values[:, 0].any()
