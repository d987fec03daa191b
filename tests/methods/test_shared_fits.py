"""Two processes learn what one does: the same losses at every step, and the same weights, to rounding."""

import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from benchmark.planning.plan import plan
from benchmark.planning.resolve import Resolver
from datasets.generate import ensure_data
from methods import METHODS
from methods.blocks.training.checkpoint import read_log
from tests.methods.shared_fits import CASES, fit, request

pytestmark = pytest.mark.ddp
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    for case in ("fno", "a steady problem"):
        asked = request(case, root)
        ensure_data(Resolver.of(asked).resolve(plan(asked)[0].cell).dataset, root, ("train", "valid"))
    return root


@pytest.fixture(scope="module")
def shared(data, tmp_path_factory):
    """All cases, one after the other, in two processes."""
    folder = tmp_path_factory.mktemp("shared")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    subprocess.run([*launcher, "-m", "tests.methods.shared_fits", data, folder], cwd=ROOT, check=True, timeout=1200)
    return folder


@pytest.mark.parametrize("case", CASES)
def test_two_processes_learn_what_one_does(tmp_path, data, shared, case):
    method = fit(case, data, tmp_path)
    logs = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("log.jsonl"))
    assert logs and logs == sorted(path.relative_to(shared / case) for path in (shared / case).rglob("log.jsonl"))
    for log in logs:
        rows, others = (read_log((folder / log).parent) for folder in (tmp_path, shared / case))
        assert [row["step"] for row in rows] == [row["step"] for row in others]
        for row, other in zip(rows, others, strict=True):
            for name in {"loss", "valid"} & row.keys():
                assert other[name] == pytest.approx(row[name], rel=1e-5), f"{name} at step {row['step']}"
    weights = load_file(shared / case / "state.safetensors")
    for name, value in method.state().items():
        if name != "flop_":  # each tensor as a whole: Adam turns rounding of a gradient near zero into a step
            assert (weights[name] - value).abs().square().sum() <= 1e-6 * value.abs().square().sum(), name


def test_every_method_that_shares_fits_is_among_them(data):
    asked = request("fno", data)
    assert {name for name in METHODS if Resolver.of(asked).method(name).shares_fits} == {
        method for method, *_ in CASES.values()
    }
