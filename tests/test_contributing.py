"""The examples in CONTRIBUTING.md work as printed."""

import hashlib
import re
from pathlib import Path

import pytest
import yaml

from benchmark.cli import main
from benchmark.planning.suites import read_suite

TEXT, README = ((Path(__file__).parent.parent / name).read_text() for name in ("CONTRIBUTING.md", "README.md"))
METHOD, TASK, DATASET = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def folders(tmp_path):
    return [f"--{name}={tmp_path / name}" for name in ("output", "runs", "data")]


def save(tmp_path, name: str, code: str) -> str:
    assert f"`{name}.py`" in TEXT and f"in {len(code.splitlines())} lines" in TEXT
    path = tmp_path / f"{name}.py"
    path.write_text(code)
    return str(path)


def table(capsys, tmp_path, *arguments: str) -> str:
    capsys.readouterr()
    assert main(["leaderboard", "--profile", "smoke", "--results", str(tmp_path / "output"), *arguments]) == 0
    return capsys.readouterr().out.partition("## Overview")[0]


def test_the_method_passes_the_gate_and_runs(tmp_path, capsys, folders):
    path = save(tmp_path, "tiny_cnn", METHOD)
    assert f"{len(METHOD.splitlines())} lines" in README
    assert main(["check", path, folders[-1]]) == 0, capsys.readouterr().out
    assert "all checks passed" in capsys.readouterr().out
    assert main(["describe", "tiny_cnn", "--plugin", path]) == 0
    said = capsys.readouterr().out
    assert "parameters: known after a fit" in said
    assert f"sha256 {hashlib.sha256(METHOD.encode()).hexdigest()} of its source" in said
    request = ["run", "--method", "tiny_cnn,nearest", "--task", "cont_3", "--profile", "smoke", "--plugin", path]
    assert main([*request, *folders]) == 0
    assert "--include tiny_cnn" in capsys.readouterr().out and "leaderboard --include tiny_cnn" in TEXT
    assert "| tiny_cnn " in table(capsys, tmp_path, "--include", "tiny_cnn")


def test_the_task_is_described_run_and_shown(tmp_path, capsys, folders):
    path = save(tmp_path, "clouds", TASK)
    assert main(["describe", "clouds", "--plugin", path, "--profile", "smoke"]) == 0
    said = capsys.readouterr().out
    assert "radius: 0.2" in said and "source: an example" in said and "VideoPDE" not in said
    request = ["run", "--method", "mean,nearest", "--task", "clouds", "--profile", "smoke", "--plugin", path, *folders]
    assert main(request) == 0
    assert main([*request, "--set", "task.radius=0.3", "--name", "large"]) == 0
    rows = table(capsys, tmp_path, "--task", "clouds", "--include", "large")
    errors = dict(re.findall(r"\| (nearest(?: @ large)?) +\| +\*?([\d.]+)", rows))
    assert "navier_stokes clouds" in rows and float(errors["nearest"]) < float(errors["nearest @ large"])


def test_the_dataset_is_verified_run_and_shown(tmp_path, capsys, folders):
    path = save(tmp_path, "heat", DATASET)
    assert main(["data", "generate", "heat", "--plugin", path, "--profile", "smoke", folders[-1]]) == 0
    methods = "mean,kriging,solver,residual_min"
    request = ["run", "--method", methods, "--task", "fwd_full", "--dataset", "heat", "--profile", "smoke"]
    assert main([*request, "--plugin", path, *folders]) == 0
    rows = table(capsys, tmp_path, "--dataset", "heat")
    assert re.search(r"\| +heat fwd_full \|", rows) and re.search(r"\| solver +\| \*<0.01\*", rows)


def test_the_suite_can_be_read(tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    path = tmp_path / "sensors.yaml"
    path.write_text(text)
    assert read_suite(path)["methods"] == tuple(yaml.safe_load(text)["methods"])
