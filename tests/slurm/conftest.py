"""These tests need a Slurm that takes jobs; the one of `start.sh` is found without SLURM_CONF."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.slurm.support import Desk

START = Path(__file__).with_name("start.sh")
OWN = Path("/tmp/benchmark-slurm/slurm.conf")


@pytest.fixture(scope="session", autouse=True)
def slurm():
    if "SLURM_CONF" not in os.environ and OWN.exists():
        os.environ["SLURM_CONF"] = str(OWN)
    try:
        found = subprocess.run(["sinfo", "--noheader", "--format=%P %a"], capture_output=True, text=True, timeout=30)
        answer = found.stdout + found.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        answer = str(error)
    if "low* up" not in answer or "high up" not in answer:
        pytest.fail(
            f"no Slurm with the partitions low and high here; start it as root: {START}\n{answer}", pytrace=False
        )


@pytest.fixture
def desk(tmp_path, capsys, monkeypatch):
    """A folder whose name is no trouble to a shell only if it is quoted; jobs that are left over are ended."""
    folder = tmp_path / "a désk"
    folder.mkdir()
    monkeypatch.setenv("TOY_LOG", str(folder / "toy.log"))
    monkeypatch.setenv("SLOW_FOLDER", str(folder))
    yield Desk(folder, capsys)
    for batch in folder.glob("*/runs/slurm/*"):
        subprocess.run(["scancel", "--quiet", f"--name={batch.name}"], check=False)
