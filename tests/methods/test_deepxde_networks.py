"""deepxde's networks and samplers work, and importing it leaves the process and the home directory alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from methods.blocks.networks.deepxde import deeponet, fnn, load_deepxde, unit_points

ROOT = Path(__file__).parents[2]

UNTOUCHED = """
import os, random, sys, warnings
import numpy as np
import torch

random.seed(1), np.random.seed(1), torch.manual_seed(1)
{before}
def process():
    return {{
        "environment": dict(os.environ), "filters": list(warnings.filters), "streams": (sys.stdout, sys.stderr),
        "device": torch.get_default_device(), "dtype": torch.get_default_dtype(), "grad": torch.is_grad_enabled(),
        "random": random.getstate(), "numpy": str(np.random.get_state()), "torch": torch.get_rng_state().tolist(),
        "modes": torch._C._len_torch_function_stack(), "threads": torch.get_num_threads(),
    }}
from methods.blocks.networks.deepxde import deeponet, fnn, load_deepxde, unit_points
assert "deepxde" not in sys.modules, "imported before it is used"
old = process()
deepxde = load_deepxde()
{simulate}
fnn([3, 8, 2], "tanh", 0), deeponet([4, 8], [3, 8], "relu", 0)
unit_points(7, 3, "LHS", 0), unit_points(7, 3, "Sobol", 0)
new = process()
changed = [k for k in old if old[k] != new[k]]
assert not changed, changed
assert deepxde.backend.backend_name == "pytorch"
"""


def in_a_subprocess(home: Path, environment: dict[str, str], before: str = "", simulate: str = "") -> None:
    keep = {k: v for k, v in os.environ.items() if not k.startswith(("DDE", "MPL", "XDG", "OMPI"))}
    code = UNTOUCHED.format(before=before, simulate=simulate)
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=keep | environment | {"HOME": str(home), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert (run.stdout, run.stderr) == ("", "")
    assert list(home.rglob("*")) == []


def test_importing_it_touches_nothing(tmp_path):
    in_a_subprocess(tmp_path, {})


def test_a_foreign_backend_choice_and_open_mpi_are_overruled_for_the_import_alone(tmp_path):
    in_a_subprocess(tmp_path, {"DDE_BACKEND": "jax", "OMPI_COMM_WORLD_SIZE": "2"})


def test_the_default_device_is_put_back_where_a_gpu_is_found(tmp_path):
    """The branch of the import that runs on a machine with a GPU; the tensors made after it are on the CPU."""
    in_a_subprocess(
        tmp_path,
        {},
        before="available, torch.cuda.is_available = torch.cuda.is_available, lambda: True",
        simulate="torch.cuda.is_available = available; assert torch.zeros(1).device.type == 'cpu'",
    )


def test_a_device_that_holds_around_it_ends_with_its_block():
    """As parameters are counted: the first network of a process may be made without numbers."""
    code = """if True:
        import torch
        from methods.blocks.networks.deepxde import contained, fnn
        with torch.device("meta"):
            fnn([3, 8, 2], "tanh", 0)
        for _ in range(2):
            with contained():
                pass
            assert torch.zeros(1).device.type == torch.get_default_device().type == "cpu"
        assert torch._C._len_torch_function_stack() == 0
    """
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)


def test_a_network_is_a_function_of_its_seed():
    a, b, c = (fnn([3, 8, 8, 2], "tanh", seed) for seed in (0, 0, 1))
    assert all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert not torch.equal(next(a.parameters()), next(c.parameters()))
    assert a(torch.zeros(5, 3)).shape == (5, 2)


def test_deeponet_is_the_inner_product_of_branch_and_trunk():
    net = deeponet([6, 8, 4], [3, 8, 4], "tanh", 0)
    a, x = torch.randn(2, 6), torch.randn(7, 3)
    expected = net.branch(a) @ torch.tanh(net.trunk(x)).T + net.b[0]
    torch.testing.assert_close(net((a, x)), expected)


def test_deeponet_takes_a_branch_of_our_own_and_several_outputs():
    branch = nn.Sequential(nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 12))
    net = deeponet((16, branch, 12), [3, 8, 12], "gelu", 0, outputs=2, strategy="split_both")
    assert net((torch.randn(2, 16), torch.randn(7, 3))).shape == (2, 7, 2)
    assert all(isinstance(v, torch.Tensor) for v in net.state_dict().values())


def test_several_outputs_need_a_strategy():
    with pytest.raises(ValueError, match="strategy"):
        deeponet([6, 8, 4], [3, 8, 4], "tanh", 0, outputs=2)


@pytest.mark.parametrize("sampler", ["pseudo", "LHS", "Halton", "Hammersley", "Sobol"])
def test_points_fill_the_unit_cube(sampler):
    points = unit_points(100, 3, sampler, seed=0)
    assert points.shape == (100, 3) and points.dtype == torch.float32
    assert points.min() >= 0 and points.max() <= 1
    assert torch.allclose(points.mean(0), torch.full((3,), 0.5), atol=0.12)
    assert torch.equal(points, unit_points(100, 3, sampler, seed=0))
    seeded = sampler in ("pseudo", "LHS")
    assert torch.equal(points, unit_points(100, 3, sampler, seed=1)) != seeded


def test_a_package_that_runs_another_backend_is_refused(monkeypatch):
    deepxde = load_deepxde()
    monkeypatch.setattr(deepxde.backend, "backend_name", "jax")
    load_deepxde.cache_clear()
    with pytest.raises(ImportError, match="jax"):
        load_deepxde()
    load_deepxde.cache_clear()
