from dataclasses import replace

import pytest
import torch

from benchmark.planning.registry import registry
from methods.blocks.training.examples import Clip, Clips, Observations, Observed, Whole
from methods.blocks.training.symmetry import Symmetries, Symmetry
from methods.blocks.training.symmetry_search import find_symmetries
from methods.diffusionpde.prior import Pair, Pairs
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators, load

KNOWN = registry()


def smoke(name, frames=2, count=16):
    cls = KNOWN.load("datasets", name)
    settings = cls.profiles["smoke"]
    return load(cls(replace(settings, sizes=replace(settings.sizes, train=count))), "train", frames)


def observed(truth, task=tasks.FWD_PARTIAL):
    return Observed(truth, task.observe(truth, generators(len(truth))))


def turn(symmetries, batch):
    symmetry = symmetries.draw(len(batch), batch.truth.grid.shape, draws())
    return Observations([tasks.FWD_PARTIAL]).turned(batch, symmetry)


def draws(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_symmetry_is_what_its_formula_says():
    u = torch.randn(2, 3, 6, 6, 1, generator=draws())
    turned = Symmetry((0, 1, -1, 0), (2, 5))(u)  # takes (i, j) from (j + 2, 5 - i)
    for i, j in ((0, 0), (1, 4), (5, 3)):
        assert torch.equal(turned[:, :, i, j], u[:, :, (j + 2) % 6, (5 - i) % 6])
    assert torch.equal(Symmetry()(u), u)


def test_truth_observations_and_coefficients_move_together():
    truth = smoke("wave_layer", 3)
    found = find_symmetries(truth)
    turned = turn(found, observed(truth))
    assert not torch.equal(turned.truth.u, truth.u)
    seen = turned.problem.mask
    assert torch.equal(turned.problem.values[seen], turned.truth.u[seen])
    assert not turned.problem.values[~seen].any()
    residual = truth.equation.relative_residual
    before = residual(truth.u, truth.static, truth.grid)
    torch.testing.assert_close(residual(turned.truth.u, turned.truth.static, truth.grid), before, rtol=1e-3, atol=1e-5)
    assert torch.equal(turned.truth.static, turned.problem.static)


@pytest.mark.parametrize("name", ["navier_stokes", "kolmogorov", "allen_cahn", "helmholtz"])
def test_solutions_stay_solutions(name):
    truth = smoke(name)
    truth = replace(truth, u=truth.u.double())
    turned = turn(find_symmetries(truth), observed(truth))
    assert (turned.truth.u != truth.u).any()
    residual = truth.equation.residual
    before, after = residual(truth.u, None, truth.grid), residual(turned.truth.u, None, truth.grid)
    size = truth.equation.terms(truth.u, None, truth.grid)["diffusion" if name != "helmholtz" else "laplacian"].norm()
    assert abs(after.norm() - before.norm()) < 1e-6 * size


def test_a_force_forbids_most_shifts():
    found = find_symmetries(smoke("navier_stokes", count=128))  # the force depends on x + y
    shifts = {s for family in found.shifts for s in family}
    assert (3, -3) in shifts and not shifts & {(1, 0), (0, 1), (1, 1)}
    found = find_symmetries(smoke("kolmogorov"))  # on cos 2 y: half of the 16 points is a period
    shifts = {s for family in found.shifts for s in family}
    assert {(3, 0), (0, 8)} <= shifts and not shifts & {(0, 1), (0, 4), (1, 1), (1, -1)}


def test_a_free_equation_has_all_of_them_and_walls_forbid_shifts():
    free = find_symmetries(HeatDataset.small().trajectories("train", 64, 2))
    assert {g.matrix for g in free.points if g.sign == 1} == {g.matrix for g in free.points if g.sign == -1}
    assert len(free.points) == 16 and len(free.shifts[0]) == 16
    walls = find_symmetries(smoke("helmholtz"))
    assert len(walls.points) == 16 and not walls.shifts


def test_data_that_look_different_do_not_count():
    truth = HeatDataset.small().trajectories("train", 64)
    x = torch.arange(16.0)[:, None, None]
    lopsided = replace(truth, u=truth.u * (x + 1) ** 2)
    shifts = {s for family in find_symmetries(lopsided).shifts for s in family}
    assert (0, 5) in shifts and all(i == 0 for i, _ in shifts)
    positive = find_symmetries(replace(truth, u=truth.u + 5))
    assert {g.sign for g in positive.points} == {1}


def test_a_coarse_trial_serves_a_fine_grid():
    fine = HeatDataset.small(resolution=64).trajectories("train", 16, 2)
    shifts = {s for family in find_symmetries(fine).shifts for s in family}
    assert (2, 0) in shifts and (1, 0) not in shifts and (62, 0) in shifts


def test_all_kinds_of_examples_are_turned_alike():
    """Whatever a network learns from: the same symmetry of the same trajectories."""
    found, truth = find_symmetries(smoke("wave_layer", 3)), smoke("wave_layer", 3)[:3]
    symmetry = found.draw(3, truth.grid.shape, draws())
    whole, seen = Whole().turned(truth, symmetry), Observations([tasks.CONT_3]).turned(observed(truth), symmetry)
    clip = Clips(3).turned(Clip(truth.u[:, :3], truth.static), symmetry)
    pair = Pairs(((0, 1),), (0,), (1.0,)).turned(Pair(truth.u[:, :2], torch.zeros(3), truth.static), symmetry)
    assert not torch.equal(whole.u, truth.u) and torch.equal(seen.truth.u, whole.u)
    assert torch.equal(clip.u, whole.u[:, :3]) and torch.equal(pair.u, whole.u[:, :2])
    for batch in (seen.truth, seen.problem, clip, pair):
        assert torch.equal(batch.static, whole.static)


def test_no_symmetry_moves_nothing():
    truth = smoke("allen_cahn")
    nothing = Symmetries().draw(len(truth), truth.grid.shape, draws())
    assert len(Symmetries()) == 1 and torch.equal(Whole().turned(truth, nothing).u, truth.u)
