from dataclasses import replace

import pytest
import torch

from benchmark.core import Run
from methods.blocks.learned import NEAREST
from methods.blocks.voronoi import fill_frames, fill_video
from methods.nearest import Nearest
from methods.voronoi_unet import SMOKE, VoronoiUNet
from tasks import observation as tasks
from tests.methods.generative_case import HEAT, answers_once, data, problem
from tests.methods.heat import Heat, HeatDataset
from tests.methods.small import generators, planned, smoke

TRAINING = replace(SMOKE.training, steps=6, batch=4, validations=1)
QUICK = replace(SMOKE, training=TRAINING, symmetries=False)
TASKS = [tasks.CONT_3, tasks.INV_PARTIAL, tasks.FWD_FULL]


def fit(task, settings=QUICK):
    return VoronoiUNet(settings).fit(data("train"), data("valid"), [task], 0, Run())


class Nothing(torch.nn.Module):
    """A network that corrects nothing, and keeps what it was given."""

    def forward(self, seen):
        self.seen = seen
        return torch.zeros(len(seen), 4, *seen.shape[2:])


@pytest.mark.parametrize("task", [*TASKS, tasks.LONG_RANGE])
def test_it_serves_all_tasks_with_one_evaluation_a_window(task):
    answers_once(fit(task), task, seed=1)


@pytest.mark.parametrize("task", TASKS)
def test_it_begins_at_what_nearest_says(task):
    method, seen = fit(task), problem(task)
    fill = Nearest(None).predict(seen, 0).u[0]
    torch.testing.assert_close(method.reconstruct(Nothing(), seen), fill, rtol=1e-5, atol=1e-5)
    untrained = method.network(method.shape_)  # its last layer is nearly zero
    assert (method.reconstruct(untrained, seen) - fill).norm() < 1e-2 * fill.norm()


@pytest.mark.parametrize("task", [tasks.CONT_3, tasks.FWD_FULL])
def test_it_learns_to_correct_the_fill(task):
    seen, truth = problem(task), data("test", 4)
    fill = Nearest(None).predict(seen, 0).u[0]
    longer = replace(QUICK, training=replace(TRAINING, steps=40, batch=8))
    found = fit(task, longer).predict(seen, 0).u[0]
    assert (found - truth.u).norm() < 0.9 * (fill - truth.u).norm()


def test_it_sees_fill_mask_and_known_fields():
    method, seen, network = fit(tasks.FWD_PARTIAL), problem(tasks.FWD_PARTIAL), Nothing()
    method.reconstruct(network, seen)
    fill, mask, fields = network.seen.split([4, 4, 4], dim=1)
    assert torch.equal(mask.bool(), seen.mask[..., 0]) and torch.equal(fill[:, 0], fill[:, 3])
    values = method.normaliser_.encode(seen.values)
    torch.testing.assert_close(fill[mask.bool()], values[seen.mask])
    assert torch.equal(fields, method.fields(None, seen.values).movedim(-1, 1))
    seen = tasks.CONT_3.observe(smoke("wave_layer")[2], generators(4))
    method = VoronoiUNet(QUICK).fit(*smoke("wave_layer")[1:], [tasks.CONT_3], 0, Run())
    method.reconstruct(network, seen)
    assert seen.static is not None
    torch.testing.assert_close(network.seen[:, 8], method.normaliser_.encode_static(seen.static)[..., 0])


def test_a_field_without_sensors_has_no_fill_in_a_steady_problem():
    values, mask = torch.randn(2, 2, 1, 6, 6), torch.zeros(2, 2, 1, 6, 6, dtype=torch.bool)
    mask[:, 0, 0, 2, 3] = True
    grid = replace(HEAT.grid(2), shape=(6, 6))
    frames, video = (f(torch.where(mask, values, 0), mask, grid) for f in (fill_frames, fill_video))
    assert torch.equal(frames[:, 0], values[:, 0, :, 2:3, 3:4].expand(-1, -1, 6, 6)) and not frames[:, 1].any()
    assert torch.equal(video[:, 1], frames[:, 0])
    steady = replace(data("train"), equation=Heat(steady=True))
    method = VoronoiUNet(QUICK).fit(steady, steady, [tasks.FWD_FULL], 0, Run())
    network, seen = Nothing(), replace(problem(tasks.FWD_FULL), equation=steady.equation)
    method.reconstruct(network, seen)
    assert network.seen[:, 0].any() and not network.seen[:, 1:4].any()


@pytest.mark.parametrize("boundary, circular", [("periodic", True), ("periodic", False), ("dirichlet", True)])
def test_padding_goes_around_the_torus_alone(boundary, circular):
    train = HeatDataset.small(boundary=boundary).trajectories("train", 4)
    settings = replace(QUICK, circular=circular, coordinates=False, training=replace(TRAINING, steps=2))
    method = VoronoiUNet(settings).fit(train, train, [tasks.CONT_3], 0, Run())
    with torch.no_grad():
        x = torch.randn(1, 8, 16, 16)
        difference = method.net_(x.roll((4, 6), (2, 3))) - method.net_(x).roll((4, 6), (2, 3))
        assert (difference.abs().max() < 1e-4 * method.net_(x).abs().max()) == (boundary == "periodic" and circular)


def test_what_tables_say_of_it():
    method = VoronoiUNet(SMOKE)
    assert method.remark(tasks.CONT_1, HEAT) is None and "in each" in str(method.remark(tasks.FWD_FULL, HEAT))
    assert NEAREST in method.aids(tasks.CONT_1) and NEAREST not in method.aids(tasks.FWD_FULL)


def test_the_profiles_have_the_sizes_they_name():
    assert planned(VoronoiUNet, "paper") == pytest.approx(41e6, rel=0.3)
