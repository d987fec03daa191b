from dataclasses import replace
from functools import cache

import pytest
import torch

from benchmark.core import Run
from benchmark.planning.registry import registry
from methods.blocks.conditioning import Conditioning, Shape
from methods.blocks.learned import count
from methods.blocks.regression import regress, relative_l2
from methods.blocks.roll_out import keep_observed
from methods.blocks.training.examples import Observed
from methods.deeponet import SMOKE, Architecture, BranchTrunk, DeepONet, trunk_points
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators, load, planned

HEAT = HeatDataset.small(frames=4, long_frames=9)
TINY = Architecture(basis=12, filters=(4,), hidden=8, trunk=(8,), harmonics=2)
TRAINING = replace(SMOKE.training, steps=3, batch=4, validations=1)
QUICK = replace(SMOKE, architecture=TINY, training=TRAINING, sites=50, symmetries=False)
SHAPE = Shape.planned(tasks.FWD_FULL, HEAT, with_coordinates=True)


@cache
def data(split, count=8, frames=None):
    return HEAT.trajectories(split, count, frames)


def observed(task, frames=None):
    truth = data("test", 4, frames)
    return Observed(truth, task.observe(truth, generators(4)))


def conditioning(shape, batch=2):
    frame, fields = shape.conditioning
    generator = torch.Generator().manual_seed(0)
    frames = torch.randn(batch, len(shape.observed.frames), frame, *shape.grid.shape, generator=generator)
    stands = torch.randn(batch, fields, *shape.grid.shape, generator=generator)
    return Conditioning(frames, stands, torch.zeros(batch, shape.frames, shape.channels, *shape.grid.shape))


@pytest.mark.parametrize("task", [tasks.FWD_FULL, tasks.INV_PARTIAL, tasks.CONT_3, tasks.LONG_RANGE])
def test_it_serves_all_tasks(task):
    method = DeepONet(QUICK).fit(data("train"), data("valid"), [task], 0, Run())
    seen = observed(task, 9 if task is tasks.LONG_RANGE else None).problem
    answer = method.predict(seen, 0).u
    assert answer.shape == (1, *seen.values.shape) and answer.isfinite().all()
    restored = DeepONet(QUICK).restore(method.state(), data("train"))
    assert torch.equal(restored.predict(seen, 0).u, answer)
    assert method.cost()["parameters"] == count(method.net_)


@pytest.mark.parametrize("channels", [1, 3])
def test_the_answer_at_some_sites_is_that_of_the_whole_video(channels):
    shape = replace(SHAPE, channels=channels)
    net, sites = BranchTrunk(TINY, shape), torch.tensor([3, 200, 17])
    with torch.no_grad():
        whole, some = net(conditioning(shape)), net(conditioning(shape), sites)
    assert whole.shape == (2, 4, channels, 16, 16) and some.shape == (2, 4, channels, 3, 1)
    torch.testing.assert_close(some[..., 0], whole.flatten(3)[..., sites])
    others = {name for name, p in net.named_parameters() if p.requires_grad and "operator" not in name}
    assert not others  # the branch is part of deepxde's network


def test_the_loss_looks_at_the_sites_it_drew():
    method = DeepONet(QUICK).fit(data("train"), data("valid"), [tasks.CONT_3], 0, Run())
    batch = observed(tasks.CONT_3)
    every = DeepONet(replace(QUICK, sites=256)).restore(method.state(), data("train"))
    with torch.no_grad():
        some, all_of_them = (m.losses(m.net_, batch, torch.Generator().manual_seed(0)) for m in (method, every))
        again = method.losses(method.net_, batch, torch.Generator().manual_seed(0))
        video = keep_observed(regress(method, method.net_, batch.problem), batch.problem)
    torch.testing.assert_close(all_of_them, relative_l2(video, batch.truth.u, False))
    assert torch.equal(some, again) and not torch.equal(some, all_of_them)


def test_the_trunk_is_periodic_where_the_grid_is():
    torus, walls = (trunk_points(HeatDataset.small(boundary=b).grid(4), 4, 3) for b in ("periodic", "dirichlet"))
    assert torus.shape == walls.shape == (4, 256, 13)
    assert torch.equal(torus[:, 0, 0], torch.linspace(-1, 1, 4)) and torch.equal(torus[0, :, 1:], torus[3, :, 1:])
    row = torus[0, :, 1:].view(16, 16, -1)
    jump = (row[0] - row[-1]).abs().max()
    torch.testing.assert_close(jump, (row[1] - row[0]).abs().max(), rtol=1e-4, atol=1e-5)
    edge = walls[0, :, 1:].view(16, 16, -1)
    assert (edge[0] - edge[-1]).abs().max() > 1.9


def test_the_seed_fixes_the_weights():
    def weights(seed):
        fit = DeepONet(QUICK).fit(data("train"), data("valid"), [tasks.FWD_FULL], seed, Run())
        return torch.cat([p.detach().flatten() for p in fit.net_.parameters()])

    assert torch.equal(weights(0), weights(0)) and not torch.equal(weights(0), weights(1))


def test_the_profiles_have_the_sizes_they_name():
    assert planned(DeepONet, "laptop") == pytest.approx(2.8e6, rel=0.3)


@pytest.mark.slow
def test_sixteen_trajectories_are_learned_by_heart():
    cls = registry().load("datasets", "navier_stokes")
    train = load(cls(cls.profiles["smoke"]), "train")
    training = replace(SMOKE.training, steps=1500, batch=16)
    method = DeepONet(replace(SMOKE, training=training, symmetries=False, sites=256))
    method.fit(train, train, [tasks.FWD_FULL], 0, Run())
    answer = method.predict(tasks.FWD_FULL.observe(train, generators(len(train))), 0).u[0]
    errors = (answer - train.u).flatten(1).norm(dim=1) / train.u.flatten(1).norm(dim=1)
    assert errors.mean() < 0.01
