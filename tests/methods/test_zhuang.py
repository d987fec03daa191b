from dataclasses import replace
from functools import cache

import pytest
import torch

from benchmark.core import Grid
from benchmark.planning.registry import registry
from methods.blocks.diffusion.edm import sample
from methods.blocks.voronoi import nearest_sensor
from methods.zhuang.method import LAPTOP, SMOKE, Zhuang, random_sensors
from methods.zhuang.network import Architecture, ConditionalUNet, positions
from tasks import observation as tasks
from tests.methods.generative_case import comes_back, data, fit, keeps_its_promises, problem, quick
from tests.methods.small import generators, planned

QUICK = quick(SMOKE, ensemble=3, edm=replace(SMOKE.edm, steps=2), fields=12)
GRID = Grid((16, 16), (1.0, 1.0), (0.0, 1.0), "periodic")


@cache
def fitted():
    return fit(Zhuang(QUICK))


def test_a_prediction_keeps_its_promises():
    keeps_its_promises(fitted(), problem(), 4 * 3 * 2)  # frames x ensemble x steps


def test_a_restored_method_gives_the_same_answer():
    comes_back(fitted(), problem())


def test_the_answer_is_the_mean_of_the_ensemble():
    one = Zhuang(replace(QUICK, ensemble=1)).restore(fitted().state(), data("train"))
    many = Zhuang(replace(QUICK, ensemble=24, fields=96)).restore(fitted().state(), data("train"))
    seen = problem(count=1)
    single = one.predict(seen, 0, 24).u
    spread = single.std(0)[~seen.mask].mean()
    difference = (many.predict(seen, 0).u[0] - single.mean(0)).abs()[~seen.mask].mean()
    assert difference < 0.5 * spread  # two means of 24: about 0.23 of it


def test_it_answers_in_one_step_too():
    at_once, seen = fitted().one_step(problem(), 0), problem()
    alone = Zhuang(replace(QUICK, edm=replace(QUICK.edm, steps=1))).restore(fitted().state(), data("train"))
    assert at_once.evaluations == 4 * 3 and torch.equal(at_once.u, alone.predict(seen, 0).u)
    assert torch.equal(at_once.u[:, seen.mask], seen.values[seen.mask][None])


@pytest.mark.parametrize("sampler", ["heun", "dpmpp_2m"])
def test_the_cached_condition_changes_nothing_and_observed_pixels_stay(sampler):
    method, seen = fitted(), problem()
    edm = replace(QUICK.edm, sampler=sampler, steps=3)
    y = method.normaliser_.encode_seen(seen.values, seen.mask).movedim(-1, 2)
    mask = seen.mask.movedim(-1, 2)
    known = method.field(y, mask, None)
    y, mask = y.flatten(0, 1)[:, None], mask.flatten(0, 1)[:, None]
    noise = torch.randn(len(y), 3, *y.shape[2:], generator=torch.Generator().manual_seed(0))
    start = torch.where(mask, y / edm.sigma_max, noise)

    def recomputed(x, sigma):
        fields = known.repeat_interleave(3, 0), mask.float()[:, 0].repeat_interleave(3, 0)
        return torch.where(mask, y, method.net_(x.flatten(0, 1), sigma, *fields).view_as(x))

    with torch.no_grad():
        expected = sample(edm, recomputed, start)
        found = sample(edm, method.prepared(known, y, mask), start)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found[mask.expand_as(found)], y.expand_as(found)[mask.expand_as(found)])


def test_observed_pixels_may_carry_noise_too():
    noisy, clean, seen = fit(Zhuang(replace(QUICK, clean=False))), fitted(), problem()
    with torch.no_grad():
        video = noisy.answer(seen, generators(len(seen)))  # nothing is put back
        held = clean.answer(seen, generators(len(seen)))
    assert not torch.allclose(video[seen.mask], seen.values[seen.mask], atol=1e-4)
    torch.testing.assert_close(held[seen.mask], seen.values[seen.mask], rtol=1e-4, atol=1e-4)


def test_sensors_of_training_have_the_rates_that_were_asked_for():
    masks = random_sensors((16, 16), (0.001, 0.1), 400, torch.Generator().manual_seed(0))
    counts = masks.flatten(1).sum(1)
    assert counts.min() == 1 and counts.max() == 26
    assert counts.float().mean() == pytest.approx(0.0505 * 256, rel=0.1)
    assert (masks.float().mean(0) > 0).all()


def test_the_condition_is_each_sites_nearest_sensor_of_its_own_frame():
    method, seen = fitted(), problem()
    y = method.normaliser_.encode_seen(seen.values, seen.mask).movedim(-1, 2)
    known = method.field(y, seen.mask.movedim(-1, 2), None)
    where = nearest_sensor(seen.mask[0, :1, ..., 0], seen.grid).flatten()
    torch.testing.assert_close(known[2, 0].flatten(), y[0, 2, 0].flatten()[where])


def test_only_unseen_pixels_are_noised_in_training():
    method, seen = fitted(), []

    def network(x, sigma, known, mask):
        seen.append((x, mask))
        return x

    clips = type("Clips", (), {"u": data("valid").u[:, :1], "static": None})()
    losses = method.losses(network, clips, torch.Generator().manual_seed(0))
    x, mask = seen[0]
    truth = method.normaliser_.encode(clips.u)[:, 0].movedim(-1, 1)
    assert losses.shape == (8,) and torch.equal((x == truth), mask.bool())


def test_a_frame_does_not_know_the_others():
    seen = problem()
    changed = replace(seen, values=seen.values.index_fill(1, torch.tensor([0]), 0.0))
    one, other = fitted().predict(seen, 0).u, fitted().predict(changed, 0).u
    torch.testing.assert_close(one[:, :, 1:], other[:, :, 1:], rtol=1e-5, atol=1e-6)
    assert not torch.equal(one[:, :, 0], other[:, :, 0])


def test_what_it_cannot_do_it_says():
    dataset = registry().load("datasets", "helmholtz")
    steady, method = dataset(dataset.profiles["smoke"]), Zhuang(SMOKE)
    assert "X" in method.unsupported(tasks.CONT_3, steady)
    dynamic = type("Dataset", (), {"steady": False})()
    assert method.unsupported(tasks.CONT_1, dynamic) is None
    for task in (tasks.FWD_FULL, tasks.INV_PARTIAL, tasks.LONG_RANGE):
        assert "sensors" in method.unsupported(task, dynamic)


def test_positions_tell_all_cells_apart():
    code = positions(torch.zeros(1, 32, 8, 8)).flatten(1)  # (32, 64)
    assert torch.cdist(code.T, code.T).fill_diagonal_(1.0).min() > 0.1
    assert positions(torch.zeros(1, 30, 4, 4)).shape == (30, 4, 4)


def test_coefficient_fields_are_part_of_the_condition():
    net = ConditionalUNet(1, 2, GRID, SMOKE.architecture)
    x, field, mask = torch.randn(4, 1, 16, 16), torch.randn(2, 3, 16, 16), torch.ones(2, 1, 16, 16)
    assert net(x, torch.zeros(1), field, mask).shape == (4, 1, 16, 16)
    assert net.encoder.field.in_channels == 3


@pytest.mark.parametrize("side", [64, 128, 256])
def test_all_levels_but_the_first_attend_whatever_the_grid(side):
    """Two blocks on the way down and three on the way up, in each of three levels, and the middle."""
    grid = Grid((side, side), (1.0, 1.0), (0.0, 1.0), "periodic")
    with torch.device("meta"):
        net = ConditionalUNet(1, 0, grid, Architecture())
    assert len(net.unet.attentions()) == 3 * (2 + 3) + 1


def test_draws_are_single_but_for_the_paper_profile():
    """Uncertainty scores are of draws; the mean of as many as one likes is `rel_l2_mean` of --samples."""
    assert [Zhuang.profiles[profile].ensemble for profile in ("smoke", "laptop", "paper")] == [1, 1, 25]
    steady = type("Task", (), {"noise": None})()
    assert "mean of 25 draws" in Zhuang(Zhuang.profiles["paper"]).remark(steady, None)
    assert "draws" not in (Zhuang(LAPTOP).remark(steady, None) or "")


def test_the_sizes_of_the_paper_and_wrong_settings():
    assert planned(Zhuang) == pytest.approx(63.1e6, rel=0.01)  # width 256 of the condition, one channel, 128^2
    assert len(ConditionalUNet(1, 0, GRID, SMOKE.architecture).unet.attentions()) == 4
    with pytest.raises(ValueError, match="ensemble"):
        replace(LAPTOP, ensemble=0)
    with pytest.raises(ValueError, match="rates"):
        replace(LAPTOP, rates=(0.0, 0.1))
    with pytest.raises(ValueError, match="heads"):
        ConditionalUNet(1, 0, GRID, Architecture(SMOKE.architecture.unet, heads=5, patch=4, width=40))
