"""Two processes learn what one does: the same losses at every step, and the same weights, to rounding."""

import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from benchmark.planning.resolve import Resolver
from methods import METHODS
from tests.methods.shared_fits import CASES, check_alike, fit, make_data, request

pytestmark = pytest.mark.ddp
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("data"))


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
    check_alike(tmp_path, method.state(), shared / case, load_file(shared / case / "state.safetensors"))


def test_every_method_that_shares_fits_is_among_them(data):
    asked = request("fno", data)
    assert {name for name in METHODS if Resolver.of(asked).method(name).shares_fits} == {
        method for method, *_ in CASES.values()
    }
