"""Submitting and waiting while others are at the same cells; Slurm is played."""

import subprocess
import sys
import threading
from dataclasses import replace

import pytest

from benchmark.planning.plan import plan
from benchmark.records.files import read_record
from benchmark.running import provenance
from benchmark.running.pool import execute
from benchmark.running.slurm import submit as submitting
from benchmark.running.slurm import wait as waiting
from benchmark.running.slurm.batches import batches_lock, new_batch, note_job, read_tickets
from benchmark.running.slurm.queue import Job
from benchmark.running.slurm.resources import Cluster
from benchmark.running.slurm.submit import submit
from benchmark.running.slurm.wait import wait
from benchmark.running.status import overview
from tests.benchmark.support import toy_request

HOLDER = """
import sys
from pathlib import Path
from benchmark.running import locks
with locks.hold(Path(sys.argv[1])):
    print(flush=True)
    sys.stdin.read()
"""


class Slurm:
    """Takes every job and lets it wait."""

    def __init__(self):
        self.jobs = {}

    def submit(self, array, request, since):
        folder, job = new_batch(request.runs, request.results, array.planned, since), str(len(self.jobs) + 1)
        note_job(folder, job)
        self.jobs[folder.name, 0] = Job(job, "PENDING")
        return job

    def end(self, word):
        self.jobs = {place: replace(job, state=word) for place, job in self.jobs.items()}


@pytest.fixture
def slurm(monkeypatch):
    played = Slurm()
    monkeypatch.setattr(submitting, "_submit", played.submit)
    for module in (submitting, waiting):
        monkeypatch.setattr(module, "read_queue", lambda: dict(played.jobs))
    monkeypatch.setattr(waiting, "LOOK", 0.01)
    monkeypatch.setattr(waiting, "ASK", 0.01)
    return played


@pytest.fixture
def request_(tmp_path):
    return toy_request(tmp_path, methods=("mean",))


def test_a_cell_that_was_finished_since_it_was_planned_is_not_submitted(request_, slurm):
    planned = plan(request_)
    execute(request_, plan(request_))
    assert submit(request_, planned, Cluster({})) == {}
    assert [record.state for record in wait(request_, planned)] == ["done"]
    overwritten = replace(request_, overwrite=True)
    assert submit(overwritten, plan(overwritten), Cluster({})) == {"1": 1}


def test_who_submits_the_same_cells_meanwhile_finds_them_in_the_queue(request_, slurm, tmp_path):
    planned, program = plan(request_), tmp_path / "holder.py"
    program.write_text(HOLDER)
    lock = batches_lock(request_.runs)
    other = subprocess.Popen([sys.executable, program, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    other.stdout.readline()  # it has begun
    found = []
    ours = threading.Thread(target=lambda: found.append(submit(request_, planned, Cluster({}))))
    ours.start()
    ours.join(1.0)
    assert ours.is_alive() and not slurm.jobs
    folder = new_batch(request_.runs, request_.results, planned, provenance.now())
    slurm.jobs[folder.name, 0] = Job("7", "PENDING")
    other.communicate("end")
    ours.join(60)
    assert found == [{}]


def test_a_record_made_while_its_cell_was_submitted_stays(request_, slurm, monkeypatch):
    planned = plan(request_)
    execute(request_, plan(request_))
    with monkeypatch.context() as context:
        context.setattr(submitting, "finished", lambda *cell: None)  # not yet
        assert submit(request_, planned, Cluster({})) == {"1": 1}
    slurm.end("COMPLETED")  # the job found it done
    assert [cell.state for cell in overview(request_.results, request_.runs).cells] == ["done"]
    assert [record.state for record in wait(request_, planned)] == ["done"]


def test_a_cell_that_was_submitted_anew_is_not_given_up(request_, slurm):
    """Its record would be newer than the new job, and end it."""
    planned = plan(request_)
    submit(request_, planned, Cluster({}))
    pending = {planned[0].cell: (planned[0], read_tickets(request_.runs, request_.results)[planned[0].cell])}
    slurm.end("CANCELLED")
    submit(request_, planned, Cluster({}))  # elsewhere
    _, second = slurm.jobs
    waiter = waiting._Waiting(request_, planned, lambda event: None)
    for _ in range(3):
        waiter.look(pending, slurm.jobs)
    assert not waiter.records and pending[planned[0].cell][1].place == second
    slurm.end("CANCELLED")
    for _ in range(2):
        waiter.look(pending, slurm.jobs)
    assert waiter.records[planned[0].cell].state == "failed" and not pending


def test_a_done_record_is_not_given_up_for_lost(request_, slurm):
    """Whatever the clocks of node and waiter say."""
    planned = plan(request_)
    execute(request_, plan(request_))
    new_batch(request_.runs, request_.results, planned, provenance.now())
    ticket = read_tickets(request_.runs, request_.results)[planned[0].cell]
    record = waiting._Waiting(request_, planned, lambda event: None).conclude(planned[0], ticket, None)
    assert record is not None and record.state == "done"
    assert read_record(planned[0].cell.path(request_.results)).state == "done"
