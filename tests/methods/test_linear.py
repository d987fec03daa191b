from dataclasses import replace

import pytest
import torch

from benchmark.core import Grid, Problem, Run, Trajectories
from methods import kriging
from methods.blocks.gaussian.covariance import as_frames
from methods.blocks.gaussian.samples import collect, leading, same_masks
from methods.linear import Linear, Settings
from tasks import observation as tasks
from tests.methods.heat import Heat, HeatDataset
from tests.methods.small import generators, spread_over_error

CPU = torch.device("cpu")
DATA = HeatDataset.small()
SETTINGS = Settings(validation=4, kriging=kriging.Settings(trajectories=64, validation=4))
GRID = Grid((6, 6), (1.0, 1.0), (0.0, 1.0, 2.0), "periodic")
FLAT = 3 * 36  # numbers of a video


def error(prediction, truth):
    return ((prediction - truth).flatten(1).norm(dim=1) / truth.flatten(1).norm(dim=1)).mean().item()


def gaussian_toy(count, seed, rank=FLAT):
    """Videos of a Gaussian law that no structure fits, and its mean and covariance."""
    g = torch.Generator().manual_seed(0)
    root = torch.randn(rank, FLAT, generator=g, dtype=torch.float64) * (1 + torch.arange(rank)[:, None]) ** -1.0
    mean = torch.randn(FLAT, generator=g, dtype=torch.float64)
    z = torch.randn(count, rank, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    u = (mean + z @ root).float().view(count, 3, 6, 6, 1)
    return Trajectories(u, GRID, Heat(), None), mean, root.T @ root


def fitted(task, train, valid, **changes):
    return Linear(replace(SETTINGS, **changes)).fit(train, valid, [task], 0, Run())


def true_posterior(problem, mean, covariance):
    rows = []
    for values, mask in zip(problem.values, problem.mask, strict=True):
        o = mask.flatten()
        gain = torch.linalg.solve(covariance[o][:, o], covariance[o]).T
        rows.append(mean + gain @ (values.flatten()[o].double() - mean[o]))
    return torch.stack(rows).view(problem.values.shape)


def test_it_converges_to_the_posterior_mean_of_a_gaussian_law():
    test, mean, covariance = gaussian_toy(8, seed=2)
    problem = tasks.FWD_PARTIAL.observe(test, generators(8))
    exact = true_posterior(problem, mean, covariance).float()
    distances = []
    for count in (50, 500, 5000):
        method = fitted(tasks.FWD_PARTIAL, gaussian_toy(count, seed=1)[0], gaussian_toy(16, seed=3)[0], videos=count)
        distances.append(error(method.predict(problem, 0).u[0], exact))
    assert distances[0] > 2 * distances[1] > 4 * distances[2] and distances[2] < 0.03


def test_low_rank_videos_are_reproduced_from_a_few_sensors():
    train, valid, test = (gaussian_toy(n, seed, rank=4)[0] for seed, n in enumerate((64, 8, 8)))
    task = replace(tasks.CONT_1, rate=2 / 36)  # 2 sensors x 3 frames for 4 unknowns
    problem, own = (task.observe(t, generators(8)) for t in (test, train[:8]))
    method = fitted(task, train, valid)
    assert error(method.predict(problem, 0).u[0], test.u) < 1e-3
    assert error(method.predict(own, 0).u[0], train.u[:8]) < 1e-3


def test_it_is_at_least_as_good_as_kriging_on_what_it_was_chosen_on():
    for task in (tasks.CONT_3, tasks.FWD_FULL, tasks.INV_PARTIAL):
        train, valid = DATA.trajectories("train", 64), DATA.trajectories("valid", 4)
        method = fitted(task, train, valid)
        problem = task.observe(valid, generators(4))
        found, structured = (error(m.predict(problem, 0).u[0], valid.u) for m in (method, method.kriging))
        assert found < 1.001 * structured


def test_noise_is_not_fitted():
    train, valid, test = (gaussian_toy(n, seed)[0] for seed, n in enumerate((500, 16, 16)))
    task = replace(tasks.FWD_FULL, noise=0.5)
    problem = task.observe(test, generators(16))
    method = fitted(task, train, valid)
    aware, fooled = method.predict(problem, 0).u[0], method.predict(replace(problem, noise=0.0), 0).u[0]
    assert error(aware, test.u) < 0.8 * error(fooled, test.u)
    assert not torch.equal(aware[problem.mask], problem.values[problem.mask])


def test_draws_scatter_around_the_mean_and_agree_with_the_sensors():
    train, valid, test = (DATA.trajectories(split, n) for split, n in (("train", 64), ("valid", 4), ("test", 2)))
    problem = tasks.CONT_3.observe(test, generators(2))
    method = fitted(tasks.CONT_3, train, valid)
    assert 0.3 < spread_over_error(method, problem, test) < 3


def test_it_covers_a_longer_trajectory():
    test = HeatDataset.small(long_frames=9).trajectories("test", 2, frames=9)
    method = fitted(tasks.LONG_RANGE, DATA.trajectories("train", 64), DATA.trajectories("valid", 4))
    problem = tasks.LONG_RANGE.observe(test, generators(2))
    assert error(method.predict(problem, 0).u[0], test.u) < 0.02
    assert method.predict(problem, 0, samples=2).u.shape == (2, 2, 9, 16, 16, 1)


@pytest.mark.parametrize("setting", [{"dropout": 0.4}, {"fixed": False}])
def test_sensors_may_move_and_fall_silent(setting):
    task = replace(tasks.CONT_3, rate=0.1, **setting)
    test = DATA.trajectories("test", 4)
    method = fitted(task, DATA.trajectories("train", 64), DATA.trajectories("valid", 4))
    assert error(method.predict(task.observe(test, generators(4)), 0).u[0], test.u) < 0.4


def test_a_stored_fit_gives_the_same_answer_and_holds_no_videos():
    train, test = DATA.trajectories("train", 16), DATA.trajectories("test", 2)
    problem = tasks.CONT_3.observe(test, generators(2))
    method = fitted(tasks.CONT_3, train, train)
    again = Linear(SETTINGS).restore(method.state(), train)
    assert torch.equal(method.predict(problem, 0).u, again.predict(problem, 0).u)
    assert max(v.numel() for v in method.state().values()) < 16 * train.u[0].numel()
    assert isinstance(problem, Problem)


def test_a_set_too_large_is_cut_to_its_leading_components():
    train, _, _ = gaussian_toy(300, seed=1, rank=20)
    whole, cut = collect(train, 300, 300, CPU), collect(train, 300, 24, CPU)
    assert len(whole.anomalies) == 300 and len(cut.anomalies) == 24
    torch.testing.assert_close(cut.mean, as_frames(train.u).mean(0), rtol=1e-4, atol=1e-5)
    covariance, rebuilt = (x.T @ x for x in (whole.anomalies, cut.anomalies))
    assert (covariance - rebuilt).norm() < 1e-3 * covariance.norm()  # rank 20 survives every cut
    assert torch.equal(leading(train.u.flatten(1), 300), train.u.flatten(1))


def test_masks_are_solved_together_where_they_are_the_same():
    seen = torch.zeros(3, 1, 4, 4, dtype=torch.bool)
    seen[:, 0, 0] = True
    assert [(w, s.tolist()) for w, s in same_masks(seen, 9, apart=False)] == [(slice(0, 3), [0, 1, 2, 3])]
    assert len(list(same_masks(seen, 9, apart=True))) == 3
    assert [len(s) for _, s in same_masks(seen, 2, apart=False)] == [2]  # thinned
    seen[1, 0, 0, 0] = False
    assert [s.tolist() for _, s in same_masks(seen, 9, apart=False)] == [[0, 1, 2, 3], [1, 2, 3], [0, 1, 2, 3]]
