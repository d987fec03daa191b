"""What is told of a local run, and of jobs where Slurm is not there to ask."""

import json
import math
import threading

import pytest

from benchmark.cli import main
from benchmark.planning.plan import plan
from benchmark.records.folders import log_path, note_path
from benchmark.running import locks, worker
from benchmark.running.claim import lock_path
from benchmark.running.notes import Notes, Pace, read_note
from benchmark.running.pool import Event, execute
from benchmark.running.slurm.batches import new_batch
from benchmark.running.status import overview
from tests.benchmark.support import toy_request


@pytest.fixture
def request_(tmp_path):
    return toy_request(tmp_path, methods=("mean", "odd_error"))


def status(request, capsys, *more):
    code = main(["status", "--results", str(request.results), "--runs", str(request.runs), *more])
    return code, *capsys.readouterr()


def test_a_run_that_has_ended(request_, capsys):
    execute(request_, plan(request_))
    code, out, _ = status(request_, capsys)
    assert code == 0 and out.splitlines()[-1] == "1 failed, 1 done"
    assert "odd_error/fwd_full/toy/smoke/s0" in out and "mean/" not in out
    assert "mean/fwd_full" in status(request_, capsys, "--state", "done")[1]
    code, out, _ = status(request_, capsys, "--logs", "odd_error/toy")
    assert code == 0 and "KeyError: 'lost'" in out and str(log_path(request_.runs, plan(request_)[1].cell)) in out


def test_a_run_at_work(tmp_path):
    """A cell runs while its record's lock is held; its note says how far it is."""
    request = toy_request(tmp_path, methods=("odd_slow",), time_limit=6.0)
    planned = plan(request)
    thread = threading.Thread(target=execute, args=(request, planned))
    thread.start()
    seen = set()
    while thread.is_alive():
        seen |= {one.state for one in overview(request.results, request.runs).cells}
        thread.join(0.05)
    assert "running" in seen
    assert [one.state for one in overview(request.results, request.runs).cells] == ["timeout"]
    assert not note_path(request.runs, planned[0].cell).exists()


def test_jobs_without_slurm_to_ask_are_lost_and_said_so(request_, capsys, monkeypatch):
    monkeypatch.setenv("PATH", "")
    planned = plan(request_)
    new_batch(request_.runs, request_.results, planned, "2026-01-01")
    execute(request_, planned[:1])
    code, out, err = status(request_, capsys)
    assert code == 0 and out.splitlines()[-1] == "1 lost, 1 done" and "no squeue here" in err


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--state", "runing"], "did you mean running"),
        (["--logs", "nobody"], "no such cell"),
        (["--results", "/nowhere", "--runs", "/nowhere"], "no such folder"),
    ],
)
def test_a_question_that_cannot_be_answered(request_, capsys, arguments, message):
    request_.results.mkdir()
    code, out, err = status(request_, capsys, *arguments)
    assert code == 2 and message in err and not out


def test_json_is_one_document(request_, capsys):
    execute(request_, plan(request_))
    rows = json.loads(status(request_, capsys, "--json")[1])
    assert rows["counts"] == {"failed": 1, "done": 1} and len(rows["cells"]) == 2


def test_notes_are_written_now_and_then_and_taken_away(tmp_path):
    cell, clock = plan(toy_request(tmp_path))[0].cell, 100.0
    notes = Notes(tmp_path, lambda event: None, lambda: clock)
    notes(Event("start", cell))
    for clock, fraction in ((101.0, 0.1), (105.0, 0.2)):  # noqa: B007 - read by the clock above
        notes(Event("progress", cell, "fit", fraction))
    note = read_note(tmp_path, cell)
    assert note is not None and note.fraction == 0.2 and note.seconds_left == pytest.approx(32.0)
    notes(Event("end", cell))
    assert read_note(tmp_path, cell) is None


@pytest.mark.parametrize("fraction", [math.nan, math.inf, -1.0, 7])
def test_a_fraction_that_is_none_costs_no_run_its_notes(tmp_path, fraction):
    told, cell = [], plan(toy_request(tmp_path))[0].cell
    progress = worker._Progress(lambda kind, **content: told.append(json.loads(json.dumps(content))))
    progress("fit", fraction)
    notes = Notes(tmp_path, lambda event: None, lambda: 100.0)
    notes(Event("progress", cell, **told[0]))
    note = read_note(tmp_path, cell)
    assert note is not None and 0 <= note.fraction <= 1


NOTE = {"message": "fit", "fraction": 0.5, "seconds_left": 3.0, "at": "now", "host": "here", "process": 1}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seconds_left", "1e400"), ("seconds_left", f"1{'0' * 400}"), ("seconds_left", '"soon"'), ("fraction", '"x"'),
        ("fraction", "null"), ("fraction", "1e300"), ("message", "3"), ("host", "[]"), ("process", "{}"), ("more", "1"),
    ],
)  # fmt: skip
def test_a_note_that_is_none_is_passed_over(tmp_path, capsys, monkeypatch, name, value):
    request = toy_request(tmp_path)
    cell = plan(request)[0].cell
    path, lock = note_path(request.runs, cell), lock_path(cell.path(request.results))
    for file in (path, lock):
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(NOTE))
    monkeypatch.setattr(locks, "is_held", lambda path: True)  # by another process
    assert "50 %" in status(request, capsys)[1]
    path.write_text(json.dumps({**NOTE, name: "VALUE"}).replace('"VALUE"', value))
    code, out, _ = status(request, capsys)
    assert code == 0 and "running" in out and "50 %" not in out
    assert status(request, capsys, "--json")[0] == 0


@pytest.mark.parametrize("seed", ["1e400", '"x"', "null"])
def test_a_batch_that_is_none_is_passed_over(request_, capsys, seed):
    folder = new_batch(request_.runs, request_.results, plan(request_), "2026-01-01")
    path = folder / "batch.json"
    path.write_text(path.read_text().replace('"seed": 0', f'"seed": {seed}'))
    code, out, _ = status(request_, capsys)
    assert code == 0 and out == "no cells yet\n"


def test_time_left_of_a_phase():
    pace = Pace()
    assert pace.seconds_left(0.5, 10.0) is None  # a fit that goes on from the middle
    assert pace.seconds_left(0.75, 20.0) == pytest.approx(10.0)
    assert pace.seconds_left(0.0, 30.0) is None  # the prediction begins
    assert pace.seconds_left(0.5, 32.0) == pytest.approx(2.0)
