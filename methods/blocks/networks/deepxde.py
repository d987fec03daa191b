"""Networks and point samplers of deepxde (Lu et al., SIAM Review 2021), without what importing it does to a process.

Imported plainly, deepxde writes `~/.deepxde/config.json`, lets matplotlib write to the home directory, prints to
stderr, makes the GPU torch's default device, and refuses to start under Open MPI. Its `grad` module keeps a cache that
only its own `Model` empties, so nothing here uses it. The networks are ordinary modules.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import io
import os
import random
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Literal
from unittest import mock

import numpy as np
import torch
from torch import Tensor, nn

Sampler = Literal["pseudo", "LHS", "Halton", "Hammersley", "Sobol"]
Outputs = Literal["independent", "split_both", "split_branch", "split_trunk"]


@functools.cache
def load_deepxde() -> ModuleType:
    """The package with its PyTorch backend; environment, home directory, torch and the streams stay as they were."""
    with contained():
        deepxde = importlib.import_module("deepxde")
        backend = importlib.import_module("deepxde.backend").backend_name
    if backend != "pytorch":
        raise ImportError(f"deepxde: expected its pytorch backend, but it was imported with {backend} before")
    return deepxde


@contextlib.contextmanager
def contained() -> Iterator[None]:
    """Whatever runs inside finds the environment deepxde needs, is not heard, and leaves no trace in the process."""
    with (
        _environment({"DDE_BACKEND": "pytorch", "OMPI_COMM_WORLD_SIZE": None, **_plot_folder()}),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
        _torch_defaults(),
        _random_state(),
    ):
        yield


def fnn(layer_sizes: Sequence[int], activation: str, seed: int, initializer: str = "Glorot normal") -> nn.Module:
    """A fully connected network, a function of its arguments alone: (N, layer_sizes[0]) -> (N, layer_sizes[-1])."""
    deepxde = load_deepxde()
    with _seeded(seed):
        return deepxde.nn.FNN(list(layer_sizes), activation, initializer)


def deeponet(
    branch: Sequence[int] | tuple[int, nn.Module],
    trunk: Sequence[int],
    activation: str,
    seed: int,
    outputs: int = 1,
    strategy: Outputs | None = None,
    initializer: str = "Glorot normal",
) -> nn.Module:
    """DeepONetCartesianProd: ((B, branch[0]), (N, trunk[0])) -> (B, N), or (B, N, outputs).

    `branch` lists the widths of an FNN, or is (m, module) with a module of your own that maps (B, m) to (B, p); with a
    `split_*` strategy of several outputs its width comes third, (m, module, p). A module keeps the weights it has.
    """
    if outputs > 1 and strategy is None:
        raise ValueError(f"deeponet: {outputs} outputs need a strategy, one of {Outputs.__args__}")
    deepxde = load_deepxde()
    with _seeded(seed):
        return deepxde.nn.DeepONetCartesianProd(
            list(branch), list(trunk), activation, initializer, num_outputs=outputs, multi_output_strategy=strategy
        )


def unit_points(count: int, dimension: int, sampler: Sampler, seed: int) -> Tensor:
    """Points in the unit cube (count, dimension), float32. Halton, Hammersley and Sobol do not depend on the seed."""
    sample = importlib.import_module(f"{load_deepxde().__name__}.geometry.sampler").sample
    with _random_state(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Sobol points are only balanced in powers of two: said on every other count
        np.random.seed(seed % 2**32)
        return torch.from_numpy(sample(count, dimension, sampler))


def _plot_folder() -> dict[str, str]:
    """deepxde imports pyplot, which keeps its font list in the home directory unless told where else."""
    if "MPLCONFIGDIR" in os.environ or "matplotlib" in sys.modules:
        return {}
    folder = tempfile.mkdtemp(prefix="matplotlib-")  # matplotlib remembers it for as long as the process lives
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return {"MPLCONFIGDIR": folder}


@contextlib.contextmanager
def _environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """`changes` while inside; None removes a variable. The rest of the environment is put back too."""
    before = dict(os.environ)
    for key, value in changes.items():
        os.environ.pop(key, None)
        if value is not None:
            os.environ[key] = value
    try:
        yield
    finally:
        for key in set(os.environ) - set(before):
            del os.environ[key]
        os.environ.update(before)


@contextlib.contextmanager
def _torch_defaults() -> Iterator[None]:
    """Nobody inside sets a default device: put back, it would outlive a `with torch.device(...)` around all this."""
    dtype = torch.get_default_dtype()
    try:
        with mock.patch.object(torch, "set_default_device"):
            yield
    finally:
        torch.set_default_dtype(dtype)


@contextlib.contextmanager
def _random_state() -> Iterator[None]:
    """The global generators of Python, numpy and torch (CPU) come out as they went in."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])


@contextlib.contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """deepxde's initialisers draw from torch's global CPU generator; modules are made there, in float32."""
    with _random_state(), torch.device("cpu"):
        torch.default_generator.manual_seed(seed)
        yield
