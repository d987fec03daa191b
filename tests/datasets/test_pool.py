"""Workers of a pool among signals."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress

import pytest
import torch

from datasets import generate
from datasets.generate import ensure_data
from datasets.store import open_split
from tests.datasets import small

MAKING = """
import sys
from pathlib import Path
from datasets import generate
from tests.datasets import small
generate.POOL_AFTER = -1.0
type(small.navier_stokes()).tile = 2
generate.ensure_data(small.navier_stokes(), Path(sys.argv[1]), ("train",))
"""


def warn_children(parent: int) -> None:
    """What Slurm sends to all processes of a job, for those of a pool."""
    for task in os.listdir(f"/proc/{parent}/task"):
        with open(f"/proc/{parent}/task/{task}/children") as file:
            children = map(int, file.read().split())
        for child in children:
            with open(f"/proc/{child}/cmdline") as words:
                if "multiprocessing" in words.read():
                    os.kill(child, signal.SIGTERM)
                    os.kill(child, signal.SIGUSR2)


def test_warnings_of_slurm_are_not_for_a_pool(tmp_path, monkeypatch):
    monkeypatch.setattr(type(small.navier_stokes()), "tile", 2)
    ensure_data(small.navier_stokes(), tmp_path / "quiet", ("train",))
    process = subprocess.Popen([sys.executable, "-c", MAKING, str(tmp_path / "warned")])
    try:
        end = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < end:
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                warn_children(process.pid)
            time.sleep(0.1)
        assert process.poll() == 0
    finally:
        process.kill()
        process.wait()
    quiet, warned = (open_split(small.navier_stokes(), "train", tmp_path / name)[:].u for name in ("quiet", "warned"))
    assert torch.equal(quiet, warned)


def test_a_pool_that_lost_a_worker_ends_the_others(monkeypatch):
    """They heed their parent, else it would wait for hours."""

    def kill_first():
        while len(workers := multiprocessing.active_children()) < 2:
            time.sleep(0.05)
        os.kill(min(worker.pid for worker in workers), signal.SIGKILL)

    began, endless = time.monotonic(), small.navier_stokes(max_dt=1e-7)
    threading.Thread(target=kill_first, daemon=True).start()
    with pytest.raises(BrokenProcessPool):
        list(generate._pooled(endless, "train", [[0, 1], [2, 3]], 4, 2))
    assert time.monotonic() - began < 60
