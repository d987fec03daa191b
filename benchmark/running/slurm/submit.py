"""Cells into the queue: those that are to run and are not there yet.

Cells with equal resources are one job array. Of cells that share a fit which is not there, the first makes it and the
others wait for its end (`afterany`: however it ends they run, and make the fit if it did not).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.errors import UserError
from benchmark.planning.plan import PlannedCell
from benchmark.planning.request import Request
from benchmark.planning.resolve import is_fitted
from benchmark.records.cell import Cell
from benchmark.running import locks, provenance
from benchmark.running.claim import check_writable
from benchmark.running.slurm.batches import (
    Ticket,
    batches_lock,
    drop_batch,
    finished,
    fit_folder,
    new_batch,
    note_job,
    read_tickets,
)
from benchmark.running.slurm.job import CellJob, alone
from benchmark.running.slurm.queue import Job, read_queue
from benchmark.running.slurm.resources import Cluster, Resources, minutes

LARGEST = 1000  # jobs of an array: Slurm's default limit

Queued = Mapping[Cell, tuple[Ticket, Job]]


@dataclass(frozen=True)
class Array:
    """Cells that are submitted together."""

    planned: tuple[PlannedCell, ...]
    resources: Resources
    after: str  # the job to wait for; "": none


def submit(request: Request, planned: Sequence[PlannedCell], cluster: Cluster) -> dict[str, int]:
    """Submit what is missing; how many cells each new job has."""
    check_writable(request.results, "results", "choose another with --output, or change its permissions")
    check_writable(request.runs, "runs", "change its permissions, or choose another with --runs")
    with locks.hold(batches_lock(request.runs)):
        return _submit_missing(request, planned, cluster)


def _submit_missing(request: Request, planned: Sequence[PlannedCell], cluster: Cluster) -> dict[str, int]:
    queued = in_queue(request)
    planned = [p for p in planned if not (p.action == "run" and finished(p, request.results))]
    _refuse_outdated(planned, queued)
    todo = [p for p in planned if p.action == "run" and p.cell not in queued]
    makers = _makers(planned, queued, request.overwrite)
    makes_own = {p.cell: makers.get(fit_folder(p), p.cell) == p.cell for p in todo}
    jobs = {cell: job.id for cell, (_, job) in queued.items()}
    submitted: dict[str, int] = {}
    since = provenance.now()
    for wave in ([p for p in todo if makes_own[p.cell]], [p for p in todo if not makes_own[p.cell]]):
        after = {p.cell: "" if makes_own[p.cell] else jobs[makers[fit_folder(p)]] for p in wave}
        for array in _arrays(wave, after, cluster, request.device):
            job = _submit(array, request, since)
            submitted[job] = len(array.planned)
            ids = [f"{job}_{i}" for i in range(len(array.planned))] if len(array.planned) > 1 else [job]
            jobs |= {p.cell: own for p, own in zip(array.planned, ids, strict=True)}
    return submitted


def in_queue(request: Request) -> Queued:
    """The cells of this results folder that Slurm has, waiting or at work."""
    queue = read_queue()
    if isinstance(queue, str):
        raise UserError(f"Slurm does not answer ({queue}); try again, or use --executor local")
    tickets = read_tickets(request.runs, request.results)
    return {
        cell: (ticket, queue[ticket.place])
        for cell, ticket in tickets.items()
        if ticket.place in queue and queue[ticket.place].is_active
    }


def _refuse_outdated(planned: Iterable[PlannedCell], queued: Queued) -> None:
    """A job that was submitted with other settings would write another record than the one asked for."""
    outdated = [p.cell for p in planned if p.action == "run" and p.cell in queued and queued[p.cell][0].key != p.key]
    if outdated:
        jobs = " ".join(queued[cell][1].id for cell in outdated)
        raise UserError(f"{outdated[0]} is in the queue with other settings: wait for it, or `scancel {jobs}` first")


def _makers(planned: Iterable[PlannedCell], queued: Queued, overwrite: bool) -> dict[str, Cell]:
    """Which cell makes a fit that is not there: one that is in the queue, else the first."""
    found = {ticket.fit: cell for cell, (ticket, _) in reversed(list(queued.items()))}
    for p in planned:
        if p.action == "run":
            found.setdefault(fit_folder(p), p.cell)
    return {fit: cell for fit, cell in found.items() if fit and (overwrite or not is_fitted(Path(fit)))}


def _arrays(
    planned: Iterable[PlannedCell], after: Mapping[Cell, str], cluster: Cluster, device: str
) -> Iterator[Array]:
    """Cells with equal resources that wait for the same job, in the order of the plan."""
    groups: dict[str, list[tuple[PlannedCell, Resources]]] = {}
    for p in planned:
        resources = cluster.of(p, device)
        groups.setdefault(repr((resources, after[p.cell])), []).append((p, resources))
    for group in groups.values():
        for start in range(0, len(group), LARGEST):
            part = group[start : start + LARGEST]
            yield Array(tuple(p for p, _ in part), part[0][1], after[part[0][0].cell])


def _submit(array: Array, request: Request, since: str) -> str:
    """The number of the job."""
    import submitit
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    resources = array.resources
    folder = new_batch(request.runs, request.results, array.planned, since)
    executor = submitit.SlurmExecutor(folder, max_num_timeout=resources.turns)
    executor.update_parameters(**sbatch_parameters(resources, folder.name, array.after))
    jobs = [CellJob(alone(request, p.cell).to_json(), since, resources.turns) for p in array.planned]
    try:
        job = executor.submit_array(jobs)[0].job_id.split("_")[0]
    except (FailedJobError, FailedSubmissionError) as error:
        drop_batch(folder)
        raise UserError(f"{array.planned[0].cell}: {_complaint(str(error))}; change --cluster FILE") from error
    note_job(folder, job)
    return job


def sbatch_parameters(resources: Resources, name: str, after: str) -> dict[str, Any]:
    """In submitit's words; what is None is left to Slurm."""
    plain = ("partition", "account", "qos", "constraint", "nodes", "mem")
    return {
        **{key: getattr(resources, key) for key in plain},
        "job_name": name,
        "time": minutes(resources.time or ""),
        "ntasks_per_node": resources.tasks_per_node,
        "cpus_per_task": resources.cpus,
        "gpus_per_node": resources.gpus or None,
        "signal_delay_s": resources.warning,
        "setup": list(resources.setup) or None,
        "array_parallelism": resources.parallel,
        "dependency": f"afterany:{after}" if after else None,
        "wckey": None,
        "srun_args": [f"--cpus-per-task={resources.cpus}"],  # which srun does not take over from sbatch
        "additional_parameters": {"requeue": True, **resources.sbatch},
    }


def _complaint(text: str) -> str:
    """What sbatch says, out of what submitit makes of it."""
    lines = [line.partition("error: ")[2] for line in text.splitlines() if "sbatch: error: " in line]
    return f"sbatch: {'; '.join(dict.fromkeys(lines)) or text.strip().splitlines()[-1]}"
