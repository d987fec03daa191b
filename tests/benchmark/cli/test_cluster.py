"""Without a cluster: what can be told before anything is submitted."""

from benchmark.cli import main
from tests.benchmark.support import TOY

TOY_CELL = ["run", "--method", "mean", "--task", "fwd_full", "--dataset", "toy", "--plugin", str(TOY), "--profile",
            "smoke", "--executor", "slurm"]  # fmt: skip


def test_slurm_needs_sbatch(capsys, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert main(TOY_CELL) == 2
    assert "no `sbatch` here; run this on a node of the cluster" in capsys.readouterr().err


def test_a_plan_needs_no_cluster(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    assert main([*TOY_CELL, "--dry-run", "--no-wait", "--output", str(tmp_path), "--data", str(tmp_path)]) == 0
    assert "1 of 1 cells to run" in capsys.readouterr().out
