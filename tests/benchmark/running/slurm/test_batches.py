"""What was submitted is found again, whoever submitted it and wherever it stopped."""

import json
import os
from dataclasses import replace
from pathlib import Path

from benchmark.planning.plan import plan
from benchmark.running.slurm.batches import BATCH, fit_folder, new_batch, note_job, read_tickets, stamp
from tests.benchmark.support import toy_request


def test_the_latest_ticket_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = toy_request(tmp_path, methods=("learn", "mean"))
    planned = plan(request)
    first = new_batch(request.runs, request.results, planned, "2026-01-01")
    second = new_batch(request.runs, request.results, planned[1:], "2026-01-02")
    note_job(first, "12")
    tickets = read_tickets(request.runs, request.results)
    assert [tickets[p.cell].folder for p in planned] == [first, second]
    learn, mean = (tickets[p.cell] for p in planned)
    assert learn.job == "12_0" and learn.key == planned[0].key and os.path.isabs(learn.fit)
    assert mean.job == "" and mean.place == (second.name, 0) and mean.before is None
    assert read_tickets(request.runs, tmp_path / "other") == {}


def test_a_ticket_is_found_from_every_folder(tmp_path, monkeypatch):
    """By whatever path, a link too: else its cell would be submitted twice."""
    for name in ("results", "sibling"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "results")
    request = toy_request(tmp_path)
    planned = plan(request)
    monkeypatch.chdir(tmp_path / "sibling")
    up = Path("..")
    new_batch(up / "runs", up / "results", planned, "2026-01-01")
    for results in (tmp_path / "results", tmp_path / "link", up / "link"):
        (ticket,) = read_tickets(tmp_path / "runs", results).values()
        assert ticket.fit == fit_folder(
            replace(planned[0], fit=f"../runs/{Path(planned[0].fit).relative_to(request.runs)}")
        )


def test_a_folder_that_is_none_of_ours_is_passed_over(tmp_path):
    request = toy_request(tmp_path)
    folder = new_batch(request.runs, request.results, plan(request), "2026-01-01")
    whole = json.loads((folder / BATCH).read_text())
    cell = {"method": "../../x", "task": "t", "dataset": "d", "profile": "smoke", "seed": 0}
    for text in ("{", "[]", "{}", json.dumps({**whole, "cells": [{**whole["cells"][0], "cell": cell}]})):
        (folder / BATCH).write_text(text)
        assert read_tickets(request.runs, request.results) == {}


def test_a_record_that_is_written_anew_has_another_stamp(tmp_path):
    path = tmp_path / "record.json"
    assert stamp(path) is None
    path.write_text("1")
    before = stamp(path)
    new = tmp_path / "new"
    new.write_text("2")
    new.replace(path)
    assert before is not None and stamp(path) != before
