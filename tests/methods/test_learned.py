from dataclasses import replace
from functools import cache

import pytest
import torch
from torch import nn

from benchmark.core import Run
from benchmark.planning.registry import registry
from methods.blocks.conditioning import ObservedFrames, Shape, condition, coordinates, known_fields
from methods.blocks.learned import Learned, count
from methods.blocks.normaliser import Normaliser
from methods.blocks.regression import RegressionSettings, regress, regression_error, relative_l2
from methods.blocks.training import checkpoint
from methods.blocks.training.budget import Training
from methods.blocks.training.optimiser import Optimiser
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators, load, smoke

HEAT = HeatDataset.small(long_frames=9)
QUICK = RegressionSettings(
    Training(steps=6, batch=4, optimiser=Optimiser(lr=1e-2), ema=0.0, validations=2, checkpoint_seconds=0.0),
    validation=4,
    chunk=3,
)


class Pixelwise(nn.Module):
    def __init__(self, shape):
        super().__init__()
        frame, fields = shape.conditioning
        self.video = shape.frames, shape.channels
        self.layer = nn.Conv2d(len(shape.observed.frames) * frame + fields, shape.frames * shape.channels, 3, padding=1)

    def forward(self, known):
        return self.layer(torch.cat([known.frames.flatten(1, 2), known.fields], dim=1)).unflatten(1, self.video)


class Small(Learned):
    stochastic = False
    profiles = {"smoke": QUICK}

    def network(self, shape):
        return Pixelwise(shape)

    def losses(self, network, batch, draws):
        return regression_error(self, network, batch)

    def answer(self, problem, generators):
        return regress(self, self.net_, problem)

    def evaluations(self, problem):
        return 1


@cache
def data(split, count=8, frames=None):
    return HEAT.trajectories(split, count, frames)


@cache
def quick(task=tasks.FWD_PARTIAL):
    return Small(QUICK).fit(data("train"), data("valid"), [task], 0, Run())


def problem(task=tasks.FWD_PARTIAL, count=4, frames=None):
    return task.observe(data("test", count, frames), generators(count))


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)


# -- what is given


@pytest.mark.parametrize(
    "task, frames, full",
    [
        (tasks.FWD_FULL, (0,), True),
        (tasks.INV_FULL, (3,), True),
        (tasks.INV_PARTIAL, (3,), False),
        (tasks.CONT_3, (0, 1, 2, 3), False),
        (tasks.LONG_RANGE, (0,), True),
        (replace(tasks.FWD_FULL, dropout=0.5), (0,), False),
    ],
)
def test_which_frames_a_task_shows(task, frames, full):
    observed = ObservedFrames.of([task], HEAT.grid(4))
    assert (observed.frames, observed.full) == (frames, full)
    assert ObservedFrames.restore(observed.state(4)) == observed
    shape = Shape.planned(task, HEAT, with_coordinates=True)
    normaliser, seen = Normaliser.fit(data("train")), problem(task)
    known = condition(seen, observed, normaliser, known_fields(None, normaliser, shape.grid, seen.values, True))
    each, fields = shape.conditioning
    assert known.frames.shape == (4, len(frames), each, 16, 16) and known.fields.shape == (4, fields, 16, 16)
    assert known.guess.shape == (4, 4, 1, 16, 16)
    assert bool(known.guess.any()) == full


def test_a_full_frame_is_the_first_guess_and_sparse_ones_are_filled():
    normaliser = Normaliser.fit(data("train"))
    seen = problem(tasks.INV_FULL)
    fields = seen.values.new_zeros(4, 16, 16, 0)
    known = condition(seen, ObservedFrames((3,), True), normaliser, fields)
    expected = normaliser.encode(seen.values)[:, 3].movedim(-1, 1)
    assert torch.equal(known.guess, expected[:, None].expand(-1, 4, -1, -1, -1))
    seen = problem(tasks.FWD_PARTIAL)
    values, mask, nearest = condition(seen, ObservedFrames((0,), False), normaliser, fields).frames[:, 0].unbind(1)
    assert torch.equal(mask.bool(), seen.mask[:, 0, ..., 0])
    assert torch.equal(nearest[mask.bool()], values[mask.bool()])
    for frame, here in zip(nearest, mask.bool(), strict=True):
        assert set(frame.unique().tolist()) == set(frame[here].unique().tolist())


def test_coefficients_and_coordinates_are_known_fields():
    truth = smoke("wave_layer")[1][:3]
    normaliser = Normaliser.fit(truth)
    plain, placed = (known_fields(truth.static, normaliser, truth.grid, truth.u, places) for places in (False, True))
    assert plain.shape == (3, 16, 16, 1) and placed.shape == (3, 16, 16, 3)  # between walls: x and y
    assert torch.equal(placed[..., :1], plain) and abs(float(plain.mean())) < 1e-5
    torch.testing.assert_close(placed[1, ..., 1:], coordinates(truth.grid, truth.u).movedim(0, -1))
    assert known_fields(None, normaliser, truth.grid, truth.u, False).shape == (3, 16, 16, 0)


def test_coordinates_are_smooth_on_a_torus_and_plain_between_walls():
    like = torch.zeros(1)
    torus, walls = (coordinates(HeatDataset.small(boundary=b).grid(2), like) for b in ("periodic", "dirichlet"))
    assert torus.shape == (4, 16, 16) and walls.shape == (2, 16, 16)
    ring = torch.cat([torus, torus[:, :1]], dim=1).diff(dim=1).abs()  # around x
    assert ring.max() < 0.4
    assert walls[0, 0, 0] == -0.5 and walls[0, -1, 0] == 0.5 and torch.equal(walls[0], walls[1].T)


# -- predicting


def test_a_prediction_is_whole_repeatable_and_keeps_what_was_seen():
    seen = problem()
    before = seen.values.clone(), seen.mask.clone()
    answer = quick().predict(seen, 0, 2)
    assert answer.u.shape == (1, *seen.values.shape) and answer.u.dtype == torch.float32  # samples would be alike
    assert answer.u.isfinite().all() and answer.evaluations == 1
    assert torch.equal(seen.values, before[0]) and torch.equal(seen.mask, before[1])
    assert torch.equal(answer.u, quick().predict(seen, 1, 2).u)
    assert torch.equal(answer.u[0, seen.mask], seen.values[seen.mask])
    torch.testing.assert_close(quick().predict(seen[1:2], 0).u[0], answer.u[0, 1:2], rtol=1e-5, atol=1e-6)


def test_noisy_observations_are_not_taken_for_the_truth():
    noisy = replace(tasks.FWD_FULL, noise=0.1)
    seen = problem(noisy)
    assert (quick(noisy).predict(seen, 0).u[0] != seen.values)[seen.mask].float().mean() > 0.99


@pytest.mark.parametrize("window", ["drop", "keep"])
def test_long_trajectories_are_covered_window_by_window(window):
    task = replace(tasks.LONG_RANGE, roll_out=window)
    answer = quick(task).predict(problem(task, frames=9), 0)
    assert answer.u.shape[2] == 9 and answer.evaluations == 3
    torch.testing.assert_close(answer.u[:, :, :4], quick(task).predict(problem(tasks.FWD_FULL), 0).u)
    assert torch.equal(answer.u[:, :, 4], answer.u[:, :, 3]) == (window == "keep")


# -- learning and storing


def test_the_loss_is_the_score():
    u, truth = torch.randn(3, 2, 4, 4, 1), torch.randn(3, 2, 4, 4, 1)
    whole = (u - truth).flatten(1).norm(dim=1) / truth.flatten(1).norm(dim=1)
    torch.testing.assert_close(relative_l2(u, truth, steady=False), whole)
    fields = (u - truth).flatten(2).norm(dim=2) / truth.flatten(2).norm(dim=2)
    torch.testing.assert_close(relative_l2(u, truth, steady=True), fields.mean(1))
    exact = truth.clone().requires_grad_()
    relative_l2(exact, truth, steady=True).sum().backward()
    assert exact.grad.isfinite().all()


def test_a_restored_method_gives_the_same_answer():
    method, seen = quick(), problem()
    state = {name: value.clone() for name, value in method.state().items()}
    restored = Small(QUICK).restore(state, data("train"))
    assert same(state, restored.state()) and restored.cost() == method.cost()
    assert torch.equal(restored.predict(seen, 0).u, method.predict(seen, 0).u)
    flop = method.cost()["fit_flop"]
    assert method.cost() == {"parameters": count(method.net_), "steps": 6, "fit_flop": flop}
    twice = Small(replace(QUICK, training=replace(QUICK.training, steps=12)))
    assert twice.fit(data("train"), data("valid"), [tasks.FWD_PARTIAL], 0, Run()).cost()["fit_flop"] == 2 * flop > 0


def test_a_fit_is_a_function_of_its_seed_and_leaves_the_global_one_alone():
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    again = Small(QUICK).fit(data("train"), data("valid"), [tasks.FWD_PARTIAL], 0, Run())
    assert torch.equal(torch.rand(2), expected)
    assert same(again.state(), quick().state())
    other = Small(QUICK).fit(data("train"), data("valid"), [tasks.FWD_PARTIAL], 1, Run())
    assert not same(other.state(), quick().state())


def test_an_interrupted_fit_ends_with_the_same_weights(tmp_path):
    class Interrupt(Exception):
        pass

    def stop(message, fraction):
        if checkpoint.found(tmp_path / "cut"):
            raise Interrupt

    def fit(folder, **more):
        run = Run(folder=tmp_path / folder, **more)
        return Small(QUICK).fit(data("train"), data("valid"), [tasks.CONT_3], 5, run)

    with pytest.raises(Interrupt):
        fit("cut", progress=stop)
    assert same(fit("cut").state(), fit("whole").state())


def test_coefficient_fields_and_steady_fields_count():
    known = registry()
    for name in ("wave_layer", "helmholtz"):
        cls = known.load("datasets", name)
        dataset = cls(cls.profiles["smoke"])
        train, valid = load(dataset, "train"), load(dataset, "valid")
        method = Small(QUICK).fit(train, valid, [tasks.FWD_FULL], 0, Run())
        seen = tasks.FWD_FULL.observe(valid, generators(len(valid)))
        answer = method.predict(seen, 0).u
        assert answer.shape == (1, *valid.u.shape) and answer.isfinite().all()
        if seen.static is not None:
            other = replace(seen, static=seen.static.flip(0))
            assert not torch.equal(method.predict(other, 0).u, answer)


def test_a_regression_has_no_other_answer():
    assert Small(QUICK).one_step(None, 0) is None
