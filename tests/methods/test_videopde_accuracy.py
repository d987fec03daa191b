"""What VideoPDE can learn: one trajectory by heart under every task, and the spread of a law that is known."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from benchmark.core import Run, Trajectories
from benchmark.planning.registry import registry
from methods.blocks.diffusion.edm import Edm
from methods.blocks.training.budget import Training
from methods.blocks.training.optimiser import Optimiser
from methods.videopde.method import SMOKE, VideoPDE
from methods.videopde.model import Architecture
from tasks import observation as tasks
from tests.methods.heat import HeatDataset
from tests.methods.small import generators, load

SIX = (tasks.CONT_1, tasks.CONT_3, tasks.FWD_FULL, tasks.INV_FULL, tasks.FWD_PARTIAL, tasks.INV_PARTIAL)


@pytest.mark.slow
@pytest.mark.parametrize("task", SIX, ids=lambda task: task.name)
def test_one_trajectory_is_learned_by_heart(task):
    cls = registry().load("datasets", "navier_stokes")
    one = load(cls(cls.profiles["smoke"]), "train")[:1]
    settings = replace(
        SMOKE,
        edm=Edm(log_mean=3.8, log_std=0.6, sigma_max=80.0, sampler="dpmpp_2m", steps=1),
        training=Training(steps=600, batch=8, optimiser=Optimiser("muon", lr=2e-2, schedule="cosine"), ema=0.98),
    )
    method = VideoPDE(settings).fit(one, one, [task], 0, Run())
    answer = method.predict(task.observe(one, generators(1)), 0).u[0]
    assert (answer - one.u).norm() / one.u.norm() < 0.01


def pairs(count, generator):
    """Videos of two frames (a phi, b phi) with a, b standard normal and correlation 0.8."""
    a = torch.randn(count, generator=generator)
    b = 0.8 * a + 0.6 * torch.randn(count, generator=generator)
    phi = torch.cos(2 * torch.pi * torch.arange(8) / 8)[:, None].expand(8, 8)
    u = torch.stack([a, b], 1)[..., None, None] * phi  # (B, 2, 8, 8)
    heat = HeatDataset.small()
    grid = replace(heat.grid(2), shape=(8, 8))
    return Trajectories(u[..., None], grid, heat.equation()), a, phi


@pytest.mark.slow
def test_a_gaussian_posterior_has_the_right_mean_and_spread():
    """Given frame a phi, the other one is b phi with b ~ N(0.8 a, 0.6^2)."""
    draw = torch.Generator().manual_seed(0)
    train, _, _ = pairs(4096, draw)
    settings = replace(
        SMOKE,
        architecture=Architecture((1, 4, 4), (48, 64), (1, 1), (2, 3, 3), head_dim=16, mapping_width=32),
        edm=Edm(log_mean=0.8, log_std=1.8, sigma_max=160.0, sampler="dpmpp_2m", steps=20),
        training=Training(steps=2000, batch=32, optimiser=Optimiser("muon", lr=2e-2, schedule="cosine"), ema=0.99),
    )
    method = VideoPDE(settings).fit(train, train[:64], [tasks.FWD_FULL], 0, Run())
    test, a, phi = pairs(128, draw)
    problem = tasks.FWD_FULL.observe(test, generators(128))
    u = method.predict(problem, 0, 8).u[:, :, 1, ..., 0]  # (8, 128, 8, 8)
    b = (u * phi).sum((-1, -2)) / phi.square().sum()  # (8, 128)
    assert (b * a).mean() / a.square().mean() == pytest.approx(0.8, abs=0.08)
    assert (b - 0.8 * a).std() == pytest.approx(0.6, rel=0.1)
    assert b.std(0).mean() == pytest.approx(0.6, rel=0.15)
    assert (u - b[..., None, None] * phi).square().mean().sqrt() < 0.1  # nothing but the pattern
