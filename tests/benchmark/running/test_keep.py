from pathlib import Path

import numpy as np
import pytest

from benchmark.cli import main
from benchmark.records.folders import kept_in, study_of
from benchmark.records.predictions import predictions_path, read_predictions
from tests.benchmark.running.test_cell import run
from tests.benchmark.support import TOY, toy_request

STUDY = """
methods: [learn]
tasks: [fwd_full]
datasets: [toy]
variants:
  few: {dataset.scale: 2.0}
  more: {dataset.scale: 3.0}
"""


def test_what_is_kept_is_what_was_scored(tmp_path):
    request = toy_request(tmp_path, samples=3)
    (record,) = run(request)
    kept = read_predictions(predictions_path(request.runs, record.cell))
    assert kept.key == record.key and len(kept) == 4 and kept.samples.shape[0] == 3
    difference, size = (np.linalg.norm(a.reshape(4, -1), axis=1) for a in (kept.prediction - kept.truth, kept.truth))
    assert 100 * difference / size == pytest.approx(record.metrics["rel_l2"].values, rel=1e-2)
    assert (kept.values[kept.mask] != 0).any() and (kept.values[~kept.mask] == 0).all()


def test_what_is_kept_in_part_has_the_errors_of_the_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmark.records.thin.WHOLE", 0)
    monkeypatch.setattr("benchmark.records.thin.POINTS", 4)
    request = toy_request(tmp_path)
    (record,) = run(request)
    kept = read_predictions(predictions_path(request.runs, record.cell))
    assert kept.thinned.step > 1 and list(kept.thinned.errors) == record.headline.values[:4]


def test_the_number_kept_moves_no_key_and_zero_keeps_none(tmp_path):
    (two,) = run(toy_request(tmp_path, save_predictions=2))
    path = predictions_path(tmp_path / "runs", two.cell)
    assert len(read_predictions(path)) == 2
    (none,) = run(toy_request(tmp_path, save_predictions=0))
    assert none.key == two.key and not path.exists()


def test_without_room_the_record_is_made_all_the_same(tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("benchmark.running.cell.keep_predictions", full)
    (record,) = run(toy_request(tmp_path))
    assert record.state == "done" and "No space left" in capsys.readouterr().err


def test_the_variants_of_a_study_keep_theirs_apart_from_the_plain_cell_s(tmp_path, capsys):
    def do(*arguments):
        return main([*map(str, arguments), "--runs", str(tmp_path / "runs")]), capsys.readouterr().out

    (tmp_path / "scales.yaml").write_text(STUDY)
    results = tmp_path / "results"
    common = ("--profile", "smoke", "--output", results, "--data", tmp_path / "data", "--plugin", TOY)
    assert do("run", "--method", "learn", "--task", "fwd_full", "--dataset", "toy", *common)[0] == 0
    (plain,) = (tmp_path / "runs").rglob("*.predictions.npz")
    before = plain.read_bytes()
    assert do("run", "--suite", tmp_path / "scales.yaml", *common)[0] == 0
    assert plain.read_bytes() == before
    code, out = do("verify", results, "--tier", "predictions")
    assert code == 0 and "3 checked, 0 with faults" in out
    tree = results / "studies/scales/few"
    assert do("verify", tree, "--tier", "predictions") == (0, "predictions: 1 checked, 0 with faults\n")
    assert f"{tmp_path}/runs/studies/scales/few" in do("status", "--results", tree, "--logs", "learn")[1]
    assert do("records", "remove", "--results", tree, "--method", "learn", "--yes", "--plugin", TOY)[0] == 0
    code, out = do("verify", results, "--tier", "predictions")
    left = sorted(path.relative_to(tmp_path / "runs").parts[:3] for path in (tmp_path / "runs").rglob("*.npz"))
    assert code == 0 and "2 checked" in out
    assert left == [plain.relative_to(tmp_path / "runs").parts[:3], ("studies", "scales", "more")]


def test_a_study_s_tree_is_told_by_its_place(tmp_path, monkeypatch):
    place, runs = Path("results/studies/s"), Path("runs")
    assert study_of(place / "v") == ("s", "v") and study_of(place) is None and study_of(Path("results")) is None
    assert kept_in(runs, place / "v") == Path("runs/studies/s/v") and kept_in(runs, place) == runs
    (tmp_path / place).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / place)
    assert study_of(Path("v")) == ("s", "v")  # seen from inside
