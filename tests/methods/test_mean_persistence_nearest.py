from dataclasses import replace

import pytest
import torch

from benchmark.core import Grid, Problem, Run, Trajectories
from methods.blocks.voronoi import nearest_sensor
from methods.mean import Mean
from methods.mean import Settings as MeanSettings
from methods.nearest import Nearest
from methods.persistence import Persistence
from tasks import observation as tasks
from tests.methods.heat import Heat, HeatDataset


def grid(boundary="periodic", shape=(6, 8), frames=4):
    return Grid(shape, (1.0, 2.0), tuple(float(i) for i in range(frames)), boundary)


def problem(mask, values=None, boundary="periodic"):
    """One trajectory from a mask (T, H, W)."""
    mask = mask[None, ..., None]
    values = torch.rand(mask.shape, generator=torch.Generator().manual_seed(0)) if values is None else values
    return Problem(torch.where(mask, values, 0), mask, grid(boundary, tuple(mask.shape[2:4]), mask.shape[1]), Heat())


@pytest.mark.parametrize("boundary", ["periodic", "absorbing", "dirichlet"])
def test_nearest_sensor_agrees_with_a_search_over_all_sensors(boundary):
    g = grid(boundary)
    mask = torch.rand(5, *g.shape, generator=torch.Generator().manual_seed(0)) < 0.15
    mask[:, 0, 0] = True
    x, y = g.axes()
    position = torch.stack([x.expand(g.shape), y.expand(g.shape)], -1).view(-1, 2)  # (HW, 2)
    difference = (position[:, None] - position).abs()
    if boundary == "periodic":
        difference = torch.minimum(difference, torch.tensor(g.lengths) - difference)
    distance = difference.norm(dim=-1)  # (HW, HW)
    for m, found in zip(mask, nearest_sensor(mask, g), strict=True):
        best = distance.masked_fill(~m.flatten(), torch.inf).amin(1)
        assert m.flatten()[found.flatten()].all()
        torch.testing.assert_close(distance.gather(1, found.flatten()[:, None])[:, 0], best)


def test_nearest_sensor_refuses_an_empty_mask():
    with pytest.raises(ValueError, match="one sensor or more"):
        nearest_sensor(torch.zeros(1, 6, 8, dtype=torch.bool), grid())


def test_nearest_copies_in_space_then_in_time():
    mask = torch.zeros(4, 6, 8, dtype=torch.bool)
    mask[0, 1, 1] = mask[3, 2, 2] = mask[3, 5, 6] = True
    p = problem(mask)
    u = Nearest(None).predict(p, 0).u[0, 0, ..., 0]
    v = p.values[0, ..., 0]
    assert (u[:2] == v[0, 1, 1]).all()
    assert torch.equal(u[2], u[3])
    assert u[3, 1, 1] == v[3, 2, 2] and u[3, 0, 7] == v[3, 5, 6]


def test_persistence_repeats_the_observed_frame():
    mask = torch.zeros(4, 6, 8, dtype=torch.bool)
    mask[3] = True
    p = problem(mask)
    assert torch.equal(Persistence(None).predict(p, 0).u[0, 0], p.values[0, 3].expand(4, -1, -1, -1))


def test_persistence_fills_a_frame_seen_in_part():
    mask = torch.zeros(4, 6, 8, dtype=torch.bool)
    mask[0, 2, 3] = True
    p = problem(mask)
    assert (Persistence(None).predict(p, 0).u == p.values[0, 0, 2, 3]).all()


def test_persistence_refuses_more_than_one_frame():
    with pytest.raises(ValueError, match="one observed frame, got"):
        Persistence(None).predict(problem(torch.ones(4, 6, 8, dtype=torch.bool)), 0)


def test_persistence_and_nearest_say_what_they_cannot_do():
    dataset = HeatDataset.small()
    assert "every frame is observed" in Persistence(None).unsupported(tasks.CONT_1, dataset)
    assert Persistence(None).unsupported(tasks.INV_PARTIAL, dataset) is None
    dataset.frame_names = ("a", "u")
    assert "different fields" in Persistence(None).unsupported(tasks.FWD_FULL, dataset)
    assert "no sensors" in Nearest(None).unsupported(tasks.FWD_FULL, dataset)
    assert Nearest(None).unsupported(tasks.CONT_1, dataset) is None


def test_mean_of_each_frame_by_hand():
    u = torch.arange(2.0).view(2, 1, 1, 1, 1) + 10 * torch.arange(4.0).view(1, 4, 1, 1, 1) + torch.zeros(2, 4, 6, 8, 1)
    train = Trajectories(u, grid(), Heat())
    mean = Mean(MeanSettings()).fit(train, train, [], 0, Run())
    mask = torch.zeros(4, 6, 8, dtype=torch.bool)
    mask[1, 2, 3] = True
    p = problem(mask, torch.full((1, 4, 6, 8, 1), 99.0))
    predicted = mean.predict(p, 0).u[0, 0, ..., 0]
    assert predicted[1, 2, 3] == 99
    assert predicted[:, 0, 0].tolist() == [0.5, 10.5, 20.5, 30.5]


def test_mean_keeps_its_last_frame_on_a_longer_trajectory():
    train = HeatDataset.small().trajectories("train", 8)
    mean = Mean(MeanSettings()).fit(train, train, [], 0, Run())
    long = HeatDataset.small(long_frames=7).trajectories("test", 1, frames=7)
    u = mean.predict(replace(tasks.FWD_FULL).observe(long, [torch.Generator()]), 0).u[0, 0]
    torch.testing.assert_close(u[6], train.u[:, 3].mean((0, 1, 2)).expand_as(u[6]))
