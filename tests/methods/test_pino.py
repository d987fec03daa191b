from dataclasses import fields, replace
from functools import cache

import pytest
import torch

from benchmark.core import Run
from methods.blocks.regression import regress, relative_l2
from methods.blocks.residual import refine, relative_residual, term_sizes
from methods.blocks.roll_out import keep_observed
from methods.blocks.training.examples import Observed
from methods.fno import FNO
from methods.pino import PINO
from methods.pino_refined import PINORefined
from methods.pino_refined import Settings as RefinedSettings
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators

HEAT = HeatDataset.small(resolution=8, frames=4)
SMOKE = PINO.profiles["smoke"]
QUICK = replace(SMOKE, training=replace(SMOKE.training, steps=2, batch=4, validations=1))


@cache
def data(split, count=8):
    return HEAT.trajectories(split, count)


def observed(task=tasks.FWD_FULL, count=4):
    truth = data("test", count)
    return Observed(truth, task.observe(truth, generators(count)))


def refined(iterations=5):
    settings = RefinedSettings(QUICK, refine=iterations)
    return PINORefined(settings).fit(data("train"), data("valid"), [tasks.FWD_FULL], 0, Run())


def fitted(**changes):
    return PINO(replace(QUICK, **changes)).fit(data("train"), data("valid"), [tasks.FWD_FULL], 0, Run())


def test_the_loss_is_data_residual_and_anchor():
    method, batch = fitted(), observed()
    problem, truth = batch.problem, batch.truth
    with torch.no_grad():
        raw = regress(method, method.net_, problem)
        video = keep_observed(raw, problem)
        whole = method.losses(method.net_, batch, torch.Generator())
    assert torch.equal(video[:, 0], truth.u[:, 0]) and not torch.equal(raw[:, 0], truth.u[:, 0])
    sizes = term_sizes(truth.u, problem)
    excess = relative_residual(video, problem, sizes) - relative_residual(truth.u, problem, sizes)
    assert (excess > 0).all()
    anchor = (raw - truth.u)[:, 0].flatten(1).norm(dim=1) / truth.u[:, 0].flatten(1).norm(dim=1)
    expected = relative_l2(video, truth.u, False) + 0.2 * excess + 0.2 * anchor
    torch.testing.assert_close(whole, expected)


def test_without_weights_it_is_fno():
    batch = observed()
    pino = fitted(residual_weight=0.0, anchor_weight=0.0)
    shared = {name: getattr(QUICK, name) for name in ("training", "symmetries", "validation", "chunk", "architecture")}
    fno = FNO(type(FNO.profiles["smoke"])(**shared)).fit(data("train"), data("valid"), [tasks.FWD_FULL], 0, Run())
    assert torch.equal(pino.predict(batch.problem, 0).u, fno.predict(batch.problem, 0).u)
    assert not torch.equal(fitted().predict(batch.problem, 0).u, fno.predict(batch.problem, 0).u)


def test_the_truth_has_no_excess_and_a_wrong_video_has():
    batch = observed()
    truth, problem = batch.truth, batch.problem
    sizes = term_sizes(truth.u, problem)
    floor = relative_residual(truth.u, problem, sizes)
    assert (floor < 0.05).all()  # the trapezoidal rule at the spacing of the frames
    still = truth.u[:, :1].expand_as(truth.u)
    assert (relative_residual(still, problem, sizes) > 5 * floor).all()
    torch.testing.assert_close(floor, truth.equation.relative_residual(truth.u, None, truth.grid))


def test_refining_finds_the_solution_trajectory_by_trajectory():
    batch = observed()
    problem, truth = batch.problem, batch.truth
    start = torch.where(problem.mask, problem.values, truth.u[:, :1].expand_as(truth.u))
    better = refine(start, problem, 60).u
    sizes = term_sizes(truth.u, problem)
    assert (relative_residual(better, problem, sizes) < 0.1 * relative_residual(start, problem, sizes)).all()
    assert torch.equal(better[problem.mask], problem.values[problem.mask])
    error, before = (relative_l2(u, truth.u, False) for u in (better, start))
    assert (error < 0.2 * before).all()
    alone = refine(start[1:2], problem[1:2], 60).u
    torch.testing.assert_close(alone, better[1:2], rtol=1e-2, atol=1e-3)


def test_no_profile_of_pino_refines_and_the_variant_says_that_it_does():
    assert not any("refine" in {f.name for f in fields(settings)} for settings in PINO.profiles.values())
    assert all(settings.refine for settings in PINORefined.profiles.values())
    assert "refined at test time" in refined().remark(tasks.FWD_FULL, HEAT)
    assert fitted().remark(tasks.FWD_FULL, HEAT) is None


def test_a_refined_prediction_starts_from_that_of_pino_and_counts_its_residuals():
    batch = observed()
    method, plain = refined(), fitted().predict(batch.problem, 0)
    answer = method.predict(batch.problem, 0)
    assert torch.equal(answer.u, method.predict(batch.problem, 1).u)
    assert method.refine_ == 5  # it helps where the truth has hardly a residual
    sizes = term_sizes(batch.truth.u, batch.problem)
    rough, fine = (relative_residual(a.u[0], batch.problem, sizes) for a in (plain, answer))
    assert (fine < rough).all()
    assert plain.evaluations == 1 and answer.evaluations >= 1 + 6  # the start and five iterations
    method.refine_ = torch.tensor(0)
    assert torch.equal(method.predict(batch.problem, 0).u, plain.u)


def test_refining_that_does_harm_on_valid_is_left_out(monkeypatch):
    monkeypatch.setattr("methods.pino_refined.refine_in_chunks", lambda u, *rest: (u + 1.0, 1))
    method = refined()
    assert method.refine_ == 0 and "not refined" in method.remark(tasks.FWD_FULL, HEAT)


@pytest.mark.parametrize("task", [tasks.CONT_1, tasks.FWD_PARTIAL])
def test_sparse_frames_are_left_to_others(task):
    assert "fno" in PINO(QUICK).unsupported(task, HEAT)
    assert PINO(QUICK).unsupported(tasks.INV_FULL, HEAT) is None
