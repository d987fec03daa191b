from dataclasses import replace

import pytest
import torch

from benchmark.core import Run
from datasets.helmholtz import Helmholtz
from datasets.wave_layer import WaveLayer
from methods.persistence import Persistence
from methods.residual_min import ResidualMin, Settings
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators

HEAT = HeatDataset.small(resolution=8, frames=4)


def error(u, truth):
    return ((u - truth).flatten(1).norm(dim=1) / truth.flatten(1).norm(dim=1)).mean().item()


def answer(task, iterations, chunk=16):
    truth = HEAT.trajectories("test", 4)
    problem = task.observe(truth, generators(4))
    method = ResidualMin(Settings(iterations, chunk)).fit(truth, truth, [task], 0, Run())
    return method.predict(problem, 0), problem, truth


def test_the_given_frame_is_carried_on_by_the_equation_alone():
    found, problem, truth = answer(tasks.FWD_FULL, 100)
    still = Persistence(Persistence.profiles["smoke"]).predict(problem, 0).u[0]
    assert error(found.u[0], truth.u) < 0.02 * error(still, truth.u)
    assert torch.equal(found.u[0][problem.mask], problem.values[problem.mask])
    assert found.evaluations is not None and found.evaluations > 20


def test_what_is_left_is_the_error_of_the_trapezoidal_rule():
    """A mode of wavenumber k decays by (1 - z) / (1 + z) a frame, z = nu k^2 dt / 2, instead of exp(-2 z)."""
    found, _, truth = answer(tasks.FWD_FULL, 400)
    z = 0.01 * (2 * torch.pi) ** 2 * 0.25 / 2
    first, last = (torch.fft.fft2(f[0, ..., 0].double())[1, 0] for f in (found.u[0][:, 0], found.u[0][:, -1]))
    assert abs(last / first - ((1 - z) / (1 + z)) ** 3) < 1e-3
    assert abs(last / first - torch.exp(torch.tensor(-6 * z))) < 1e-3


def test_chunks_move_no_number():
    whole, parts = answer(tasks.INV_FULL, 10)[0].u, answer(tasks.INV_FULL, 10, chunk=3)[0].u
    torch.testing.assert_close(whole, parts, rtol=1e-3, atol=1e-4)


def test_sensors_at_all_frames_are_a_start_too():
    found, problem, truth = answer(replace(tasks.CONT_3, rate=0.3), 100)
    from methods.nearest import Nearest

    assert error(found.u[0], truth.u) < error(Nearest(Nearest.profiles["smoke"]).predict(problem, 0).u[0], truth.u)


@pytest.mark.parametrize(
    "task, dataset, word",
    [
        (tasks.FWD_PARTIAL, HEAT, "unseen sites"),
        (replace(tasks.FWD_FULL, noise=0.1), HEAT, "noise"),
        (tasks.FWD_FULL, WaveLayer(WaveLayer.profiles["smoke"]), "second order"),
        (tasks.CONT_3, Helmholtz(Helmholtz.profiles["smoke"]), "fields"),
    ],
)
def test_what_the_residual_cannot_determine_is_left_to_others(task, dataset, word):
    assert word in ResidualMin(Settings()).unsupported(task, dataset)
    assert ResidualMin(Settings()).unsupported(tasks.INV_FULL, HEAT) is None
