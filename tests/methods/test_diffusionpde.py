"""DiffusionPDE: what it samples for which task, its weights, its residuals, its sizes, and what it learns."""

from dataclasses import replace
from functools import cache

import pytest
import torch

from benchmark.core import Run
from benchmark.planning.registry import registry
from methods.blocks.conditioning import ObservedFrames, Shape, coordinates
from methods.blocks.diffusion.edm import evaluator, heun_step
from methods.blocks.diffusion.guidance import Guidance, Term, guided_step
from methods.diffusionpde.method import DiffusionPDE, join_pairs
from methods.diffusionpde.prior import PairNet, Pairs, encode_label
from methods.diffusionpde.settings import SMOKE, Settings
from methods.diffusionpde.terms import physics, residual_size
from methods.diffusionpde.weights import ALIKE, ALIKE_PAPER, Weights, convert, weights_for
from tests.methods.heat import HeatDataset
from tests.methods.small import generators, planned, smoke

KNOWN = registry()
QUICK = replace(SMOKE, training=replace(SMOKE.training, steps=2))


def task(name):
    return KNOWN.load("tasks", name)


@cache
def untrained(name, settings=QUICK):
    _, train, valid = smoke(name)
    return DiffusionPDE(settings).fit(train, valid, [task("cont_3")], 0, Run())


def problem(name, task_name, split=2, seed=0):
    part = smoke(name)[split]
    return task(task_name).observe(part, generators(len(part), seed))


# -- what is sampled


@pytest.mark.parametrize(
    "name, task_name, frames, pairs",
    [
        ("navier_stokes", "cont_3", None, [(0, 1), (2, 3)]),
        ("navier_stokes", "fwd_full", (3,), [(0, 3)]),
        ("navier_stokes", "inv_partial", (0,), [(0, 3)]),
        ("helmholtz", "fwd_partial", None, [(0, 1)]),
    ],
)
def test_tasks_are_answered_by_pairs(name, task_name, frames, pairs):
    method, given = untrained(name), problem(name, task_name)
    assert method.choose(given)[0] == pairs
    prediction = method.predict(given, 0)
    assert prediction.frames == frames
    assert prediction.evaluations == QUICK.edm.steps * len(pairs)


def test_an_odd_number_of_frames_and_leaping_pairs():
    method = DiffusionPDE(QUICK)
    grid, (dataset, *_) = HeatDataset.small(frames=5).grid(5), smoke("navier_stokes")
    method.shape_ = Shape(5, 1, 0, grid, dataset.equation(), ObservedFrames.of([task("cont_3")], grid))
    given = problem("navier_stokes", "cont_3")
    assert method.choose(given)[0] == [(0, 1), (2, 3), (3, 4)]
    method.settings = replace(QUICK, pairs="leap")
    assert method.choose(given)[0] == [(0, 1), (0, 2), (0, 3), (0, 4)]
    assert method.priors(5)["pair"].frames == ((0, 1), (0, 2), (0, 3), (0, 4), (0, 4))


def test_frames_without_a_pair_are_interpolated():
    grid = smoke("navier_stokes")[1].grid
    pairs = torch.tensor([0.0, 3.0]).reshape(1, 1, 2, 1, 1, 1)
    assert join_pairs(pairs, [(0, 3)], grid).flatten().tolist() == pytest.approx([0, 1, 2, 3])


def test_long_range_is_not_for_it():
    dataset = smoke("kolmogorov")[0]
    assert "roll-out" in (DiffusionPDE(QUICK).unsupported(task("long_range"), dataset) or "")
    assert DiffusionPDE(QUICK).unsupported(task("cont_1"), dataset) is None


@pytest.mark.parametrize("guidance", [QUICK.guidance, Guidance()])
def test_a_prediction_does_not_depend_on_what_else_is_predicted(guidance):
    method = DiffusionPDE(replace(QUICK, guidance=guidance, chunk=3, edm=replace(QUICK.edm, steps=4)))
    vars(method).update({k: v for k, v in vars(untrained("navier_stokes")).items() if k != "settings"})
    given = problem("navier_stokes", "cont_3")
    u = method.predict(given, 5, samples=2).u
    torch.testing.assert_close(method.predict(given[:1], 5).u[0], u[0, :1], rtol=1e-4, atol=1e-4)
    assert not torch.allclose(u[0], u[1])
    assert not torch.allclose(method.predict(given[:1], 6).u[0], u[0, :1])


@pytest.mark.parametrize("guidance", [QUICK.guidance, Guidance()])
def test_a_prediction_does_not_depend_on_how_many_pairs_are_in_memory(guidance):
    settings, given = replace(QUICK, guidance=guidance), problem("navier_stokes", "cont_3")
    state, train = untrained("navier_stokes").state(), smoke("navier_stokes")[1]
    few, many = (DiffusionPDE(replace(settings, inputs=n)).restore(state, train).predict(given, 0).u for n in (3, 512))
    torch.testing.assert_close(few, many, rtol=1e-4, atol=1e-4)


def test_it_can_be_stored():
    method, given = untrained("wave_layer"), problem("wave_layer", "cont_3")
    restored = DiffusionPDE(QUICK).restore(method.state(), smoke("wave_layer")[1])
    assert torch.equal(restored.predict(given, 0).u, method.predict(given, 0).u)


# -- training pairs


def test_batches_hold_the_pairs_they_say():
    train = smoke("navier_stokes")[1]
    pairs = Pairs(((0, 1), (1, 2), (0, 3)), (0, 0, 1), (1.0, 1.0, 2.0))
    batch = pairs.cut(train, [4, 5], [1, 2])
    assert torch.equal(batch.u, torch.stack([train.u[4, [1, 2]], train.u[5, [0, 3]]]))
    assert batch.label.tolist() == [0, 1]
    batches = pairs.batches(train, 16, 0)
    assert torch.equal(batches(3).u, batches(3).u)
    labels = torch.cat([batches(i).label for i in range(40)]).float()
    assert 0.4 < labels.mean() < 0.6


# -- weights and residuals


CELLS = 6  # of a field of the toy problem below


def toy(mixing, scales, std, mean):
    """Two fields a, u of 6 cells: their denoiser, affine, in the source's units v = (a, u) / s and in ours."""
    s, q = (torch.tensor(pair, dtype=torch.float64).repeat_interleave(CELLS) for pair in (scales, [2 * r for r in std]))
    draws = torch.Generator().manual_seed(0)
    jacobian = torch.randn(2, CELLS, 2, CELLS, generator=draws, dtype=torch.float64) / CELLS
    jacobian = (jacobian * torch.tensor(mixing, dtype=torch.float64)[:, None, :, None]).flatten(2).flatten(0, 1)
    bias = torch.randn(2 * CELLS, generator=draws, dtype=torch.float64)

    def source(v, sigma):
        return v @ jacobian.T / (1 + sigma) + bias

    def ours(x, sigma):
        return (s * source((q * x + mean) / s, sigma) - mean) / q

    return s, q, source, ours


def residuals(u, weights):
    """Of every second cell of a and u, and of a linear equation in both."""
    y, (z_a, z_u, z_pde) = torch.linspace(-1, 1, 2 * CELLS, dtype=torch.float64), weights
    seen = (u - y)[:, ::2].unflatten(1, (2, -1))
    return [(seen[:, 0], z_a), (seen[:, 1], z_u), (u[:, 1:] - 0.5 * u[:, :-1], z_pde)]


@pytest.mark.parametrize("loss", ["norm", "mean_square"])
@pytest.mark.parametrize(
    "scales, mixing, z_pde",
    [((1.6, 1.6), ((1.0, 0.5), (0.5, 1.0)), 1.0), ((2.15, 0.028), ((1.0, 0.0), (0.0, 1.0)), 0.0)],
)
def test_a_guided_step_moves_a_sample_as_in_the_source(loss, scales, mixing, z_pde):
    """From first principles: the source's step in its units and ours in ours, the same point of physical space.

    Exact where both fields have the same c, or do not mix.
    """
    std, mean, size, sigmas = (0.24, 0.24) if scales[0] == scales[1] else (0.28, 0.004), 0.3, 7.0, (2.0, 1.0)
    s, q, source, ours = toy(mixing, scales, std, mean)
    v = torch.randn(3, 2 * CELLS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def moved(denoise, x, decode, weights, over):
        """One guided Heun step; `over`: the units in which the residuals are taken."""
        terms = [
            (Term(lambda x, k=k: residuals(decode(x), weights)[k][0] / over[k], 1.0, 1.0), residuals(v, weights)[k][1])
            for k in range(3)
        ]
        evaluate = evaluator(denoise, torch.float64)
        step = guided_step(heun_step, evaluate, x, *sigmas, [t for t in terms if t[1]], Guidance(loss=loss))
        return decode(step) - decode(heun_step(evaluate, x, *sigmas))

    published = Weights(0.8, 3.0, z_pde, scales=scales)
    per_cell = (CELLS if loss == "norm" else 1) * 1.0
    there = moved(source, v, lambda v: s * v, (0.8, 3.0, z_pde / per_cell), (1.0, 1.0, 1.0))
    units = (2 * std[0], 2 * std[1])
    w = convert(published, units, size, CELLS, loss)
    x = (s * v - mean) / q
    here = moved(ours, x, lambda x: q * x + mean, (w.first, w.second, w.pde), (*units, size))
    assert there.abs().max() > 1e-3
    torch.testing.assert_close(here, there, rtol=1e-9, atol=1e-12)


def test_published_weights_are_alike_in_normalised_units():
    """With the standard deviations of the data at profile paper."""
    found = [
        convert(weights_for("code", name), units, 1.0, 1, "norm")
        for name, units in (("navier_stokes", (0.484, 0.484)), ("helmholtz", (0.556, 0.0082)))
    ]
    assert [w for both in found for w in (both.first, both.second)] == pytest.approx([5.3, 5.3, 6.7, 5.7], abs=0.1)
    assert weights_for("code", "kolmogorov").first == ALIKE
    assert weights_for("paper", "navier_stokes").first * 1.6**2 == pytest.approx(ALIKE_PAPER)


def test_weights_have_the_factors_of_the_settings_and_the_normaliser_s_units():
    method = DiffusionPDE(replace(QUICK, table="code", observation=2.0, physics=3.0))
    vars(method).update({k: v for k, v in vars(untrained("helmholtz")).items() if k != "settings"})
    grid, std = smoke("helmholtz")[1].grid, method.normaliser_.std.flatten().tolist()
    w = method.weights("helmholtz", grid)
    assert w.first == pytest.approx(2 * 0.8 * 2.15**2 * 0.5 / std[0])
    assert w.second == pytest.approx(2 * 60 * 0.028**2 * 0.5 / std[1])
    size = float(method.residual_size_)
    assert w.pde == pytest.approx(3 * size / 16**2 * 2.15 * 0.028 * 0.25 / (std[0] * std[1]))
    method.settings = replace(method.settings, guidance=Guidance(loss="mean_square"), table="paper")
    assert method.weights("helmholtz", grid).first == pytest.approx(2 * 200 * 2.15**2)
    method.settings = replace(QUICK, table="laptop")
    assert method.weights("helmholtz", grid).first == weights_for("laptop", "helmholtz").first


@pytest.mark.parametrize("name", ["navier_stokes", "allen_cahn", "helmholtz"])
def test_the_residual_of_true_pairs_is_small_and_has_a_gradient(name):
    method, train = untrained(name), smoke(name)[1]
    x, grid = method.normaliser_.encode(train.u[:4, :2]), train.grid.first(2)
    term = physics(train.equation, method.normaliser_, None, grid, residual_size(train, 2), 1.0)
    noise = 0.5 * torch.randn(x.shape, generator=torch.Generator().manual_seed(0))
    assert term.residual(x).norm() < 0.2 * term.residual(x + noise).norm()
    x.requires_grad_()
    (gradient,) = torch.autograd.grad(term.residual(x).norm(), x)
    assert gradient.isfinite().all() and gradient.abs().sum() > 0


def test_the_size_of_residuals_is_that_of_the_whole_set():
    """Neighbours may be clips of one run: the first ones of a large set say little of the others."""
    train = smoke("navier_stokes")[1]
    louder = torch.linspace(1, 9, len(train)).reshape(-1, 1, 1, 1, 1)
    uneven = replace(train, u=train.u * louder)
    few, all_of_them = residual_size(uneven, 2, at_most=len(train) // 2), residual_size(uneven, 2, at_most=len(train))
    assert few == pytest.approx(all_of_them, rel=0.1)
    assert residual_size(uneven[: len(train) // 2], 2) < 0.7 * all_of_them


def test_the_equation_counts_for_near_pairs_of_first_order_only():
    def count(name, task_name, **changes):
        method = DiffusionPDE(replace(QUICK, physics=1.0, **changes))
        vars(method).update({k: v for k, v in vars(untrained(name)).items() if k != "settings"})
        return len(method.plan(problem(name, task_name)).terms)

    assert count("navier_stokes", "cont_3") == 3  # two frames and the equation
    assert count("wave_layer", "cont_3") == 2  # second order in time: a pair is not enough
    assert count("navier_stokes", "fwd_full") == 1
    assert count("navier_stokes", "fwd_full", far="divergence") == 2
    assert count("helmholtz", "inv_full") == 2


# -- sizes, settings


def test_the_paper_profile_has_the_size_its_source_reports():
    assert planned(DiffusionPDE, name="helmholtz") == 54_410_882
    assert planned(DiffusionPDE) == pytest.approx(54.4e6, rel=5e-3)


def test_a_table_of_weights_refuses_a_loss_it_is_not_made_for():
    with pytest.raises(ValueError, match="guidance.loss=mean_square, got norm"):
        Settings(table="paper")
    assert Settings(table="paper", guidance=Guidance(loss="mean_square")).table == "paper"


def test_frames_in_full_have_a_weight_of_their_own():
    method = DiffusionPDE(replace(QUICK, full=0.25)).restore(
        untrained("navier_stokes").state(), smoke("navier_stokes")[1]
    )
    (full,), (sparse,) = (method.plan(problem("navier_stokes", t)).terms for t in ("fwd_full", "fwd_partial"))
    assert full.early == 0.25 * sparse.early and full.late == 0.25 * sparse.late


def test_all_frames_can_be_scored():
    given, fit = problem("navier_stokes", "fwd_full"), untrained("navier_stokes")
    every = DiffusionPDE(replace(QUICK, score="all")).restore(fit.state(), smoke("navier_stokes")[1])
    assert every.predict(given, 0).frames is None and fit.predict(given, 0).frames == (3,)


@pytest.mark.parametrize("labels", ["onehot", "sin"])
def test_every_kind_of_pair_has_a_label_of_its_own(labels):
    told = encode_label(torch.arange(38), 38, labels).double()  # 2 (T - 1) kinds at paper size
    apart = torch.cdist(told, told) + torch.eye(38)
    assert apart.min() > 0.05
    net = untrained("navier_stokes", replace(QUICK, label=labels)).net_["pair"]
    with pytest.raises(ValueError, match="label"):
        net(torch.zeros(1, 2, 16, 16, 1), torch.ones(1))


@pytest.mark.parametrize("places", [False, True])
def test_with_circular_padding_only_coordinates_tell_the_place(places):
    """A force with a fixed phase cannot be learned otherwise: what moves with the input knows no place."""
    torch.manual_seed(0)
    architecture = replace(QUICK.architecture, padding="circular")
    grid = smoke("navier_stokes")[1].grid
    fields = coordinates(grid, torch.zeros(1)).movedim(0, -1).expand(2, -1, -1, -1) if places else None
    net = PairNet(1, 4 * places, 1, grid, architecture)
    for p in net.parameters():  # the last layer of a branch starts near zero
        torch.nn.init.normal_(p, std=0.2)
    x = torch.randn(2, 2, 16, 16, 1)
    moved, still = (net(video, torch.ones(1), fields=fields) for video in (x.roll(8, 2), x))
    assert torch.allclose(moved, still.roll(8, 2), rtol=1e-3, atol=1e-3) != places
