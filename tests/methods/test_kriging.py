from dataclasses import replace

import pytest
import torch

from benchmark.core import Grid, Problem, Run
from methods.blocks.gaussian.bases import make_basis
from methods.blocks.gaussian.covariance import as_frames, as_video, estimate, isotropic
from methods.blocks.gaussian.process import Prior, Sensing, posterior
from methods.kriging import Kriging, Settings, relative_error
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import smoke, spread_over_error

CPU = torch.device("cpu")
DATA = HeatDataset.small()


def grid(boundary, shape=(6, 8)):
    return Grid(shape, (1.0, 1.0), (0.0, 1.0), boundary)


def generators(count, seed=0):
    return [torch.Generator().manual_seed(seed + i) for i in range(count)]


def some_prior(name="fourier", boundary="periodic", frames=3):
    """A prior with a random spectrum and the dense covariance (T HW, T HW) it stands for."""
    basis = make_basis(name, grid(boundary), CPU)
    g = torch.Generator().manual_seed(0)
    root = torch.randn(frames, frames, *basis.wavenumber.shape, generator=g, dtype=torch.float64)
    root = isotropic(root / (1 + basis.wavenumber**2), basis)
    spectrum = torch.einsum("tuxy,suxy->tsxy", root, root)
    zero = torch.zeros(frames, 6, 8, dtype=torch.float64)
    eye = torch.eye(frames * 48, dtype=torch.float64).view(-1, frames, 6, 8)
    dense = basis.operate(spectrum, eye).flatten(1)
    return Prior(basis, zero, zero + 1, spectrum), dense


@pytest.mark.parametrize("name, boundary", [("fourier", "periodic"), ("cosine", "absorbing"), ("sine", "dirichlet")])
def test_a_basis_is_orthonormal_and_its_table_gives_the_covariance(name, boundary):
    basis = make_basis(name, grid(boundary), CPU)
    f = torch.randn(6, 8, dtype=torch.float64) * basis.inside
    torch.testing.assert_close(basis.synthesise(basis.analyse(f)), f)
    spectrum = isotropic(1 / (1 + basis.wavenumber**2), basis)[None, None]
    dense = basis.operate(spectrum, torch.eye(48, dtype=torch.float64).view(48, 1, 6, 8)).view(48, 48)
    sites = basis.inside.flatten().nonzero()[:, 0]
    table, entries = basis.table(spectrum)[0, 0], basis.entries(sites[:, None], sites)
    looked_up = sum(sign * table.take(entry) for sign, entry in entries)
    torch.testing.assert_close(looked_up, dense[sites[:, None], sites])


def dense_posterior(dense, y, mask, nugget):
    seen = mask.flatten()
    inner = dense[seen][:, seen]
    inner = inner + nugget * torch.diag(inner.diagonal())
    return (dense[:, seen] @ torch.linalg.solve(inner, y.flatten()[seen])).view(y.shape)


@pytest.mark.parametrize("name, boundary", [("fourier", "periodic"), ("cosine", "absorbing"), ("sine", "dirichlet")])
@pytest.mark.parametrize("moving", [False, True])
def test_posterior_agrees_with_dense_regression(name, boundary, moving):
    prior, dense = some_prior(name, boundary)
    g = torch.Generator().manual_seed(1)
    shape = (2, 3, 6, 8) if moving else (2, 1, 6, 8)
    mask = (torch.rand(shape, generator=g) < 0.2).expand(2, 3, 6, 8) & prior.basis.inside
    y = prior.draw(2, g)
    found = posterior(prior, (y * mask)[:, None], mask, Sensing(nugget=1e-9))[:, 0]
    for b in range(2):
        torch.testing.assert_close(found[b], dense_posterior(dense, y[b], mask[b], 1e-9), rtol=1e-4, atol=1e-4)


def test_a_frame_seen_in_full_predicts_the_others_as_dense_regression_does():
    prior, dense = some_prior()
    y = prior.draw(1, torch.Generator().manual_seed(1))
    mask = torch.zeros(1, 3, 6, 8, dtype=torch.bool)
    mask[:, 1] = True
    found = posterior(prior, (y * mask)[:, None], mask, Sensing())[0, 0]
    torch.testing.assert_close(found, dense_posterior(dense, y[0], mask[0], 1e-12), rtol=1e-6, atol=1e-6)


def test_modes_beyond_the_budget_are_kriged_one_at_a_time():
    prior, _ = some_prior()
    mask = torch.zeros(1, 3, 6, 8, dtype=torch.bool)
    mask[:, :, ::2, ::3] = True
    y = prior.draw(1, torch.Generator().manual_seed(1)) * mask
    found = posterior(prior, y[:, None], mask, Sensing(unknowns=10))[0, 0]  # 9 sensors: one component at a time
    torch.testing.assert_close(found[mask[0]], y[mask], rtol=1e-4, atol=1e-4)


def test_prior_draws_have_the_covariance():
    prior, dense = some_prior()
    draws = prior.draw(20_000, torch.Generator().manual_seed(0)).flatten(1)
    assert ((draws.T @ draws / len(draws) - dense).norm() / dense.norm()) < 0.05


def test_the_spectrum_of_the_training_set_is_found():
    train = HeatDataset.small().trajectories("train", 512)
    prior = estimate(train, 512, make_basis("fourier", train.grid, CPU), False, CPU)
    spectrum = isotropic(prior.spectrum, prior.basis)
    k = prior.basis.wavenumber
    ratio = (spectrum[0, 0] / spectrum[0, 0, 1, 0])[k < 5]
    torch.testing.assert_close(ratio, ((1 + k**2) / 2)[k < 5] ** -3, rtol=0.25, atol=0)
    # heat decay is deterministic: the correlation between frames is one
    torch.testing.assert_close(spectrum[0, 1] ** 2, spectrum[0, 0] * spectrum[1, 1], rtol=1e-2, atol=1e-6)


def test_channels_count_as_frames():
    u = torch.randn(2, 3, 4, 5, 2)
    assert as_frames(u).shape == (2, 6, 4, 5)
    assert torch.equal(as_video(as_frames(u), 2), u)
    assert torch.equal(as_frames(u)[:, 3], u[:, 1, ..., 1])


def fitted(task, boundary="periodic"):
    train, valid = DATA.trajectories("train", 64), DATA.trajectories("valid", 4)
    return Kriging(Settings(trajectories=64, validation=4)).fit(train, valid, [task], 0, Run())


def error(prediction, truth):
    return ((prediction - truth).flatten(1).norm(dim=1) / truth.flatten(1).norm(dim=1)).mean().item()


@pytest.mark.parametrize("task, most", [(tasks.FWD_FULL, 0.005), (tasks.CONT_3, 0.5), (tasks.FWD_PARTIAL, 0.6)])
def test_kriging_predicts_linear_dynamics(task, most):
    test = DATA.trajectories("test", 4)
    problem = task.observe(test, generators(4))
    assert error(fitted(task).predict(problem, 0).u[0], test.u) < most


def test_kriging_covers_a_longer_trajectory():
    test = HeatDataset.small(long_frames=9).trajectories("test", 2, frames=9)
    method = fitted(tasks.FWD_FULL)
    problem = tasks.LONG_RANGE.observe(test, generators(2))
    assert error(method.predict(problem, 0).u[0], test.u) < 0.02
    assert method.predict(problem, 0, samples=2).u.shape == (2, 2, 9, 16, 16, 1)


def test_samples_scatter_around_the_mean_and_agree_with_the_sensors():
    test = DATA.trajectories("test", 2)
    problem = tasks.CONT_3.observe(test, generators(2))
    method = fitted(tasks.CONT_3)
    assert 0.4 < spread_over_error(method, problem, test) < 2.5


@pytest.mark.parametrize("setting", [{"noise": 0.2}, {"dropout": 0.4}, {"fixed": False}])
def test_kriging_bears_noise_dropout_and_moving_sensors(setting):
    task = replace(tasks.CONT_3, rate=0.1, **setting)
    test = DATA.trajectories("test", 4)
    assert error(fitted(task).predict(task.observe(test, generators(4)), 0).u[0], test.u) < 0.4


def test_a_stored_fit_gives_the_same_answer():
    train, test = DATA.trajectories("train", 16), DATA.trajectories("test", 2)
    problem = tasks.CONT_3.observe(test, generators(2))
    method = Kriging(Settings()).fit(train, train, [tasks.CONT_3], 0, Run())
    again = Kriging(Settings()).restore(method.state(), train)
    assert torch.equal(method.predict(problem, 0).u, again.predict(problem, 0).u)
    assert isinstance(problem, Problem)


def test_the_error_that_chooses_is_that_of_the_field_asked_for():
    """Of a steady problem with sensors in one field the other counts, with sensors in both their mean."""
    truth = smoke("helmholtz")[2]
    u = truth.u.clone()
    u[:, 1] *= 1.5  # 50 % off in the response, exact in the source
    for task, expected in ((tasks.FWD_PARTIAL, 0.5), (tasks.INV_PARTIAL, 0.0), (tasks.CONT_3, 0.25)):
        error = relative_error(u, truth, task.observe(truth, generators(len(truth))))
        torch.testing.assert_close(error, torch.full((len(truth),), expected))
