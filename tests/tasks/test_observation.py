from dataclasses import replace

import pytest
import torch

from benchmark.core import Grid, Trajectories
from tasks import observation as tasks
from tests.methods.heat import Heat


def grid(n=16, frames=4):
    return Grid((n, n), (1.0, 1.0), tuple(0.1 * i for i in range(frames)), "periodic")


def generators(count=3, seed=0):
    return [torch.Generator().manual_seed(seed + i) for i in range(count)]


def trajectories(n=16, frames=4, batch=3):
    u = torch.randn(batch, frames, n, n, 1, generator=torch.Generator().manual_seed(1))
    return Trajectories(u, grid(n, frames), Heat(), static=torch.ones(batch, n, n, 1))


@pytest.mark.parametrize(
    "task, n, count",
    [
        (tasks.CONT_05, 128, 82),
        (tasks.CONT_1, 128, 164),
        (tasks.CONT_3, 128, 492),
        (tasks.CONT_1, 256, 655),
        (tasks.CONT_3, 256, 1966),
        (tasks.CONT_3, 32, 31),
        (tasks.CONT_1, 32, 10),
        (tasks.CONT_05, 10, 1),  # 0.5 rounds up, where Python's round() would give 0
        (replace(tasks.CONT_05, rate=0.001), 10, 1),
        (replace(tasks.CONT_05, rate=0.025), 10, 3),
    ],
)
def test_sensors_are_counted_exactly_and_stay_in_place(task, n, count):
    mask = task.mask(grid(n), generators()[0])
    assert mask.flatten(1).sum(1).tolist() == [count] * 4
    assert (mask == mask[0]).all()


@pytest.mark.parametrize(
    "task, counts",
    [
        (tasks.FWD_FULL, [256, 0, 0, 0]),
        (tasks.INV_FULL, [0, 0, 0, 256]),
        (tasks.LONG_RANGE, [256, 0, 0, 0]),
        (tasks.FWD_PARTIAL, [8, 0, 0, 0]),
        (tasks.INV_PARTIAL, [0, 0, 0, 8]),
    ],
)
def test_only_the_named_frame_is_seen(task, counts):
    assert task.mask(grid(), generators()[0]).flatten(1).sum(1).tolist() == counts


def test_values_are_the_truth_where_seen_and_zero_elsewhere():
    data = trajectories()
    problem = tasks.CONT_3.observe(data, generators())
    assert torch.equal(problem.values[problem.mask], data.u[problem.mask])
    assert (problem.values[~problem.mask] == 0).all()
    assert not torch.equal(problem.mask[0], problem.mask[1])  # each trajectory has its own sensors


def test_a_problem_shares_no_memory_with_the_truth():
    data = trajectories()
    before = data.u.clone()
    problem = tasks.FWD_FULL.observe(data, generators())
    problem.values.fill_(7)
    problem.static.fill_(7)
    assert torch.equal(data.u, before) and (data.static == 1).all()


def test_the_generator_is_the_only_source_of_chance():
    torch.manual_seed(0)
    first = replace(tasks.CONT_3, noise=0.1, dropout=0.5).observe(trajectories(), generators())
    torch.manual_seed(1)
    again = replace(tasks.CONT_3, noise=0.1, dropout=0.5).observe(trajectories(), generators())
    assert torch.equal(first.values, again.values)


def test_noise_leaves_mask_and_hidden_values_alone_and_has_the_asked_size():
    data = trajectories(64, 4)
    clean, noisy = (t.observe(data, generators()) for t in (tasks.FWD_FULL, replace(tasks.FWD_FULL, noise=0.1)))
    assert torch.equal(clean.mask, noisy.mask)
    assert (noisy.values[~noisy.mask] == 0).all()
    error = (noisy.values - clean.values)[:, 0]
    assert (error.std() / data.u[:, 0].std()).item() == pytest.approx(0.1, rel=0.03)


def test_noise_of_a_steady_problem_follows_the_scale_of_each_field():
    data = trajectories(64, 2)
    data = replace(data, u=data.u * torch.tensor([1.0, 100.0])[:, None, None, None], equation=Heat(steady=True))
    task = replace(tasks.CONT_3, noise=0.1, rate=1.0)
    error = task.observe(data, generators()).values - data.u
    assert error.std((0, 2, 3, 4)).tolist() == pytest.approx([0.1, 10.0], rel=0.03)


def test_sensors_drop_out_frame_by_frame():
    whole = tasks.CONT_3.mask(grid(64), generators()[0])
    mask = replace(tasks.CONT_3, dropout=0.25).mask(grid(64), generators()[0])
    assert mask.flatten(1).sum(1).tolist() == [92] * 4  # of 123 sensors 31 are silent
    assert (mask <= whole).all() and not (mask == mask[0]).all()


def test_sensors_may_move():
    mask = replace(tasks.CONT_3, fixed=False).mask(grid(64), generators()[0])
    assert mask.flatten(1).sum(1).tolist() == [123] * 4
    assert not (mask[0] == mask[1]).all()


@pytest.mark.parametrize(
    "setting, message",
    [({"rate": 0.0}, "0 < rate <= 1, got 0.0"), ({"noise": -1.0}, "noise >= 0"), ({"masks": 0}, "masks >= 1, got 0")],
)
def test_bad_settings_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        replace(tasks.CONT_1, **setting)


def test_one_generator_a_trajectory():
    with pytest.raises(ValueError, match="expected 3, one per trajectory, got 2"):
        tasks.CONT_1.observe(trajectories(), generators(2))
