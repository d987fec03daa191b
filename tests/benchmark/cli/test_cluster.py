"""Without a cluster: what can be told before anything is submitted."""

import pytest

from benchmark.cli import main
from tests.benchmark.support import TOY

TOY_CELL = ["run", "--method", "mean", "--task", "fwd_full", "--dataset", "toy", "--plugin", str(TOY), "--profile",
            "smoke", "--executor", "slurm"]  # fmt: skip


def test_slurm_needs_sbatch(capsys, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert main(TOY_CELL) == 2
    assert "no `sbatch` here; run this on a node of the cluster" in capsys.readouterr().err


@pytest.fixture
def asked(monkeypatch, tmp_path, capsys):
    """What two paper cells ask of Slurm, whose times are counted and not recorded, and nobody may count now."""
    monkeypatch.setattr("benchmark.cli.cluster.shutil.which", lambda name: name)
    monkeypatch.setattr("benchmark.running.slurm.submit.read_queue", dict)
    monkeypatch.setattr("benchmark.planning.counts.memory", lambda *cell: None)
    times = {}

    def submit(array, request, since):
        times.update({p.cell.method: array.resources.time for p in array.planned})
        return "1"

    def ask(*more):
        folders = [word for name in ("output", "runs", "data") for word in (f"--{name}", str(tmp_path / name))]
        command = ["run", "--method", "deeponet,videopde", "--task", "cont_3", "--profile", "paper", *folders]
        assert main([*command, "--executor", "slurm", "--no-wait", *more]) == 0, capsys.readouterr().err
        return times

    monkeypatch.setattr("benchmark.running.slurm.submit._submit", submit)
    return ask


def test_times_are_forecast_for_a_known_gpu(asked, tmp_path):
    assert asked() == {"deeponet": "1440m", "videopde": "1440m"}
    assert asked("--gpu", "L40S") == {"deeponet": "30m", "videopde": "1440m"}
    file = tmp_path / "cluster.yaml"
    file.write_text("cells: [{method: deeponet, gpu_type: RTX4090}]")
    assert asked("--cluster", str(file)) == {"deeponet": "30m", "videopde": "1440m"}


def test_a_plan_needs_no_cluster(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    assert main([*TOY_CELL, "--dry-run", "--no-wait", "--output", str(tmp_path), "--data", str(tmp_path)]) == 0
    assert "1 of 1 cells to run" in capsys.readouterr().out
