"""A training set of paper size, much larger than what training may hold of it."""

import json
import os
from statistics import median

import pytest
import torch
from torch import nn

from benchmark.core import Run
from datasets.layout import create_skeleton, recipe, split_path
from datasets.navier_stokes import NavierStokes
from datasets.store import open_split
from methods.blocks.normaliser import Normaliser
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Observations
from methods.blocks.training.loop import Stage
from methods.blocks.training.symmetry import Symmetries
from tasks.observation import CONT_3

MB = 1 << 20
STEPS, BATCH = 200, 16
EARLY, LATE = slice(20, 80), slice(140, 200)  # steps whose memory is compared, 120 apart


def resident() -> float:
    """Of this process, in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MB


def paper_sized(root):
    """13 GB of zeros that take no room on the disk: nothing is written but the file's structure."""
    dataset = NavierStokes(NavierStokes.profiles["paper"])
    for split, runs in (("train", dataset.sizes.train), ("valid", dataset.sizes.valid)):
        path = split_path(dataset, split, root)
        path.parent.mkdir(parents=True, exist_ok=True)
        create_skeleton(path, dataset, runs, dataset.grid(20), "generated", json.dumps(recipe(dataset)))
    return dataset


class Pointwise(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)

    def forward(self, x):
        return self.layer(x)


@pytest.mark.slow
def test_memory_stays_flat_while_a_set_of_many_times_its_size_is_read(tmp_path):
    dataset = paper_sized(tmp_path)
    train, valid = (open_split(dataset, split, tmp_path) for split in ("train", "valid"))
    size = split_path(dataset, "train", tmp_path).stat().st_size / MB
    before, held = resident(), []
    normaliser = Normaliser.fit(train)

    def losses(network, batch, draws):
        if network.training:
            held.append(resident())
        x = torch.cat(
            [batch.problem.mask.float(), normaliser.encode_seen(batch.problem.values, batch.problem.mask)], -1
        )
        return (network(x) - normaliser.encode(batch.truth.u) + 1).square().flatten(1).mean(1)

    training = Training(steps=STEPS, batch=BATCH, ema=0.0, precision="32-true", validations=2)
    stage = Stage(Pointwise(), Observations([CONT_3]), losses, training, validation=16)
    stage.fit(train, valid, 0, Run(folder=tmp_path / "fit"), Symmetries())
    batch = BATCH * 20 * 128**2 * 4 / MB
    grown = (median(held[LATE]) - median(held[EARLY])) / batch
    print(f"file {size:.0f} MB, batch {batch:.0f} MB, resident {before:.0f} MB before, then {held[0]:.0f}, "
          f"at most {max(held):.0f} MB, grown by {grown:.2f} batches")  # fmt: skip
    assert len(held) == STEPS and size > 12_000
    assert grown < 4  # where one step in ten kept its batch it would be 12
    assert max(held) - before < 40 * batch < size / 15
