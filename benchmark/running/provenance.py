"""Where a number comes from: the suite's commit, package versions, the machine, the data and its masks."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.records.record import SCORER_VERSION

if TYPE_CHECKING:
    from torch import Tensor

    from benchmark.planning.resolve import Resolved
    from benchmark.running.cell import RunContext
    from datasets.store import StoredTrajectories

ROOT = Path(__file__).resolve().parents[2]
SUITE = "pde-video-benchmark"
PACKAGES = (SUITE, "torch", "numpy", "scipy", "h5py", "safetensors", "neuraloperator", "deepxde", "natten")
SOURCES = ("benchmark", "datasets", "methods", "tasks", "pyproject.toml")  # results may change without being "dirty"


def now() -> str:
    """UTC, to the microsecond; as text it sorts by time."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def describe(cell: Resolved, context: RunContext) -> dict[str, Any]:
    """The provenance that every record has, done or not."""
    import torch

    request = context.request
    return {
        **context.code,
        "packages": packages(),
        "hardware": hardware(),
        "device": str(context.device),
        "threads": torch.get_num_threads(),
        **({} if cell.cell.profile == "smoke" else {"matmul_gflops": round(matmul_rate(str(context.device)), 1)}),
        "seeds": {"fit": cell.cell.seed, "predict": cell.cell.seed, "mask": request.mask_seed},
        "plugins": {path.name: file_digest(path) for path in request.plugins},
        "method_version": cell.method.version,
        "dataset_version": cell.dataset.version,
        "scorer_version": SCORER_VERSION,
        "settings_hash": cell.key,
        "created": now(),
    }


def data_used(splits: Mapping[str, StoredTrajectories]) -> dict[str, Any]:
    """Which data a record's numbers rest on."""
    parts = {
        name: {"fingerprint": stored.fingerprint, "source": stored.source, "size": len(stored)}
        for name, stored in splits.items()
    }
    test = parts["test"]
    return {"data": parts, "data_fingerprint": test["fingerprint"], "data_source": test["source"]}


def mask_hash(mask: Tensor) -> str:
    """sha256 over the test masks, to prove that two records saw the same sensors."""
    import numpy as np

    shape = str(tuple(mask.shape)).encode()
    return hashlib.sha256(shape + np.packbits(mask.cpu().numpy()).tobytes()).hexdigest()


def code(root: Path = ROOT) -> dict[str, Any]:
    """The commit of the suite's own checkout and whether its sources differ from it; None where it is no checkout."""
    top = _git(root, "rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() != root.resolve():
        return {"commit": None, "dirty": None}
    status = _git(root, "status", "--porcelain", "--", *SOURCES)
    return {"commit": _git(root, "rev-parse", "HEAD"), "dirty": bool(status)}


def packages(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Versions of Python and of those packages that are installed."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def hardware() -> dict[str, Any]:
    import torch

    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {"cpu": cpu_model(), "cores": cores(), "gpus": gpus, "system": f"{platform.system()} {platform.machine()}"}


@cache
def matmul_rate(device: str, seconds: float = 2.0) -> float:
    """GFLOP/s of float32 matrix products here and now, with the threads and beside the work that there are."""
    import torch

    a = torch.ones(512, 512, device=device)
    (a @ a)[0, 0].item()  # whatever is made once
    done, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        (a @ a)[0, 0].item()  # waits for a GPU
        done += 1
    return 2 * 512**3 * done / spent / 1e9


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), platform.machine())


def cores() -> int:
    """Those this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
