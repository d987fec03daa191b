"""Methods whose predictions take long are predicted in parts, and go on from them with the same numbers."""

from dataclasses import replace

import pytest
import torch

from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolver
from benchmark.running.cell import RunContext, run_cell
from benchmark.running.parts import KeptParts
from tests.benchmark.support import comparable

QUICK = ("training.steps=2", "training.validations=0")
CASES = {
    "diffusionpde_ext": ("cont_3", (*QUICK, "chunk=3", "edm.steps=2")),
    "eci": ("fwd_full", (*QUICK, "chunk=3")),
    "fno": ("long_range", (*QUICK, "chunk=2")),
    "pinn": ("fwd_partial", ("chunk=3", "schedule.adam=3", "schedule.lbfgs=3")),
    "residual_min": ("fwd_full", ("chunk=3", "iterations=3")),
    "solver": ("fwd_partial", ("chunk=3", "stages.iterations=1", "stages.adjoints=4", "linear.kriging.validation=2")),
}


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def saves(monkeypatch):
    """How many parts are made and, from now on, after how many to die; each is written at once."""
    counts = {"made": 0, "die": None}

    def save(keeper, seconds):
        keeper._save()
        counts["made"] += 1
        if counts["made"] == counts["die"]:
            raise Killed

    monkeypatch.setattr(KeptParts, "_save_if_due", save)
    return counts


@pytest.mark.parametrize("name", CASES)
def test_it_goes_on_to_the_same_record(tmp_path, data, saves, name):
    task, overrides = CASES[name]
    asked = Request((name,), (task,), ("navier_stokes",), profile="smoke", device="cpu", overrides=overrides, data=data,
                    results=tmp_path / "results", runs=tmp_path / "whole", samples=2)  # fmt: skip
    cell = Resolver.of(asked).resolve(plan(asked)[0].cell)
    context = RunContext(asked, torch.device("cpu"), "", {})
    whole = run_cell(cell, context)
    parts, saves["made"] = saves["made"], 0
    assert parts > 1
    broken = replace(context, request=replace(asked, runs=tmp_path / "broken"))
    saves["die"] = parts - 1
    with pytest.raises(Killed):
        run_cell(cell, broken)
    saves |= {"made": 0, "die": None}
    told = []
    again = run_cell(cell, replace(broken, progress=lambda *what: told.append(what)))
    assert comparable(again) == comparable(whole) and saves["made"] == 1
    begin = [message for message, _ in told].index("predict")
    assert told[begin][1] == (parts - 1) / parts
    assert begin == 0 or told[begin - 1][1] == 1.0  # so that its time left is not told by what was done before
