"""Times forecast from counted work and a machine's rates."""

import json
import re
from dataclasses import replace

import pytest

from benchmark.cli import main
from benchmark.cli.plan_view import show_plan
from benchmark.core import Memory, Work
from benchmark.errors import UserError
from benchmark.planning import counts
from benchmark.planning.estimate import Means
from benchmark.planning.forecast import forecast, precisions
from benchmark.planning.machine import GPUS, Machine, gpu
from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolver
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from tests.benchmark.leaderboard.synthetic import done

ROUND = Machine("round", bf16=4e12, fp32=1e12, bandwidth=1e9, used=0.5, streamed=0.5)


def cell_of(method, task="fwd_full", profile="paper", **changes):
    request = Request((method,), (task,), profile=profile, **changes)
    return Resolver.of(request).resolve(Cell(method, task, "navier_stokes", profile, 0))


def test_arithmetic_and_memory_add_up():
    work = Work(1e12, 1e9)
    assert ROUND.seconds(work, "fp32") == 2 + 2 and ROUND.seconds(work, "bf16") == 0.5 + 1
    assert replace(ROUND, width=1.0).seconds(work, "bf16") == 0.5 + 2


def test_a_gpu_has_its_name_however_it_is_written():
    assert gpu("l40s") is gpu("L40S") is GPUS["L40S"] and gpu("RTX4090") is GPUS["4090"]
    with pytest.raises(UserError, match="'B1000' is not known; expected one of L40S"):
        gpu("B1000")
    assert "40 % of 362 (bfloat16)" in gpu("L40S").assumption and "60 % of 864 GB/s" in gpu("L40S").assumption


def test_what_is_counted_is_multiplied(monkeypatch):
    """Once the fit, and one answer for each sample of each trajectory."""
    monkeypatch.setattr(counts, "fit_work", lambda cell: Work(1e15, 0))
    monkeypatch.setattr(counts, "prediction_work", lambda cell: Work(0, 1e9))
    cell = cell_of("fno", samples=3)
    found = forecast(cell, ROUND)
    assert found.fit_seconds == 2000 and found.prediction_seconds == 100 * 2  # fno has one answer
    assert forecast(cell, ROUND, has_fit=True).seconds == 200
    assert forecast(cell_of("eci", samples=3), ROUND).prediction_seconds == 3 * 100 * 2
    monkeypatch.setattr(counts, "prediction_work", lambda cell: None)
    assert forecast(cell, ROUND) is None


def test_precision_is_that_of_training_and_of_prediction():
    assert [precisions(cell_of(m)) for m in ("videopde", "diffusionpde", "fno", "pinn")] == [
        ("bf16", "bf16"), ("bf16", "fp32"), ("fp32", "fp32"), ("fp32", "fp32")]  # fmt: skip


def test_a_cell_that_nobody_ran_is_forecast(tmp_path, monkeypatch):
    monkeypatch.setattr(counts, "fit_work", lambda cell: Work(1e15, 0))
    monkeypatch.setattr(counts, "prediction_work", lambda cell: Work(1e12, 0))
    monkeypatch.setattr(counts, "memory", lambda cell, videos, most: None)
    places = {"results": tmp_path / "results", "runs": tmp_path / "runs", "data": tmp_path / "data"}
    request = Request(("fno", "kriging"), ("cont_3",), seeds=(0, 1), profile="paper", **places)
    fit, again, *references = (p.estimate for p in plan(request, means=Means(9, lambda cell: ROUND)))
    assert fit.seconds == again.seconds == 2200 and fit.flop == 1e15 + 1e14 and "40 %" not in fit.basis
    assert all(e.seconds is None and e.flop is None for e in references)
    quick = replace(request, profile="laptop")
    assert plan(quick, means=Means(9, lambda cell: ROUND))[0].estimate.seconds == 300  # the profile's budget
    assert plan(quick, means=Means(9, lambda cell: ROUND, named=True))[0].estimate.flop > 0


def test_a_record_of_a_variant_is_better_than_none_and_is_named(tmp_path, capsys):
    for task in ("cont_1", "cont_3"):
        cell = Cell("kriging", task, "navier_stokes", "paper", 0, "train_256")
        write_record(cell.path(tmp_path), done(cell, [1.0]))
    request = Request(("kriging",), ("cont_3",), profile="paper", results=tmp_path, data=tmp_path)
    (planned,) = plan(request)
    assert planned.estimate.seconds and "kriging @ train_256 x cont_3" in planned.estimate.basis
    show_plan({"": [planned]}, as_json=False)
    assert "kriging: the record of kriging @ train_256" in capsys.readouterr().out


def test_a_dry_run_says_what_is_assumed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(counts, "memory", lambda cell, videos, most: None)
    folders = ["--output", str(tmp_path / "r"), "--runs", str(tmp_path / "w"), "--data", str(tmp_path / "d")]
    command = ["run", "--method", "fno", "--task", "cont_3", "--profile", "smoke", "--dry-run", *folders]
    assert main([*command, "--gpu", "H100"]) == 0
    out = capsys.readouterr().out
    assert "forecast for one H100, assumed to reach 40 % of 989" in out and "hours of a device" in out
    assert main([*command, "--gpu", "H100", "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["estimate"]["flop"] > 1e8 and 0 < cell["estimate"]["seconds"] < 10
    assert main([*command, "--gpu", "K80"]) == 2
    assert "expected one of L40S" in capsys.readouterr().err
    assert main(["run", "--method", "fno", "--task", "cont_3", "--gpu", "H100", *folders]) == 2
    assert "--device says where cells run" in capsys.readouterr().err


def test_a_plan_marks_what_does_not_go_into_the_gpu(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(counts, "memory", lambda cell, videos, most: Memory(5e10, 1e9))
    folders = ["--output", str(tmp_path / "r"), "--runs", str(tmp_path / "w"), "--data", str(tmp_path / "d")]
    command = ["run", "--method", "fno", "--task", "cont_3", "--profile", "paper", "--dry-run", *folders, "--gpu"]
    assert main([*command, "L40S"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"fno .* ! \d{5}", out) and "!: more than the 48 GB of one L40S" in out
    assert main([*command, "A100"]) == 0
    assert "!" not in capsys.readouterr().out


@pytest.mark.parametrize("dataset", ["wave_layer", "navier_stokes", "allen_cahn"])
def test_the_forecast_agrees_with_the_papers_day_on_its_gpus(dataset):
    """48 GPU-hours by its table of hyper-parameters, 96 by its text, for 128^2 x 20: a quarter of either at least, at
    most all of it.
    """
    request = Request(("videopde",), ("cont_3",), (dataset,), profile="paper")
    cell = Resolver.of(request).resolve(Cell("videopde", "cont_3", dataset, "paper", 0))
    assert (cell.dataset.sizes.resolution, cell.dataset.sizes.frames) == (128, 20)
    assert counts.fit_key(cell) in counts.stored()
    assert 96 / 4 < forecast(cell, GPUS["L40S"]).fit_seconds / 3600 < 48


def test_counts_are_looked_up_before_they_are_made(monkeypatch):
    cell = cell_of("fno", "cont_3", "smoke")
    monkeypatch.setattr(counts, "_COUNTED", {})
    monkeypatch.setattr(counts, "stored", lambda: {counts.fit_key(cell): {"flop": 3.0, "bytes": 4.0}})
    assert counts.fit_work(cell) == Work(3.0, 4.0) and not counts.counted()
    other = cell_of("fno", "cont_3", "smoke", overrides=("architecture.width=8",))
    assert counts.fit_key(other) != counts.fit_key(cell)
    assert counts.fit_work(other).flop > 100 and list(counts.counted()) == [counts.fit_key(other)]
