from benchmark.frame import read_frame
from benchmark.records import Cell, new_record, write_json


def test_records_become_a_tidy_table(tmp_path):
    done, failed = (Cell(method, "cont_3", "navier_stokes", "smoke", 0) for method in ("mean", "solver"))
    metrics = {
        "rel_l2": {"unit": "%", "mean": 2.0, "low": 1.0, "high": 3.0, "values": [1.0, 3.0]},
        "rel_l2_curve": {"unit": "%", "mean": [1.0], "low": [1.0], "high": [1.0], "values": [[1.0], [1.0]]},
    }
    write_json(done.path(tmp_path), new_record(done, "done", metrics=metrics))
    write_json(failed.path(tmp_path), new_record(failed, "failed", reason="no luck"))
    frame = read_frame(tmp_path)
    assert list(frame.query("method == 'mean'").value) == [1.0, 3.0]
    assert list(frame.query("method == 'solver'").state) == ["failed"]
    assert frame.groupby("method").value.mean()["mean"] == 2.0
    assert read_frame(tmp_path, "smoke").equals(frame)
