"""What a helper takes from a store that anybody may write to: the name of a cell of its own command."""

import json
from dataclasses import replace

import pytest

from benchmark.planning.plan import plan
from benchmark.running import helper
from benchmark.running.helper import Helper
from benchmark.running.team import Team
from tests.benchmark.support import toy_request


class Store(dict):
    def add(self, key, count):
        return self.get(key, 0) + count

    def check(self, keys):
        return all(key in self for key in keys)

    def compare_set(self, key, old, new):
        self[key] = new


class Worker:
    """Notes with what it was started."""

    def __init__(self):
        self.hello, self.sent = [], []

    def start(self, hello, log):
        self.hello.append(hello)
        return self

    def send(self, value):
        self.sent.append(value)


@pytest.fixture
def worker(monkeypatch):
    made = Worker()
    monkeypatch.setattr(helper, "WorkerProcess", made)
    return made


def asked(request, call):
    store = Store({"fits": 1, "fit/1": json.dumps(call)})
    Helper(Team(1, 2, 1, "here", 1), lambda: [request])._look(store)
    return store.get("failed/1", "")


def test_a_helper_runs_its_own_request(tmp_path, worker):
    request = toy_request(tmp_path)
    cell = plan(request)[0].cell.to_json()
    assert asked(request, cell) == ""
    assert worker.hello[0]["request"] == request.to_json() and worker.sent[0]["cell"] == cell


def test_a_helper_takes_no_request_from_the_store(tmp_path, worker):
    request, stranger = toy_request(tmp_path), tmp_path / "stranger.py"
    stranger.write_text(f"open({str(tmp_path / 'was_here')!r}, 'w')")
    cell = plan(request)[0].cell.to_json()
    theirs = replace(request, plugins=(*request.plugins, stranger)).to_json()
    for call in ({"request": theirs, "cell": cell, "since": ""}, {**cell, "request": theirs}, {**cell, "seed": 5},
                 {**cell, "method": "../x"}, {**cell, "method": ["learn"]}, [cell], "learn", None):  # fmt: skip
        assert "process 1 of 2: the fit is of no cell that it was started for" in asked(request, call)
    assert not worker.hello and not (tmp_path / "was_here").exists()
