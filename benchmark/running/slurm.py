"""Cells as cluster jobs: one submitit job per cell, each running the same code as a local run.

Records and fits lie in folders that all nodes share, so locks, resume and states work as they do locally, and a job
that dies takes no other with it. `--cluster file.yaml` holds the parameters for submitit, for example

    slurm_partition: gpu
    gpus_per_node: 1
    cpus_per_task: 8
    timeout_min: 720
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark.planning.plan import PlannedCell, plan
from benchmark.planning.request import Request
from benchmark.records.cell import Cell
from benchmark.records.files import read_record
from benchmark.records.record import Record, RecordError
from benchmark.running.pool import Event, Report, execute

POLL = 2.0  # seconds between looks at the queue
DEFAULTS = {"timeout_min": 24 * 60, "cpus_per_task": 4}


def execute_on_cluster(
    request: Request,
    planned: Sequence[PlannedCell],
    parameters: Mapping[str, Any],
    report: Report = lambda event: None,
    cluster: str = "slurm",
) -> list[Record]:
    """Submit what is to run and wait for it; one record for each planned cell, in order.

    Interrupted, it leaves the jobs in the queue: the same command later finds what they have done.
    """
    import submitit

    executor = submitit.AutoExecutor(folder=request.runs / "slurm", cluster=cluster)
    executor.update_parameters(name="benchmark", **(DEFAULTS | dict(parameters)))
    rest = [p for p in planned if p.action != "run"]
    records = {record.cell: record for record in execute(request, rest, report)}
    jobs = {p.cell: executor.submit(run_cell_job, _alone(request, p.cell)) for p in planned if p.action == "run"}
    for cell in jobs:
        report(Event("start", cell, done=len(records), total=len(planned)))
    while jobs:
        for cell in [cell for cell, job in jobs.items() if job.done()]:
            records[cell] = _outcome(request, cell, jobs.pop(cell))
            report(Event("end", cell, record=records[cell], done=len(records), total=len(planned)))
        time.sleep(POLL if jobs else 0)
    return [records[p.cell] for p in planned]


def run_cell_job(request: Mapping[str, Any]) -> None:
    """What a job does: the run of one cell, in a worker of its own with time limit and clean-up."""
    alone = Request.from_json(request)
    execute(alone, plan(alone, is_part=True))


def _alone(request: Request, cell: Cell) -> dict[str, Any]:
    """The request narrowed to one cell, with absolute folders, as plain values."""
    names = {"methods": (cell.method,), "tasks": (cell.task,), "datasets": (cell.dataset,), "seeds": (cell.seed,)}
    folders = {name: getattr(request, name).absolute() for name in ("results", "runs", "data")}
    plugins = tuple(Path(p).absolute() for p in request.plugins)
    return replace(request, **names, **folders, plugins=plugins, jobs=1).to_json()


def _outcome(request: Request, cell: Cell, job: Any) -> Record:
    """The record the job wrote, or a failure that says where to look."""
    error = job.exception()
    try:
        if error is None:
            return read_record(cell.path(request.results))
        reason = f"job {job.job_id} ended without a record: {error}"
    except (OSError, RecordError) as problem:
        reason = f"job {job.job_id} left no readable record: {problem}"
    return Record(cell, "failed", reason, traceback=job.stderr() or "")
