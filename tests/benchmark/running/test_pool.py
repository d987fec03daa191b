from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from benchmark.planning.plan import plan
from benchmark.records.cell import Cell
from benchmark.records.files import read_record
from benchmark.records.folders import note_path, parts_folder
from benchmark.running import provenance
from benchmark.running.claim import FolderError, lock_path
from benchmark.running.pool import execute, threads_per_worker
from benchmark.running.worker import choose_device
from tests.benchmark.support import comparable, gone, toy_request


def run(request, report=lambda event: None):
    records = execute(request, plan(request), report)
    return {(r.cell.method, r.cell.task): r for r in records}


@pytest.fixture
def log(tmp_path, monkeypatch):
    path = tmp_path / "log"
    monkeypatch.setenv("TOY_LOG", str(path))
    return lambda: path.read_text().splitlines() if path.exists() else []


@pytest.fixture(scope="module")
def mishaps(tmp_path_factory):
    """Everything that can go wrong, in one run with two workers; what is fine comes first, in between and last."""
    root = tmp_path_factory.mktemp("mishaps")
    odd = ("nan", "error", "tensor", "killed", "crash", "slow", "memory")
    methods = ("odd", *(f"odd_{how}" for how in odd), "learn")
    os.environ["TOY_LOG"] = str(root / "log")
    request = toy_request(root, methods=methods, tasks=("fwd_full",), jobs=2, time_limit=2.0)
    lock_path(Cell("odd_tensor", "fwd_full", "toy", "smoke", 0).path(request.results)).mkdir(parents=True)  # in the way
    try:
        return request, {method: record for (method, _), record in run(request).items()}
    finally:
        del os.environ["TOY_LOG"]


def test_one_mishap_never_stops_the_others(mishaps):
    request, records = mishaps
    assert {name: record.state for name, record in records.items()} == {
        "odd": "done", "odd_nan": "failed", "odd_error": "failed", "odd_killed": "oom", "odd_crash": "failed",
        "odd_slow": "timeout", "odd_memory": "oom", "odd_tensor": "failed", "learn": "done",
    }  # fmt: skip
    for planned in plan(request):
        if planned.cell.method == "odd_tensor":
            continue  # could not be written
        assert read_record(planned.cell.path(request.results)) == records[planned.cell.method]
        assert planned.action == ("skip" if planned.state == "done" else "run")


def test_the_reason_is_in_the_record(mishaps):
    _, records = mishaps
    assert records["odd_nan"].reason == "ValueError: predict: NaN or infinity in 1 of 4 trajectories"
    assert records["odd_error"].reason == "KeyError: 'lost'" and "toy.py" in records["odd_error"].traceback
    assert records["odd_slow"].reason == "longer than the time limit of 2 s"
    assert "SIGKILL" in records["odd_killed"].reason and "memory" in records["odd_memory"].reason
    assert "SIGSEGV" in records["odd_crash"].reason
    assert "a word before the end" in records["odd_crash"].traceback
    assert "the record could not be written" in records["odd_tensor"].reason
    for record in records.values():
        assert record.key and record.settings and record.created


def test_a_time_limit_ends_what_the_worker_has_started_too(mishaps):
    request, _ = mishaps
    lines = (request.results.parent / "log").read_text().splitlines()
    pids = [int(pid) for line in lines if line.startswith("pid") for pid in line.split()[1:]]
    assert len(set(pids)) == 2  # the worker and its child
    assert gone(pids)


def test_nothing_is_left_but_records(mishaps):
    request, _ = mishaps
    names = {path.name for path in request.results.rglob("*") if path.is_file()}
    killed = {f".odd_{how}-s0.json.lock" for how in ("killed", "crash", "slow")}
    assert names - killed == {f"{method}-s0.json" for method in request.methods} - {"odd_tensor-s0.json"}
    log = request.runs / "smoke" / "toy" / "odd-s0" / "fwd_full.log"
    assert "odd was here" in log.read_text()


def test_running_again_runs_only_what_is_not_done(tmp_path, log):
    request = toy_request(tmp_path, methods=("learn", "learn_task"), tasks=("cont_1", "inv_full"), jobs=2)
    events = []
    first = run(request, events.append)
    assert Counter(event.kind for event in events)["start"] == 3
    assert [event.done for event in events if event.kind == "end"] == [1, 2, 3, 4] and events[0].total == 4
    assert Counter(line.split()[0] for line in log())["predict"] == 3
    assert first["learn_task", "inv_full"].state == "unsupported"
    files = {path: path.stat().st_mtime_ns for path in request.results.rglob("*.json")}
    again = run(request)
    assert again == first and Counter(line.split()[0] for line in log())["predict"] == 3
    assert files == {path: path.stat().st_mtime_ns for path in request.results.rglob("*.json")}


def test_overwrite_runs_all_again_with_the_same_numbers(tmp_path, log):
    request = toy_request(tmp_path, tasks=("cont_1", "fwd_full"))
    first = run(request)
    again = run(toy_request(tmp_path, tasks=("cont_1", "fwd_full"), overwrite=True))
    assert Counter(line.split()[0] for line in log())["predict"] == 4
    assert sum(line.startswith("fit") for line in log()) == 2
    assert {k: comparable(r) for k, r in first.items()} == {k: comparable(r) for k, r in again.items()}


def test_an_interrupt_leaves_nothing_running_and_all_resumable(tmp_path, log):
    request = toy_request(tmp_path, methods=("odd", "odd_slow"), time_limit=None)

    def report(event):
        if event.cell.method == "odd_slow" and event.message == "predict":
            while not any(line.startswith("pid") for line in log()):
                time.sleep(0.01)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(request, report)
    pids = [int(pid) for line in log() if line.startswith("pid") for pid in line.split()[1:]]
    assert pids and gone(pids)
    assert {p.cell.method: p.state for p in plan(request)} == {"odd": "done", "odd_slow": "missing"}


def test_a_folder_that_cannot_be_written_is_named_before_any_work(tmp_path, log):
    (tmp_path / "results").write_text("a file")
    with pytest.raises(FolderError, match=r"results folder .*results: cannot be written .*--output"):
        run(toy_request(tmp_path))
    assert log() == []


@pytest.mark.parametrize("device", ["gpu", "cuda:x"])
def test_a_device_that_cannot_be_is_refused_before_any_work(tmp_path, device):
    with pytest.raises(ValueError, match="device: expected auto, cpu, cuda"):
        run(toy_request(tmp_path, device=device))


def test_refused_cells_are_reported_and_not_touched(tmp_path):
    request = toy_request(tmp_path)
    path = plan(request)[0].cell.path(request.results)
    path.parent.mkdir(parents=True)
    path.write_text("half a rec")
    (record,) = run(request).values()
    assert record.state == "failed" and str(path) in record.reason
    assert path.read_text() == "half a rec"


def test_a_busy_cell_is_put_last_and_then_waited_for(tmp_path, log):
    """Another process holds the first cell; the second is run meanwhile."""
    request = toy_request(tmp_path, methods=("odd",), tasks=("cont_1", "fwd_full"))
    first, second = plan(request)
    path = lock_path(first.cell.path(request.results))
    code = "import sys; from pathlib import Path; from benchmark.running import locks\n"
    code += "with locks.hold(Path(sys.argv[1])): print(flush=True); sys.stdin.read()"
    environment = os.environ | {"PYTHONPATH": str(provenance.ROOT)}
    holder = subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert holder.stdout and holder.stdout.readline()
    ended = []

    def report(event):
        if event.message == "waiting for another process":
            assert ended == [second.cell]
            threading.Thread(target=holder.communicate).start()  # lets go of the lock
        if event.kind == "end":
            ended.append(event.cell)

    records = run(request, report)
    assert ended == [second.cell, first.cell] and {r.state for r in records.values()} == {"done"}
    holder.wait()


def test_threads_are_shared_out(monkeypatch):
    monkeypatch.setattr(provenance, "cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert [threads_per_worker(jobs) for jobs in (1, 3, 16)] == [8, 2, 1]
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert [threads_per_worker(jobs) for jobs in (1, 2)] == [4, 2]


def test_devices():
    assert choose_device("cpu", 3).type == "cpu"
    assert choose_device("auto", 0).type in ("cpu", "cuda")


def test_what_a_kill_left_beside_a_record_that_is_done_goes_with_the_next_run(tmp_path):
    request = toy_request(tmp_path, tasks=("fwd_full",))
    ((name, task),) = run(request)
    left = parts_folder(request.kept, Cell(name, task, "toy", "smoke", 0))
    left.mkdir(parents=True)
    (left / "000000.safetensors").write_bytes(b"of a prediction")
    note = note_path(request.kept, Cell(name, task, "toy", "smoke", 0))
    half = note.with_name(f".{note.name}.abc.tmp")
    half.write_text("{")
    assert run(request)[name, task].state == "done" and not left.exists() and not half.exists()
