"""A run that is killed again and again ends with the records of an undisturbed one; two runs at once share the work.

Every run is a process of its own, forked from a server that has the imports done. It is killed with SIGKILL a random
time after the log shows a training step, a state about to be saved or a prediction about to be made, or at a random
moment of its start. No moment lets through more than one fit and the few predictions that follow it, so that on a
machine of any speed there is work left to kill. Its workers get no signal from us: they have to end by themselves.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.records.files import read_record, record_paths
from benchmark.records.record import Record
from benchmark.running.pool import execute
from tests.benchmark.support import comparable, gone, is_alive, toy_request

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["benchmark.planning.plan", "benchmark.running.pool", "tests.benchmark.support"])
LANES = 2  # run side by side, each with half of the kills
MOMENTS = ("start", "step", "step", "state", "predict", "step", "start", "predict", "state", "predict")
SPREAD = {"step": 0.05, "state": 0.02, "predict": 0.1}  # seconds: a prediction is scored and recorded after its line
TASKS = ("cont_05", "cont_1", "cont_3", "fwd_full", "fwd_partial")
SEEDS = (0, 1)
FITS, CELLS = len(SEEDS) * (1 + len(TASKS)), len(SEEDS) * 2 * len(TASKS)  # one dataset-wide method, one per task
STEPS = 400


def main(request: Request, log: Path) -> None:
    os.setsid()
    os.environ["TOY_LOG"] = str(log)
    os.environ["OMP_NUM_THREADS"] = "1"
    execute(request, plan(request))


def start(request: Request, log: Path) -> multiprocessing.Process:
    process = CONTEXT.Process(target=main, args=(request, log))
    process.start()
    return process


def request_in(root: Path) -> Request:
    return toy_request(root, methods=("learn", "learn_task"), tasks=TASKS, seeds=SEEDS, overrides=(f"steps={STEPS}",))


def records(request: Request) -> list[Record]:
    return [comparable(read_record(path)) for path in record_paths(request.results)]


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def wait_for(process: multiprocessing.Process, log: Path, word: str, chance: random.Random) -> None:
    """Until the run writes a line that begins with the word, and a little longer; `start`: its first line at most."""
    before, deadline = len(lines(log)), time.monotonic() + (3 * chance.random() if word == "start" else 600)
    prefix = "" if word == "start" else word
    while process.is_alive() and time.monotonic() < deadline:
        if any(line.startswith(prefix) for line in lines(log)[before:]):
            break
        time.sleep(0.001)
    time.sleep(SPREAD.get(word, 0) * chance.random())


def kill(process: multiprocessing.Process) -> None:
    """The whole group, or, before it has one, the process."""
    pid = process.pid
    os.killpg(pid, signal.SIGKILL) if os.getpgid(pid) == pid else os.kill(pid, signal.SIGKILL)
    process.join()


def workers_of(pid: int) -> list[int]:
    """The processes that a run has started, found before it is killed."""
    try:
        threads = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(child) for children in threads for child in children]


def disturb(root: Path, seed: int, problems: list[str]) -> None:
    """Run, kill, run again ... and at last run to the end."""
    chance, request, log = random.Random(seed), request_in(root), root / "log"
    for moment in MOMENTS:
        process = start(request, log)
        wait_for(process, log, moment, chance)
        if not is_alive(process.pid):
            problems.append("a run ended before its kill")
            continue
        workers = workers_of(process.pid)
        kill(process)
        if not gone(workers):
            problems.append("a worker outlived its parent")
    process = start(request, log)
    process.join()
    if process.exitcode != 0:
        problems.append(f"the last run ended with {process.exitcode}")


@pytest.mark.slow
def test_twenty_kills_leave_no_trace_in_the_records(tmp_path):
    assert len(MOMENTS) * LANES == 20
    problems: list[str] = []
    lanes = [tmp_path / f"lane{i}" for i in range(LANES)]
    for lane in lanes:
        lane.mkdir()
    threads = [threading.Thread(target=disturb, args=(lane, seed, problems)) for seed, lane in enumerate(lanes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    whole = start(request_in(tmp_path / "whole"), tmp_path / "whole.log")
    whole.join()
    undisturbed = records(request_in(tmp_path / "whole"))
    assert [record.state for record in undisturbed] == ["done"] * CELLS
    words = Counter()
    for lane in lanes:
        assert records(request_in(lane)) == undisturbed
        assert [path.name for path in request_in(lane).results.rglob("*.tmp")] == []
        words += Counter(line.split()[0] for line in lines(lane / "log"))
    assert words["fit"] > LANES * FITS, "no kill hit a fit"
    assert words["predict"] > LANES * CELLS, "no kill hit a prediction"
    repeated = words["step"] - LANES * FITS * STEPS
    assert repeated <= 5 * words["fit"], "more was lost than the work since a checkpoint"


def test_two_runs_at_once_compute_each_cell_once(tmp_path):
    log = tmp_path / "log"
    request = toy_request(
        tmp_path, methods=("learn", "learn_task"), tasks=("cont_1", "cont_3", "fwd_full"), overrides=("steps=30",)
    )
    runs = [start(request, log) for _ in range(2)]
    for process in runs:
        process.join()
    assert [process.exitcode for process in runs] == [0, 0]
    words = Counter(line.split()[0] for line in lines(log))
    assert words == {"fit": 1 + 3, "step": 30 * 4, "state": 4, "predict": 6}
    assert [record.state for record in records(request)] == ["done"] * 6
