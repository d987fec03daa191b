from dataclasses import replace

import torch

from benchmark.core import Run
from datasets.helmholtz import Helmholtz
from methods import kriging, linear
from methods.blocks.variational import Stages
from methods.solver import Settings, Solver
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators, load

DATA = HeatDataset.small()
LINEAR = linear.Settings(validation=4, kriging=kriging.Settings(trajectories=64, validation=4))
SETTINGS = Settings(Stages((0.1, 1e-2, 1e-3, 1e-4, 1e-5)), validation=2, chunk=3, linear=LINEAR)


def error(prediction, truth):
    return ((prediction - truth).flatten(2).norm(dim=2) / truth.flatten(2).norm(dim=2)).mean().item()


def solve(task, train, valid, test):
    method = Solver(SETTINGS).fit(train, valid, [task], 0, Run())
    problem = task.observe(test, generators(len(test)))
    return method.predict(problem, 0), method.linear.predict(problem, 0)


def heat(task, frames=None):
    test = DATA.trajectories("test", 4, frames)
    solved, guessed = solve(task, DATA.trajectories("train", 64), DATA.trajectories("valid", 4), test)
    return error(solved.u[0], test.u), error(guessed.u[0], test.u), solved.evaluations


def test_a_first_frame_in_full_needs_one_run():
    solved, _, runs = heat(tasks.FWD_FULL)
    assert solved < 1e-6 and runs == 1


def test_the_solver_covers_a_longer_trajectory():
    solved, _, runs = heat(tasks.LONG_RANGE, frames=9)
    assert solved < 1e-6 and runs == 1


def test_a_first_frame_in_part_is_fitted_too():
    solved, guessed, runs = heat(tasks.FWD_PARTIAL)
    assert solved < 1.1 * guessed and runs > 1


def test_the_variational_fit_goes_back_in_time():
    solved, _, runs = heat(tasks.INV_FULL)
    assert solved < 0.01 and runs > 1  # the linear predictor is exact here, up to samples


def test_the_variational_fit_uses_sensors_at_all_frames():
    solved, guessed, runs = heat(replace(tasks.CONT_3, rate=0.1))
    assert solved < 1.05 * guessed and runs > 1


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


def test_a_variational_fit_reports_how_it_went_and_a_plain_run_has_nothing_to_say():
    train, valid, test = (DATA.trajectories(split, 4) for split in ("train", "valid", "test"))
    fitted, _ = solve(tasks.CONT_3, train, valid, test)
    assert fitted.diagnostics is not None
    assert len(fitted.diagnostics["misfit"]) == len(fitted.diagnostics["converged"]) == 4
    assert max(fitted.diagnostics["misfit"]) < 1 and set(fitted.diagnostics["converged"]) <= {0.0, 1.0}
    assert solve(tasks.FWD_FULL, train, valid, test)[0].diagnostics is None


def test_chunks_move_no_number():
    """With fewer adjoint runs than readings, too: the part of them that is used does not depend on the batch."""
    train, test = DATA.trajectories("train", 64), DATA.trajectories("test", 4)
    few = replace(SETTINGS, stages=Stages((0.1, 1e-2), iterations=4, adjoints=20))  # of 32 readings
    problem = tasks.CONT_3.observe(test, generators(len(test)))
    method = Solver(few).fit(train, DATA.trajectories("valid", 4), [tasks.CONT_3], 0, Run())
    state = method.state()
    videos = [Solver(replace(few, chunk=n)).restore(state, train).predict(problem, 0).u for n in (1, 3, 4)]
    torch.testing.assert_close(videos[0], videos[1], rtol=0, atol=1e-4)
    torch.testing.assert_close(videos[0], videos[2], rtol=0, atol=1e-4)
