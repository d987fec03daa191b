"""Curves and scores where tensorboard and wandb look for them."""

import json
import math

import pytest

from benchmark.cli import main
from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.records.cell import Cell
from benchmark.records.record import MetricScore, Record
from benchmark.running.loggers import check_logger
from benchmark.running.pool import execute
from benchmark.running.watch import Watch

CELL = Cell("fno", "cont_3", "navier_stokes", "smoke", 0)


class Kept:
    def __init__(self):
        self.curves, self.last = [], {}

    def curve(self, step, values):
        self.curves.append((step, dict(values)))

    def scores(self, values):
        self.last = dict(values)

    def close(self):
        self.curves.append("closed")


def write(path, *rows, end=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + end)


def test_a_log_is_passed_on_once_as_it_grows(tmp_path):
    watch = Watch(kept := Kept(), tmp_path)
    told = []
    progress = watch.follow(lambda *words: told.append(words))
    progress("fit", 0.0)  # nothing is there yet
    first, valid = {"step": 5, "loss": 2.0}, {"step": 5, "valid": 3.0}
    write(tmp_path / "log.jsonl", first, valid, end='{"step": 10, "lo')
    progress("step 5", 0.5)
    assert kept.curves == [(5, {"loss": 2.0}), (5, {"valid": 3.0})]
    write(tmp_path / "log.jsonl", first, valid, {"step": 10, "loss": 1.0})
    write(tmp_path / "vae" / "log.jsonl", {"step": 1, "loss": 9.0})
    progress("step 10", 1.0)
    assert kept.curves[2:] == [(10, {"loss": 1.0}), (1, {"vae/loss": 9.0})] and len(told) == 3
    write(tmp_path / "log.jsonl", first, valid)  # resumed: what comes after the last checkpoint is done again
    progress("step 10", 1.0)
    assert len(kept.curves) == 4
    rel_l2, curve = MetricScore("%", 7.0, 6.0, 8.0, [7.0]), MetricScore("%", [1.0], [1.0], [1.0], [])
    watch.finish(
        Record(CELL, "done", metrics={"rel_l2": rel_l2, "frames": curve}, cost={"steps": 4, "fit_cached": True})
    )
    assert kept.last == {"score/rel_l2": 7.0, "cost/steps": 4}


def test_a_logger_that_fails_costs_no_cell(tmp_path, capsys):
    kept = Kept()
    kept.curve = lambda step, values: 1 / 0
    watch = Watch(kept, tmp_path)
    write(tmp_path / "log.jsonl", {"step": 1, "loss": 1.0}, {"step": 2, "loss": 1.0})
    for _ in range(2):
        watch.follow(lambda message, fraction: None)("step", 0.5)
    watch.close()
    assert capsys.readouterr().err.count("nothing more is logged: ZeroDivisionError") == 1


def run_with(log, tmp_path, monkeypatch, **changes):
    monkeypatch.chdir(tmp_path)
    request = Request(
        ("fno",), ("fwd_full",), profile="smoke", device="cpu", overrides=("training.steps=4",), log=log,
        results=tmp_path / "results", runs=tmp_path / "runs", data=tmp_path / "data", save_predictions=0, **changes,
    )  # fmt: skip
    (record,) = execute(request, plan(request))
    assert record.state == "done", record.traceback
    return record


def test_tensorboard_has_the_curve_and_the_scores(tmp_path, monkeypatch):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    record = run_with("tensorboard", tmp_path, monkeypatch)
    folder = tmp_path / "runs/tensorboard" / record.cell.path(tmp_path).relative_to(tmp_path).with_suffix("")
    events = accumulator.EventAccumulator(str(folder)).Reload()
    losses = events.Scalars("fit/loss")
    assert losses[-1].step == 4 and all(math.isfinite(point.value) for point in losses)
    (score,) = events.Scalars("score/rel_l2")
    assert score.value == pytest.approx(record.headline.mean)
    assert "fit/valid" in events.Tags()["scalars"] and "cost/steps" in events.Tags()["scalars"]


@pytest.mark.slow
def test_wandb_keeps_an_offline_run(tmp_path, monkeypatch):
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    record = run_with("wandb", tmp_path, monkeypatch)
    (run,) = (tmp_path / "runs/wandb").glob("offline-run-*/run-*.wandb")
    content = run.read_bytes()
    assert b"score/rel_l2" in content and b"fit/loss" in content and record.cell.task.encode() in content


def test_a_logger_that_is_not_installed_names_the_extra(monkeypatch, capsys):
    monkeypatch.setattr("benchmark.running.loggers.find_spec", lambda name: None)
    assert main(["run", "--method", "mean", "--task", "cont_3", "--log", "tensorboard"]) == 2
    assert "pip install '.[tensorboard]'" in capsys.readouterr().err


def test_one_that_is_installed_is_fine():
    check_logger("json")
