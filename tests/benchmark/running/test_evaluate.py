"""One evaluation for all: runs, calibration, sweeps and the gate give the same error for the same question."""

from __future__ import annotations

import gc
import time
from dataclasses import replace
from typing import ClassVar

import pytest
import torch

from benchmark.core import Prediction, Trajectories
from benchmark.planning.plan import cells_of
from benchmark.planning.registry import registry
from benchmark.planning.resolve import Resolver
from benchmark.running.cell import RunContext, fitted, question_of, run_cell
from benchmark.running.evaluate import Fitted, evaluate, seed_globally
from benchmark.running.masks import mask_generators
from benchmark.scoring.metrics import score
from benchmark.tools.calibrate import reference_error
from benchmark.tools.gate import run_gate
from benchmark.tools.sweep import sweep
from datasets.store import open_split
from methods.nearest import Nearest
from tests.benchmark.support import TOY, toy_request


class Watched(Nearest):
    """`nearest`, which adds a draw from the global generator and notes what it predicts."""

    predicted: ClassVar[list[torch.Tensor]] = []

    def predict(self, problem, seed, samples=1):
        prediction = super().predict(problem, seed, samples)
        u = prediction.u + 1e-3 * torch.randn(prediction.u.shape)  # the same only after the same seed
        self.predicted.append(u)
        return Prediction(u)


@pytest.fixture
def known():
    Watched.predicted.clear()
    known = registry((TOY,))
    known.add("methods", "watched", Watched, "a test")
    return known


def context(request) -> RunContext:
    return RunContext(request, torch.device("cpu"), "", {})


def resolve(request, known=None):
    resolver = Resolver.of(request)
    resolver = replace(resolver, registry=known or resolver.registry)
    (cell,) = cells_of(request, resolver)
    return resolver.resolve(cell)


def mean(values):
    return sum(values) / len(values)


def ran(cell, request):
    return mean(run_cell(cell, context(request)).headline.values)


@pytest.mark.parametrize("task", ["cont_3", "inv_partial"])
@pytest.mark.parametrize("method", ["nearest", "watched"])
def test_calibration_gives_the_error_of_a_run(tmp_path, known, method, task):
    request = toy_request(tmp_path, methods=(method,), tasks=(task,))
    cell = resolve(request, known)
    error = ran(cell, request)
    assert error > 0
    assert reference_error(known, cell.dataset, method, task, request.data, "smoke", None) == error


def test_the_gate_predicts_what_a_run_predicts(tmp_path, known):
    request = toy_request(tmp_path, methods=("watched",), tasks=("cont_3",))
    ran(resolve(request, known), request)
    (of_run,) = Watched.predicted
    checks = run_gate(known, "watched", "toy", request.data)
    assert {check.name for check in checks if check.task == "cont_3" and check.verdict == "fail"} == set()
    assert any(torch.equal(u, of_run) for u in Watched.predicted[1:])


@pytest.mark.parametrize("samples", [1, 3])
def test_a_sweep_without_choices_gives_the_error_on_valid(tmp_path, samples):
    """`learn` draws from the global generator, so that the seed before `predict` matters."""
    request = toy_request(tmp_path, tasks=("cont_3",), samples=samples)
    (trial,) = sweep(request, {}, lambda message, fraction: None)
    cell = resolve(request)
    valid = open_split(cell.dataset, "valid", request.data)[:]
    problem = cell.task.observe(valid, mask_generators("toy valid", "cont_3", range(len(valid)), 0))
    method, fit = fitted(cell, context(request))
    assert fit.cached
    torch.manual_seed(0)
    prediction = method.predict(problem, 0, samples)
    of_one = "rel_l2" if samples == 1 else "rel_l2_samples"
    assert trial.errors == {"cont_3": mean(score(prediction, valid, problem)[of_one].values)}


def test_a_fit_in_memory_gives_the_error_of_a_stored_one(tmp_path):
    request = toy_request(tmp_path, samples=1)
    cell = resolve(request)
    error = ran(cell, request)
    method, fit = fitted(cell, context(request))
    seed_globally(5)  # whatever was drawn before
    assert evaluate(question_of(cell, context(request)), lambda: Fitted(method, fit)).error == error


def test_the_answer_in_one_step_is_recorded_and_costs_nothing(tmp_path, known):
    class Hasty(Watched):
        def one_step(self, problem, seed):
            time.sleep(1.0)
            return Prediction(super().predict(problem, seed).u + torch.randn(problem.values.shape))

    cell = resolve(toy_request(tmp_path, methods=("watched",), tasks=("cont_3",)), known)
    request = toy_request(tmp_path)
    plain, hasty = (run_cell(replace(cell, method=cls), context(request)) for cls in (Watched, Hasty))
    at_once = hasty.metrics["rel_l2_one_step"]
    assert at_once.unit == "%" and len(at_once.values) == 4 and at_once.mean > hasty.headline.mean
    assert hasty.headline == plain.headline and "rel_l2_one_step" not in plain.metrics
    assert hasty.cost["predict_seconds"] < 0.2 and hasty.cost["evaluations"] == plain.cost["evaluations"]
    again = run_cell(replace(cell, method=Hasty), context(request))
    assert again.metrics["rel_l2_one_step"] == at_once


def test_no_truth_is_in_memory_while_a_method_predicts(tmp_path):
    def trajectories() -> set[int]:
        return {id(x) for x in gc.get_objects() if type(x) is Trajectories}

    class Looking(Watched):
        scope = "instance"

        def predict(self, problem, seed, samples=1):
            found.append(trajectories())
            return super().predict(problem, seed, samples)

    found: list[set[int]] = []
    request = toy_request(tmp_path, methods=("odd",), tasks=("cont_3",))
    before = trajectories()
    run_cell(replace(resolve(request), method=Looking, settings=None), context(request))
    assert len(found) == 1 and found[0] <= before
