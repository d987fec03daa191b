"""A small fit with everything that could break a resume: dropout, draws, two optimisers, a schedule, averages.

    python -m tests.methods.training_case FOLDER KIND [SECONDS]    trains in FOLDER, SECONDS of idling a step

KIND `noisy` is that. `shared` has no batch norm, so that the processes torchrun starts may share its batches, which are
of an odd size; `pieces` takes two examples of them at a time.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from benchmark.core import Grid, Run, Trajectories
from methods.blocks.training.batches import ShuffledBatches
from methods.blocks.training.budget import Training
from methods.blocks.training.loop import fit_loop
from methods.blocks.training.optimiser import Optimiser
from methods.blocks.training.sharing import normal
from tests.methods.heat import Heat

SETTINGS = {
    "noisy": Training(
        steps=120,
        batch=4,
        optimiser=Optimiser(name="muon", lr=3e-3, schedule="cosine", warmup=50),
        ema=0.9,
        precision="32-true",
        validations=24,
        checkpoint_seconds=0.0,
    ),
    "shared": Training(
        steps=12, batch=5, optimiser=Optimiser(name="muon", lr=3e-3), ema=0.5, precision="32-true", validations=2
    ),
}
SETTINGS["pieces"] = replace(SETTINGS["shared"], at_once=2)


def data(count=10, seed=0):
    """Frame 1 is a linear function of frame 0."""
    first = torch.randn(count, 1, 4, 4, 1, generator=torch.Generator().manual_seed(seed))
    u = torch.cat([first, 0.8 * first.roll(1, dims=2)], dim=1)
    return Trajectories(u, Grid((4, 4), (1.0, 1.0), (0.0, 1.0), "periodic"), Heat())


def model(dropout=0.0, norm=True):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        middle = [nn.BatchNorm1d(32) if norm else nn.Identity(), nn.Dropout(dropout), nn.GELU()]
        return nn.Sequential(nn.Linear(16, 32), *middle, nn.Linear(32, 16))


def plain_loss(network, batch, draws):
    x, y = (batch.u[:, t].flatten(1) for t in (0, 1))
    return (network(x) - y).square().mean()


def noisy_loss(network, batch, draws):
    x, y = (batch.u[:, t].flatten(1) for t in (0, 1))
    x = x + 0.1 * normal(x.shape, draws)
    return (network(x) - y).square().mean()


def validate(network):
    return float(plain_loss(network, data(6, seed=1), None).detach())


def fit(folder, kind, idle=0.0, **run):
    network = model(0.2, norm=kind == "noisy")

    def loss(*arguments):
        time.sleep(idle)
        return noisy_loss(*arguments)

    settings = SETTINGS[kind]
    batches = ShuffledBatches(data(), settings.batch, seed=5)
    return network, fit_loop(network, loss, batches, settings, Run(folder=folder, **run), 5, validate)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if "RANK" in os.environ:
        torch.distributed.init_process_group("gloo")
    fit(Path(sys.argv[1]), sys.argv[2], *map(float, sys.argv[3:]))
