"""What a job does on its node."""

from benchmark.planning.plan import plan
from benchmark.records.files import read_record, write_record
from benchmark.records.record import Record
from benchmark.running import provenance
from benchmark.running.slurm.job import CellJob, alone
from tests.benchmark.support import toy_request


def test_a_failure_since_it_was_submitted_settles_nothing(tmp_path):
    """It may be of an earlier turn, which was preempted, or of a waiter who gave the cell up."""
    request = toy_request(tmp_path, methods=("mean",))
    (planned,) = plan(request)
    since, path = provenance.now(), planned.cell.path(request.results)
    write_record(
        path, Record(planned.cell, "failed", "broken", key=planned.key, provenance={"created": provenance.now()})
    )
    CellJob(alone(request, planned.cell).to_json(), since, 10).lead()
    done = read_record(path)
    assert done.state == "done"
    CellJob(alone(request, planned.cell).to_json(), since, 10).lead()
    assert read_record(path) == done
