"""What the tests of several learned methods share: a small dataset, and promises that all of them keep."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import torch

from benchmark.core import Problem, Run, Trajectories
from methods.blocks.learned import Learned, count
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators

HEAT = HeatDataset.small(long_frames=9)


@cache
def data(split: str, count: int = 8, frames: int | None = None) -> Trajectories:
    return HEAT.trajectories(split, count, frames)


def quick(settings: Any, **changes: Any) -> Any:
    """A few steps of training, after which weights and answers are not trivial."""
    training = replace(settings.training, steps=6, batch=4, validations=2, checkpoint_seconds=0.0)
    return replace(settings, training=training, validation=4, chunk=3, **changes)


def fit(method: Learned, task: Any = tasks.CONT_3) -> Any:
    return method.fit(data("train"), data("valid"), [task], 0, Run())


def problem(task: Any = tasks.CONT_3, count: int = 4, frames: int | None = None) -> Problem:
    return task.observe(data("test", count, frames), generators(count))


def keeps_its_promises(method: Learned, seen: Problem, evaluations: int) -> None:
    """Whole, repeatable, with what was seen; samples differ and do not depend on what is predicted beside them."""
    before = seen.values.clone()
    answer = method.predict(seen, 0, 3)
    assert answer.u.shape == (3, *seen.values.shape) and answer.u.isfinite().all()
    assert answer.evaluations == evaluations and torch.equal(seen.values, before)
    assert torch.equal(answer.u, method.predict(seen, 0, 3).u)
    assert torch.equal(answer.u[:, seen.mask], seen.values[seen.mask].expand(3, -1))
    other = method.predict(seen, 1).u
    for one in (answer.u[1], other[0]):
        assert (answer.u[0] != one)[~seen.mask].float().mean() > 0.99
    torch.testing.assert_close(method.predict(seen[:2], 0, 2).u, answer.u[:2, :2], rtol=1e-4, atol=1e-4)


def comes_back(method: Learned, seen: Problem) -> None:
    state = {name: value.clone() for name, value in method.state().items()}
    restored: Any = type(method)(method.settings).restore(state, data("train"))
    assert torch.equal(restored.predict(seen, 0).u, method.predict(seen, 0).u)
    assert restored.cost() == method.cost() and method.cost()["steps"] == 6


def answers_once(method: Learned, task: Any, seed: int) -> None:
    """A fit of 6 steps of a method with one answer: one evaluation a window, whatever is predicted beside it."""
    is_long = task.family == "long_range"
    seen = problem(task, frames=9 if is_long else None)
    prediction = method.predict(seen, 0, 3)
    answer = prediction.u
    assert answer.shape == (1, *seen.values.shape) and answer.isfinite().all()  # deterministic: one sample
    assert prediction.evaluations == (3 if is_long else 1)
    assert torch.equal(answer[0][seen.mask], seen.values[seen.mask])
    torch.testing.assert_close(method.predict(seen[:2], seed).u, answer[:, :2], rtol=1e-4, atol=1e-5)
    restored: Any = type(method)(method.settings).restore(method.state(), data("train"))
    assert torch.equal(restored.predict(seen, 0).u, answer)
    assert method.cost()["parameters"] == count(method.net_) and method.cost()["steps"] == 6
