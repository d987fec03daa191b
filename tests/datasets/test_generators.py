"""What all five generators promise: the same bytes for a seed, any even grid, float64, gradients."""

from __future__ import annotations

import pytest
import torch

from datasets.helmholtz import Helmholtz
from datasets.kolmogorov import Kolmogorov
from datasets.wave_layer import WaveLayer
from tests.datasets.physics import FIVE, make, relative

F64 = torch.float64
each = pytest.mark.parametrize("kind", FIVE, ids=[kind.name for kind in FIVE])


def frames_of(kind) -> int:
    return kind.profiles["smoke"].sizes.frames


@each
def test_a_run_is_the_same_in_every_company(kind):
    """Order, neighbours, batch size and a second instance do not change a byte; a tile holds two runs at 128^2."""
    for sizes in ({}, {"resolution": 128, "frames": 2}):
        dataset, again = make(kind, sizes=sizes, **quick(kind)), make(kind, sizes=sizes, **quick(kind))
        frames = dataset.sizes.frames
        u, static = dataset.generate("train", range(4), frames)
        other, other_static = again.generate("train", [3, 0], frames)
        assert torch.equal(u[[3, 0]], other)
        assert torch.equal(u[1:2], dataset.generate("train", [1], frames)[0])
        assert (static is None) == (kind is not WaveLayer)
        assert static is None or torch.equal(static[[3, 0]], other_static)


def quick(kind) -> dict:
    return {"burn_in": 0.25} if kind is Kolmogorov else {}


@each
def test_runs_splits_and_seeds_differ(kind):
    dataset, frames = make(kind), frames_of(kind)
    runs = [dataset.generate(split, [i], frames)[0] for split in ("train", "valid", "test") for i in (0, 1)]
    runs.append(make(kind, seed=2).generate("train", [0], frames)[0])
    distances = [relative(a, b) for i, a in enumerate(runs) for b in runs[:i]]
    assert min(distances) > 0.05


@each
def test_more_frames_begin_with_the_fewer(kind):
    if kind is Helmholtz:
        return
    dataset = make(kind, "laptop", **quick(kind))
    short, _ = dataset.generate("test", range(2), 5)
    long, _ = dataset.generate("test", range(2), 12)
    assert torch.equal(long[:, :5], short)


@each
@pytest.mark.parametrize("resolution", [20, 48])
def test_any_even_grid(kind, resolution):
    dataset, frames = make(kind, sizes={"resolution": resolution}, **quick(kind)), frames_of(kind)
    u, static = dataset.generate("valid", range(2), frames)
    assert u.shape == (2, frames, resolution, resolution, 1) and u.dtype == torch.float32
    assert u.isfinite().all() and u.std() > 0
    assert static is None or static.shape == (2, resolution, resolution, 1)


@each
@pytest.mark.parametrize("resolution", [33, 6, 0, -16])
def test_odd_or_small_grid(kind, resolution):
    with pytest.raises(ValueError, match=f"expected an even number of points, 8 or more, got {resolution}"):
        make(kind, sizes={"resolution": resolution})


def test_too_few_frames():
    with pytest.raises(ValueError, match="frames: expected 2 or more, got 1"):
        make(FIVE[1], sizes={"frames": 1})


@each
def test_float64_is_the_same_run(kind):
    dataset, frames = make(kind, "laptop", **quick(kind)), kind.profiles["laptop"].sizes.frames
    single, _ = dataset.generate("train", range(2), frames)
    double, _ = dataset.generate("train", range(2), frames, dtype=F64)
    assert double.dtype == F64
    assert 0 < relative(single.double(), double) < 2e-5


@each
def test_solve_repeats_the_generated_run(kind):
    """From the first frame alone: what the `solver` reference and the checks of stored files rely on."""
    dataset, frames = make(kind, "laptop", **quick(kind)), kind.profiles["laptop"].sizes.frames
    u, static = dataset.generate("train", range(2), frames, dtype=F64)
    solved = dataset.equation().solve(u[:, 0], static, dataset.grid(frames))
    assert relative(solved, u) < 1e-10


def tiny(kind):
    dataset = make(kind, sizes={"resolution": 14 if kind is Kolmogorov else 8, "frames": 2 if kind is Helmholtz else 3})
    frames = dataset.sizes.frames
    u, static = dataset.generate("train", range(1), frames, dtype=F64)
    return dataset.equation(), u, static, dataset.grid(frames)


@each
def test_residual_has_the_right_gradient(kind):
    equation, u, static, grid = tiny(kind)
    g = torch.Generator().manual_seed(0)
    weights = torch.randn(equation.residual(u, static, grid).shape, generator=g, dtype=F64)
    loss = lambda v: (weights * equation.residual(v, static, grid)).mean()  # noqa: E731
    check_gradient(loss, u, g)


@each
def test_solve_has_the_right_gradient(kind):
    equation, u, static, grid = tiny(kind)
    g = torch.Generator().manual_seed(1)
    weights = torch.randn(u.shape, generator=g, dtype=F64)
    loss = lambda first: (weights * equation.solve(first, static, grid)).mean()  # noqa: E731
    check_gradient(loss, u[:, 0], g)
    assert torch.autograd.gradcheck(
        lambda a: loss(u[:, 0] + a * weights[:, 0]), torch.zeros(1, dtype=F64, requires_grad=True)
    )


def check_gradient(loss, at, g) -> None:
    """The gradient along three random directions against central differences, and none of it lost."""
    at = at.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(at), at)
    assert gradient.isfinite().all() and gradient.abs().sum() > 0
    for _ in range(3):
        direction = torch.randn(at.shape, generator=g, dtype=F64)
        step = 1e-5 * at.detach().norm() / direction.norm()
        with torch.no_grad():
            slope = (loss(at + step * direction) - loss(at - step * direction)) / (2 * step)
        assert slope.item() == pytest.approx((gradient * direction).sum().item(), rel=1e-5, abs=1e-9)
