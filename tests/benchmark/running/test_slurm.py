"""Jobs run through submitit's own local engine: real processes, no cluster."""

from dataclasses import replace

import pytest

from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.records.files import read_record
from benchmark.running.slurm import execute_on_cluster
from tests.benchmark.support import toy_request

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


@pytest.mark.slow
def test_a_job_has_the_variant_of_its_cell(tmp_path):
    """An override of one method leaves the other's cell plain; a name that is taken over is so in every job."""
    request = toy_request(tmp_path, methods=("learn", "odd"), tasks=("fwd_full",), overrides=("shift=1",), name="moved")
    for each in (request, replace(request, overrides=("shift=2",), overwrite=True)):
        records = execute_on_cluster(each, plan(each), {"timeout_min": 2}, cluster="local")
        assert [(record.state, record.cell.label) for record in records] == [("done", "learn @ moved"), ("done", "odd")]
    assert records[0].changes == {"shift": 2.0}
