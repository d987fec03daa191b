"""Jobs run through submitit's own local engine: real processes, no cluster."""

from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.records.files import read_record
from benchmark.running.slurm import execute_on_cluster

BROKEN = """
import os
from dataclasses import dataclass
from benchmark.core import Method

@dataclass(frozen=True)
class Settings:
    pass

class Dies(Method):
    profiles = {"smoke": Settings()}
    def fit(self, train, valid, tasks, seed, run):
        raise RuntimeError("no luck")
    def predict(self, problem, seed, samples=1):
        return None

METHODS = {"dies": Dies}
"""


def test_cells_run_as_jobs(tmp_path):
    (tmp_path / "dies.py").write_text(BROKEN)
    request = Request(
        ("mean", "dies", "persistence"), ("cont_3",), profile="smoke", plugins=(tmp_path / "dies.py",),
        results=tmp_path / "results", runs=tmp_path / "runs", data=tmp_path / "data",
    )  # fmt: skip
    events = []
    records = execute_on_cluster(request, plan(request), {"timeout_min": 2}, events.append, cluster="local")
    assert [record.state for record in records] == ["done", "failed", "unsupported"]
    assert "no luck" in records[1].reason
    for record, planned in zip(records, plan(request), strict=True):
        assert read_record(planned.cell.path(request.results)) == record
    assert {e.kind for e in events} == {"start", "end"} and events[-1].done == 3
    assert [p.action for p in plan(request)] == ["skip", "run", "write"]
