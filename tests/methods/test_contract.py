"""What every registered method promises, on every dataset at smoke size."""

from contextlib import suppress
from dataclasses import replace
from functools import cache, reduce
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
import torch

from benchmark.core import Run
from benchmark.planning.registry import registry
from benchmark.planning.settings import SettingsError, covers, keys, resolve
from benchmark.planning.support import unsupported
from benchmark.tools.gate import run_gate
from methods import METHODS
from tests.methods.small import generators, load

KNOWN = registry()
TASKS = ("cont_3", "fwd_full", "inv_partial", "long_range")
QUICK = (("cont_3", "navier_stokes"), ("fwd_full", "helmholtz"))  # of a method that trains; the others are slow


def is_learned(method):
    return KNOWN.load("methods", method).kind == "learned"


def cell(method, task, dataset):
    trains = is_learned(method) and (task, dataset) not in QUICK
    return pytest.param(method, task, dataset, marks=pytest.mark.slow if trains else ())


CELLS = [cell(m, t, d) for m in METHODS for d in KNOWN.names("datasets") for t in TASKS]
PAIRS = [cell(m, t, d) for m in METHODS for d in ("navier_stokes", "helmholtz") for t in ("cont_3", "fwd_full")]


@cache
def data(name):
    cls = KNOWN.load("datasets", name)
    dataset = cls(cls.profiles["smoke"])
    long = dataset.sizes.long_frames
    return dataset, load(dataset, "train"), load(dataset, "valid"), load(dataset, "test", long)


def why_not(method, task, dataset):
    cls = KNOWN.load("methods", method)
    return unsupported(cls(cls.profiles["smoke"]), task, dataset)


@cache
def fitted(method, task):
    """The fitted method and its problem, or the reason why there is none."""
    method_name, dataset_name = method
    dataset, train, valid, test = data(dataset_name)
    task = KNOWN.load("tasks", task)
    reason = why_not(method_name, task, dataset)
    if reason:
        return reason
    cls = KNOWN.load("methods", method_name)
    if task.family != "long_range":
        frames = dataset.sizes.frames
        test = replace(test, u=test.u[:, :frames], grid=test.grid.first(frames))
    fit = cls(cls.profiles["smoke"]).fit(train, valid, [task], 0, Run())
    return fit, task.observe(test, generators(len(test)))


@pytest.mark.parametrize("method, task, dataset", CELLS)
def test_the_promise_holds(method, task, dataset):
    found = fitted((method, dataset), task)
    if isinstance(found, str):
        assert len(found) > 10  # a reason a person can read
        return
    fit, problem = found
    assert fit.remark(KNOWN.load("tasks", task), data(dataset)[0]) != ""
    before = (problem.values.clone(), problem.mask.clone())
    answer = fit.predict(problem, 0).u
    assert answer.shape == (1, *problem.values.shape) and answer.dtype == torch.float32
    assert answer.isfinite().all()
    assert torch.equal(problem.values, before[0]) and torch.equal(problem.mask, before[1])
    assert torch.equal(answer, fit.predict(problem, 0).u)


@pytest.mark.parametrize("method, task, dataset", PAIRS)
def test_only_observed_values_count(method, task, dataset):
    found = fitted((method, dataset), task)
    if isinstance(found, str):
        return
    fit, problem = found
    answer = fit.predict(problem, 0).u
    behind = replace(problem, values=torch.where(problem.mask, problem.values, 7.0))
    assert torch.equal(fit.predict(behind, 0).u, answer)
    changed = replace(problem, values=torch.where(problem.mask, 1.5 * problem.values, problem.values))
    assert not torch.equal(fit.predict(changed, 0).u, answer)


@pytest.mark.parametrize("method", KNOWN.names("methods"))
def test_a_method_has_settings_for_every_profile(method):
    cls = KNOWN.load("methods", method)
    assert set(cls.profiles) >= {"smoke", "laptop", "paper"}
    assert cls.scope in ("task", "dataset", "instance")


AUGMENTED: set[str] = set()  # methods whose source trains on turned examples: none does


@pytest.mark.parametrize("method", METHODS)
def test_the_paper_profile_trains_on_turned_examples_only_where_the_source_does(method):
    settings = KNOWN.load("methods", method).profiles["paper"]
    assert getattr(settings, "symmetries", False) == (method in AUGMENTED)


def others(value, hint):
    """Other values that a setting may have."""
    if get_origin(hint) is Literal:
        return [choice for choice in get_args(hint) if choice != value]
    return [not value if isinstance(value, bool) else value + 1]


def with_another(settings, key):
    """The first other value of a setting that is not at odds with the rest; None: there is none."""
    *path, last = key.split(".")
    owner = reduce(getattr, path, settings)
    for value in others(getattr(owner, last), get_type_hints(type(owner))[last]):
        with suppress(SettingsError):
            return resolve(settings, {key: value})
    return None


def with_other_sampling(settings, names):
    """The settings with all that predict alone reads changed."""
    changed = []
    for key in reversed([k for k in keys(settings) if covers(names, k)]):
        found = with_another(settings, key)
        if found is not None:
            settings = found
            changed.append(key)
    assert all(any(covers([name], key) for key in changed) for name in names)
    return settings


@pytest.mark.parametrize("method", [m for m in METHODS if KNOWN.load("methods", m).sampling_settings])
def test_a_fit_does_not_depend_on_how_it_is_sampled(method):
    """Else a fit that the runner keeps would be another's."""
    cls, (_, train, valid, _) = KNOWN.load("methods", method), data("navier_stokes")
    settings = resolve(cls.profiles["smoke"], {"training.steps": 2})
    variants = settings, with_other_sampling(settings, cls.sampling_settings)
    task = KNOWN.load("tasks", "cont_3")
    states = [cls(s).fit(train, valid, [task], 0, Run()).state() for s in variants]
    assert states[0].keys() == states[1].keys() and variants[0] != variants[1]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


TOO_LITTLE = {("shu", "overfit", "cont_05")}  # one sensor in 16^2: it starts from a constant field, and knows no more


@pytest.mark.slow
@pytest.mark.parametrize("method", [m for m in METHODS if is_learned(m)])
def test_the_gate_is_passed(method, tmp_path):
    checks = run_gate(KNOWN, method, "navier_stokes", tmp_path)
    failed = [c for c in checks if c.verdict == "fail" and (method, c.name, c.task) not in TOO_LITTLE]
    assert not failed
    assert {c.task for c in checks} >= {"cont_3"} or method in ("pino", "pino_refined")
