"""Errors at paper size come from records: the profile's own, else the variant with the most training data."""

from dataclasses import replace
from pathlib import Path

from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from benchmark.records.record import MetricScore, Record
from benchmark.tools.calibrate import DEGENERATE, _row, recorded_error, verdict

CELL = Cell("kriging", "cont_3", "navier_stokes", "paper", 0)


def store(root: Path, error: float, train: int, cell: Cell = CELL, scorer: int = 2, **changes: float) -> None:
    score = MetricScore("%", error, error, error, [error])
    basis = {"dataset": {"sizes": {"train": train}}, "task": {}, "evaluation": {"trajectories": 1}}
    parts = {"metrics": {"rel_l2": score}, "provenance": {"scorer_version": scorer}, "changes": changes}
    record = Record(cell, "done", settings=basis, **parts)
    write_record(cell.path(root), record)


def test_the_profiles_own_record_goes_first_then_the_largest_training_set(tmp_path):
    assert recorded_error(tmp_path, CELL, False) is None
    store(tmp_path, 3.0, 64, replace(CELL, variant="train_64"))
    store(tmp_path, 2.0, 256, replace(CELL, variant="train_256"))
    store(tmp_path, 9.0, 512, replace(CELL, method="kriging_2"))
    assert recorded_error(tmp_path, CELL, False) == 2.0
    store(tmp_path, 1.0, 32)
    assert recorded_error(tmp_path, CELL, False) == 1.0
    CELL.path(tmp_path).write_text("{")
    assert recorded_error(tmp_path, CELL, False) == 2.0


def test_other_tasks_and_earlier_definitions_do_not_count(tmp_path):
    """A variant may have less training data, nothing else; since scorer 2 a steady problem has another headline."""
    store(tmp_path, 50.0, 512, replace(CELL, variant="noisy"), **{"task.noise": 0.5})
    assert recorded_error(tmp_path, CELL, False) is None
    store(tmp_path, 7.0, 256, replace(CELL, variant="train_256"), scorer=1, **{"dataset.sizes.train": 256})
    assert recorded_error(tmp_path, CELL, steady=False) == 7.0 and recorded_error(tmp_path, CELL, steady=True) is None


def test_a_row_without_a_value_at_paper_size_has_no_ratio():
    assert _row("d", "f", "laptop", 2.0, 4.0) == {
        "dataset": "d",
        "figure": "f",
        "laptop": 2.0,
        "paper": 4.0,
        "ratio": 0.5,
    }
    assert _row("d", "f", "laptop", 2.0, None)["paper"] == "not recorded" and "ratio" not in _row(
        "d", "f", "x", 1.0, 0.0
    )
    assert verdict(0.1) == DEGENERATE
