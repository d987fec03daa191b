"""Kept answers have the record's scores, as far as their rounding tells; training again gives the record."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmark.cli import main
from benchmark.records.files import write_record
from benchmark.records.predictions import Thinning, predictions_path, read_predictions, write_predictions
from benchmark.verify import Selection, run_tiers
from benchmark.verify.predictions import bounds, prediction_faults
from benchmark.verify.training import compared
from tests.benchmark.running.test_cell import run
from tests.benchmark.support import TOY, toy_request


@pytest.fixture
def made(tmp_path):
    """A cell that was run: the request, its record and what was kept of it."""
    request = toy_request(tmp_path)
    (record,) = run(request)
    write_record(record.cell.path(request.results), record)
    path = predictions_path(request.runs, record.cell)
    return request, record, path


def test_rescored_answers_have_the_scores_of_the_record(made):
    request, record, path = made
    kept = read_predictions(path)
    assert prediction_faults(kept, record) == []
    for (low, high), value in zip(bounds(kept), record.headline.values, strict=True):
        assert low <= value <= high and high - low < 0.1
    (check,) = run_tiers(["predictions"], Selection(request.results, request.runs))
    assert check.passed and check.path == path and "4 trajectories" in check.note


def test_a_tampered_value_or_answer_is_found(made):
    _, record, path = made
    kept = read_predictions(path)
    values = [record.headline.values[0] * 1.01, *record.headline.values[1:]]
    tampered = replace(record, metrics={"rel_l2": replace(record.headline, values=values)})
    (fault,) = prediction_faults(kept, tampered)
    assert fault.startswith("trajectory 0: the record has")
    better = replace(
        kept, prediction=np.where(np.arange(4)[:, None, None, None, None] == 2, kept.truth, kept.prediction)
    )
    (fault,) = prediction_faults(better, record)
    assert fault.startswith("trajectory 2")


def test_answers_of_another_run_and_files_that_are_cut(made):
    request, record, path = made
    write_predictions(path, replace(read_predictions(path), key="another"))
    (check,) = run_tiers(["predictions"], Selection(request.results, request.runs))
    assert check.faults == ("belongs to another run than the record: their keys differ",)
    path.write_bytes(path.read_bytes()[:-50])
    (check,) = run_tiers(["predictions"], Selection(request.results, request.runs))
    assert "no predictions" in check.faults[0]


def test_of_thinned_answers_the_noted_errors_are_checked_and_the_rest_is_said(made, capsys):
    request, record, path = made
    kept = read_predictions(path)
    frames = tuple(range(len(kept.times)))
    few = replace(kept, thinned=Thinning(1, frames, tuple(record.headline.values[: len(kept)])))
    write_predictions(path, few)
    assert main(["verify", str(request.results), "--runs", str(request.runs), "--tier", "predictions"]) == 0
    assert "1 of them kept in part" in capsys.readouterr().out
    other = replace(few, thinned=replace(few.thinned, errors=(1.0, *few.thinned.errors[1:])))
    (fault,) = prediction_faults(other, record)
    assert fault.startswith("trajectory 0: the record has") and fault.endswith("the answer 1 % was noted")


def test_of_a_steady_problem_the_field_that_is_asked_for_is_scored(made):
    _, _, path = made
    kept = read_predictions(path)
    shape = (1, 2, 4, 4, 1)
    truth, answer, mask = np.ones(shape, "float32"), np.ones(shape, "float32"), np.zeros(shape, bool)
    answer[:, 1] *= 1.5  # 50 % off in u, exact in a
    steady = replace(
        kept, frame_names=("a", "u"), times=(0.0, 1.0), truth=truth, prediction=answer, values=truth * mask, mask=mask,
        frames=None, samples=None, spread=None,
    )  # fmt: skip
    for seen, expected in (((), 25.0), ((0,), 50.0), ((1,), 0.0), ((0, 1), 25.0)):
        mask = np.zeros(shape, bool)
        mask[:, list(seen), 0, 0] = True
        ((low, high),) = bounds(replace(steady, mask=mask))
        assert low <= expected <= high and high - low < 1e-2


def test_run_again_a_cell_gives_its_record(made, capsys):
    request, record, _ = made
    base = ["verify", str(request.results), "--plugin", str(TOY), "--data", str(request.data), "--tier", "training"]
    assert main([*base, "--method", "learn", "--json"]) == 0
    (check,) = json.loads(capsys.readouterr().out)["checks"]
    assert check["note"] == "the same bit for bit"


def test_how_close_is_close_enough(made):
    _, record, _ = made

    def again(factor, **provenance):
        values = [factor * value for value in record.headline.values]
        score = replace(record.headline, values=values, mean=factor * record.headline.mean)
        found = {**record.provenance, **provenance}
        return replace(record, metrics={**record.metrics, "rel_l2": score}, provenance=found)

    assert compared(record, record) == ([], "the same bit for bit")
    assert "on the same machine" in compared(record, again(1.001))[0][0]
    assert compared(record, again(1.001, hardware="another"))[0] == []
    assert compared(record, again(1.1, hardware="another"))[0]
    assert "its data cannot be made here" in compared(record, again(1.0, data_fingerprint="other"))[0][0]
    assert "have changed since" in compared(record, replace(record, key="other"))[0][0]
    assert "run again it is oom" in compared(record, replace(record, state="oom", metrics={}))[0][0]
