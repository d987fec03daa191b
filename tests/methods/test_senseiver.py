from dataclasses import replace

import pytest
import torch

from benchmark.core import Run
from methods.blocks.learned import count
from methods.blocks.normaliser import SIGMA_DATA
from methods.blocks.training.examples import Observed
from methods.senseiver.method import SMOKE, Senseiver
from methods.senseiver.network import Architecture, Layer, SetNetwork, positions, waves
from tasks import observation as tasks
from tests.methods.generative_case import HEAT, answers_once, data, problem
from tests.methods.heat import Heat
from tests.methods.small import generators, planned, smoke

TINY = Architecture(bands=4, token=12, latents=6, width=8, depth=1)
TRAINING = replace(SMOKE.training, steps=6, batch=4, validations=1)
QUICK = replace(SMOKE, architecture=TINY, training=TRAINING, queries=100)


def fit(task, settings=QUICK):
    return Senseiver(settings).fit(data("train"), data("valid"), [task], 0, Run())


def order(seen):
    return torch.rand(seen.mask[..., 0].flatten(1).shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("task", [tasks.CONT_3, tasks.INV_PARTIAL, tasks.FWD_FULL, tasks.LONG_RANGE])
def test_it_serves_all_tasks_with_one_evaluation_a_window(task):
    answers_once(fit(task), task, seed=0)


# -- the network


def network(**changes):
    torch.manual_seed(0)
    return SetNetwork(5, 3, 2, replace(TINY, **changes))


def inputs(batch=2, sensors=7, places=4):
    generator = torch.Generator().manual_seed(0)
    known, asked = (torch.randn(batch, n, k, generator=generator) for n, k in ((sensors, 5), (places, 3)))
    return known, torch.ones(batch, sensors, dtype=torch.bool), asked


def test_attention_is_a_weighted_mean_with_softmax_weights():
    torch.manual_seed(0)
    layer, h, known = Layer(8, 12, heads=2), torch.randn(2, 3, 8), torch.randn(2, 5, 12)
    keys, values = layer.keys_values(layer.norm_other(known)).chunk(2, -1)
    heads = []
    for part in (slice(0, 4), slice(4, 8)):
        weights = layer.queries(layer.norm(h))[..., part] @ keys[..., part].mT / 2  # sqrt(4)
        heads.append(weights.softmax(-1) @ values[..., part])
    expected = h + layer.out(torch.cat(heads, -1))
    torch.testing.assert_close(layer(h, known), expected + layer.mlp(expected))


@pytest.mark.parametrize("query", [None, 16])
def test_sensors_are_a_set_and_padding_does_not_count(query):
    net, (known, valid, asked) = network(query=query).eval(), inputs()
    u = net(known, valid, asked)
    assert u.shape == (2, 4, 2)
    shuffled = torch.randperm(7, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(net(known[:, shuffled], valid, asked), u)
    more, there = torch.cat([known, 9 * torch.ones(2, 3, 5)], 1), torch.cat([valid, torch.zeros(2, 3).bool()], 1)
    torch.testing.assert_close(net(more, there, asked), u)
    assert not torch.allclose(net(more, torch.ones_like(there), asked), u, atol=1e-4)


def test_places_do_not_know_each_other():
    net, (known, valid, asked) = network().eval(), inputs()
    torch.testing.assert_close(net(known, valid, asked[:, 2:]), net(known, valid, asked)[:, 2:])


def test_layers_after_the_first_share_their_weights():
    one, two, three = (network(layers=n) for n in (1, 2, 3))
    layer = count(two) - count(one)
    assert count(three) == count(two) and layer == count(two.encode.first)
    x = inputs()
    assert not torch.allclose(two(*x), three(*x), atol=1e-6)  # the weights are the same, but used twice


def test_all_weights_learn():
    net, (known, valid, asked) = network(query=16), inputs()
    net(known, valid, asked).square().sum().backward()
    # the keys' bias moves all weights of a softmax alike
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())


# -- positions


def test_waves_have_the_bands_and_places_of_the_source():
    table = waves(16, 15, 1.0)
    assert table.shape == (16, 30)
    x = -1 + 2 * torch.arange(16) / 16
    torch.testing.assert_close(table[:, 0], (torch.pi * x).sin())  # band 1: once around the domain
    torch.testing.assert_close(table[:, 29], (torch.pi * 8 * x).cos())  # band n / 2: the grid's highest
    torch.testing.assert_close(waves(16, 3, 0.375)[:, 1:3], (torch.pi * x[:, None] * torch.tensor([2.0, 3.0])).sin())


@pytest.mark.parametrize("video", [(2, 8, 8), (4, 16, 12)])
def test_no_two_sites_have_the_same_position(video):
    total = video[0] * video[1] * video[2]
    code = positions(torch.arange(total), video, 8)
    assert code.shape == (total, 48)
    assert torch.cdist(code, code).fill_diagonal_(1.0).min() > 0.1
    last = torch.tensor([total - 1])
    expected = torch.cat([waves(n, 8, 1.0)[-1] for n in video])
    assert torch.equal(positions(last, video, 8)[0], expected)


# -- what it looks at


def test_tokens_are_the_sensors():
    method, seen = fit(tasks.CONT_3), problem(tasks.CONT_3)
    sensors, valid = method.tokens(seen, order(seen))
    assert valid.all() and sensors.shape == (4, 8 * 4, 1 + 24 + 4)
    values = method.normaliser_.encode(seen.values)
    for found, v, mask in zip(sensors, values, seen.mask, strict=True):
        assert torch.equal(found[:, 0].sort().values, v[mask].sort().values)
    site = seen.mask[0, ..., 0].flatten().nonzero()[5:6, 0]
    expected = torch.cat([values[0].flatten()[site], method.places(seen, site.expand(4, 1))[0, 0]])
    assert (sensors[0] == expected).all(1).sum() == 1


def test_problems_with_different_numbers_of_sensors_share_a_batch():
    method = fit(tasks.CONT_3)
    few, many = problem(tasks.CONT_1), problem(tasks.CONT_3)
    both = replace(few, values=torch.cat([few.values, many.values]), mask=torch.cat([few.mask, many.mask]))
    _, valid = method.tokens(both, order(both))
    assert valid.sum(1).tolist() == [3 * 4] * 4 + [8 * 4] * 4
    together = method.predict(both, 0).u[0]
    torch.testing.assert_close(together[:4], method.predict(few, 0).u[0], rtol=1e-4, atol=1e-5)


def test_of_very_many_sensors_it_looks_at_a_random_part():
    method, seen = fit(tasks.FWD_FULL, replace(QUICK, sensors=40)), problem(tasks.FWD_FULL)
    sensors, valid = method.tokens(seen, order(seen))
    assert sensors.shape[1] == 40 and valid.all()
    other = method.tokens(seen, 1 - order(seen))[0]
    assert not torch.equal(sensors[..., 0].sort().values, other[..., 0].sort().values)
    assert torch.equal(method.predict(seen, 0).u, method.predict(seen, 0).u)
    assert not torch.equal(method.predict(seen, 1).u, method.predict(seen, 0).u)
    assert method.remark(tasks.FWD_FULL, HEAT) == "looks at 40 of 256 observed values"
    assert method.remark(tasks.CONT_3, HEAT) is None


def test_the_wave_speed_is_known_at_sensors_and_places():
    truth = smoke("wave_layer")[2]
    seen = tasks.CONT_3.observe(truth, generators(4))
    method = Senseiver(QUICK).fit(*smoke("wave_layer")[1:], [tasks.CONT_3], 0, Run())
    sites = torch.tensor([0, 37, 256 + 37]).expand(4, 3)
    assert truth.static is not None
    speed = method.normaliser_.encode_static(truth.static).flatten(1, 2)[..., 0]
    assert torch.equal(method.places(seen, sites)[..., 0], speed[:, [0, 37, 37]])
    assert method.tokens(seen, order(seen))[0].shape[-1] == 1 + 24 + 3  # value, waves, speed and coordinates


# -- learning


def test_the_loss_is_the_mean_square_at_the_places_it_drew():
    every = fit(tasks.FWD_FULL, replace(QUICK, queries=4 * 256))
    truth, seen = data("test", 4), problem(tasks.FWD_FULL)
    with torch.no_grad():
        loss = every.losses(every.net_, Observed(truth, seen), torch.Generator().manual_seed(0))
        video = every.reconstruct(every.net_, seen, order(seen))
        error = every.normaliser_.encode(video) - every.normaliser_.encode(truth.u)
        torch.testing.assert_close(loss, (error / SIGMA_DATA).square().flatten(1).mean(1))
        some = Senseiver(QUICK).restore(every.state(), data("train"))
        parts = [some.losses(some.net_, Observed(truth, seen), torch.Generator().manual_seed(k)) for k in range(60)]
    assert not torch.equal(parts[0], parts[1])
    torch.testing.assert_close(torch.stack(parts).mean(0), loss, rtol=0.2, atol=0)


def test_it_predicts_the_change_from_a_full_frame_unless_the_problem_is_steady():
    seen = problem(tasks.INV_FULL)
    moving, sparse = fit(tasks.INV_FULL).guess(seen), fit(tasks.INV_PARTIAL).guess(problem(tasks.INV_PARTIAL))
    method = fit(tasks.INV_FULL)
    expected = method.normaliser_.encode(seen.values)[:, 3].flatten(1, 2)
    assert torch.equal(moving.unflatten(1, (4, -1)), expected[:, None].expand(-1, 4, -1, -1)) and not sparse.any()
    assert not method.guess(replace(seen, equation=Heat(steady=True))).any()


def test_it_learns_a_few_trajectories():
    longer = replace(QUICK, architecture=SMOKE.architecture, training=replace(SMOKE.training, steps=150))
    truth = data("train")
    seen = tasks.CONT_3.observe(truth, generators(len(truth)))
    found = fit(tasks.CONT_3, longer).predict(seen, 0).u[0]
    assert (found - truth.u).norm() < 0.65 * truth.u.norm()


def test_the_sizes_of_the_paper_and_wrong_settings():
    assert planned(Senseiver) == pytest.approx(0.30e6, rel=0.05)
    with pytest.raises(ValueError, match="sensors and queries"):
        replace(SMOKE, queries=0)
    with pytest.raises(ValueError, match="heads"):
        Architecture(width=9)
