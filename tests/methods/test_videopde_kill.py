"""kill -9 while `run --method videopde` trains, then the same command: the same weights, bit by bit."""

import os
import signal
import subprocess
import sys
import time

import pytest

from benchmark.records.files import read_record
from tests.benchmark.support import comparable

STEPS = 400


def start(root, data):
    command = [sys.executable, "-m", "benchmark", "run", "--method", "videopde", "--task", "fwd_full"]
    command += ["--profile", "smoke", "--set", f"training.steps={STEPS}", "--set", "training.checkpoint_seconds=0.1"]
    command += ["--output", root / "results", "--runs", root / "runs", "--data", data]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def folder(root):
    return next(root.glob("runs/smoke/navier_stokes/videopde-s0/fwd_full-*/"), root / "none")


def weights(root):
    return (folder(root) / "state.safetensors").read_bytes()


def record(root):
    (path,) = root.glob("results/smoke/navier_stokes/fwd_full/videopde@*-s0.json")  # other steps: a variant
    return comparable(read_record(path))


@pytest.mark.slow
def test_a_killed_training_ends_with_the_same_weights(tmp_path):
    data, whole, broken = (tmp_path / name for name in ("data", "whole", "broken"))
    assert start(whole, data).wait() == 0
    process = start(broken, data)
    while not list(folder(broken).glob("checkpoint-*[0-9]")):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (folder(broken) / "state.safetensors").exists()
    (checkpoint,) = folder(broken).glob("checkpoint-*[0-9]")
    assert 0 < int(checkpoint.name.rpartition("-")[2]) < STEPS
    assert start(broken, data).wait() == 0
    assert weights(broken) == weights(whole)
    assert record(broken) == record(whole)
