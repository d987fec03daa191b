from dataclasses import replace

import torch

from benchmark.core import Run
from datasets.helmholtz import Helmholtz
from methods.kriging import Settings as KrigingSettings
from methods.solver import Settings, Solver
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators, load

DATA = HeatDataset.small()
SETTINGS = Settings(iterations=40, chunk=3, kriging=KrigingSettings(trajectories=64, validation=4))


def error(prediction, truth):
    return ((prediction - truth).flatten(2).norm(dim=2) / truth.flatten(2).norm(dim=2)).mean().item()


def solve(task, train, valid, test):
    method = Solver(SETTINGS).fit(train, valid, [task], 0, Run())
    problem = task.observe(test, generators(len(test)))
    return method.predict(problem, 0), method.kriging.predict(problem, 0)


def heat(task, frames=None):
    test = DATA.trajectories("test", 4, frames)
    solved, kriged = solve(task, DATA.trajectories("train", 64), DATA.trajectories("valid", 4), test)
    return error(solved.u[0], test.u), error(kriged.u[0], test.u), solved.evaluations


def test_a_first_frame_in_full_needs_one_run():
    solved, _, runs = heat(tasks.FWD_FULL)
    assert solved < 1e-6 and runs == 1


def test_the_solver_covers_a_longer_trajectory():
    solved, _, runs = heat(tasks.LONG_RANGE, frames=9)
    assert solved < 1e-6 and runs == 1


def test_a_first_frame_in_part_is_kriged_and_advanced():
    solved, kriged, runs = heat(tasks.FWD_PARTIAL)
    assert solved < 1.05 * kriged and runs == 1


def test_the_variational_fit_goes_back_in_time():
    solved, kriged, runs = heat(tasks.INV_FULL)
    assert solved < 0.05 and solved < 1.05 * kriged and runs > 1


def test_the_variational_fit_uses_sensors_at_all_frames():
    solved, kriged, runs = heat(replace(tasks.CONT_3, rate=0.1))
    assert solved < 1.05 * kriged and runs > 1


def test_noise_is_not_fitted():
    task = replace(tasks.FWD_FULL, noise=0.3)
    test = DATA.trajectories("test", 4)
    solved, _ = solve(task, DATA.trajectories("train", 64), DATA.trajectories("valid", 4), test)
    noisy = test.equation.solve(task.observe(test, generators(4)).values[:, 0], None, test.grid)
    assert error(solved.u[0], test.u) < error(noisy, test.u)


def test_the_steady_problem_is_solved_both_ways():
    dataset = Helmholtz(Helmholtz.profiles["smoke"])
    train, valid, test = (load(dataset, split) for split in ("train", "valid", "test"))
    for task in (tasks.FWD_FULL, tasks.INV_FULL):
        solved, _ = solve(task, train, valid, test)
        assert error(solved.u[0], test.u) < 1e-3 and solved.evaluations == 1


def test_a_stored_fit_gives_the_same_answer():
    train, test = DATA.trajectories("train", 16), DATA.trajectories("test", 2)
    problem = tasks.CONT_3.observe(test, generators(2))
    method = Solver(SETTINGS).fit(train, train, [tasks.CONT_3], 0, Run())
    again = Solver(SETTINGS).restore(method.state(), train)
    assert torch.equal(method.predict(problem, 0).u, again.predict(problem, 0).u)
