import numpy as np
import pytest

from benchmark.records.predictions import predictions_path, read_predictions
from tests.benchmark.running.test_cell import run
from tests.benchmark.support import toy_request


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
