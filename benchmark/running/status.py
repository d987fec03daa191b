"""How every cell of a results folder is doing: from its record, its lock, its note and, on a cluster, the queue.

queued     a job waits for it
running    a job, or a process that holds the record's lock, is at it
cancelled  its job was cancelled and left no record
lost       its job has ended and left no record, or there is no telling (no answer from Slurm)
done, failed, timeout, oom, unsupported    as recorded
unreadable its record cannot be read
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.records.cell import Cell
from benchmark.records.files import read_record, record_paths
from benchmark.records.folders import kept_in, log_path
from benchmark.records.record import STATES, RecordError
from benchmark.running import locks
from benchmark.running.claim import leftovers, lock_path
from benchmark.running.notes import read_note
from benchmark.running.slurm.batches import Ticket, read_tickets, stamp
from benchmark.running.slurm.queue import Job, Place, has_slurm, read_queue

QUEUED, RUNNING, CANCELLED, LOST, UNREADABLE = "queued", "running", "cancelled", "lost", "unreadable"
ORDER = (RUNNING, QUEUED, CANCELLED, LOST, UNREADABLE, *(state for state in STATES if state != "done"), "done")


@dataclass(frozen=True)
class Status:
    cell: Cell
    state: str
    message: str = ""  # progress, or the reason
    fraction: float | None = None
    seconds_left: float | None = None
    where: str = ""  # the job, or the process and its host
    logs: list[Path] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in ("state", "message", "fraction", "seconds_left", "where")}
        return {"cell": self.cell.to_json(), **plain, "logs": [str(path) for path in self.logs]}


@dataclass(frozen=True)
class Overview:
    cells: list[Status]  # those at work first
    warnings: list[str]


def overview(results: Path, runs: Path) -> Overview:
    """Of every cell that has a record, a job or somebody at work on it."""
    tickets, queue, warnings = read_tickets(runs, results), {}, []
    kept = kept_in(runs, results)
    if tickets:
        answer = read_queue() if has_slurm() else "no squeue here"
        if isinstance(answer, str):
            warnings.append(f"Slurm does not answer ({answer}): jobs are shown as lost where they left no record")
        else:
            queue = answer
    found = sorted(
        (_status(cell, results, kept, tickets.get(cell), queue) for cell in _cells(results, tickets)),
        key=lambda status: (ORDER.index(status.state), status.cell),
    )
    return Overview(found, warnings)


def _cells(results: Path, tickets: Mapping[Cell, Ticket]) -> Iterator[Cell]:
    locked = (path for path in leftovers(results) if locks.is_held(lock_path(path)))
    found = (Cell.from_path(path) for path in (*record_paths(results), *locked))
    yield from dict.fromkeys([*(cell for cell in found if cell), *tickets])


def _status(cell: Cell, results: Path, kept: Path, ticket: Ticket | None, queue: Mapping[Place, Job]) -> Status:
    path, job = cell.path(results), queue.get(ticket.place) if ticket else None
    own = log_path(kept, cell)
    logs = [*([own] if own.exists() else []), *(ticket.logs() if ticket else [])]
    is_held, is_written = locks.is_held(lock_path(path)), ticket is not None and stamp(path) != ticket.before
    active = job if job and job.is_active and not is_written else None  # with its record a job is over but for the end
    if active and not active.is_running and not is_held:
        return Status(cell, QUEUED, active.reason, where=f"job {active.id}", logs=logs)
    if active or is_held:
        return _running(cell, kept, active, logs)
    if ticket is not None and not is_written:  # its job has ended, and wrote nothing
        state = CANCELLED if job and job.state == "CANCELLED" else LOST
        name = job.id if job else ticket.job or ticket.place[0]
        how = f"{job.state.lower()}, " if job and state == LOST else ""
        return Status(cell, state, f"{how}no record; run again to submit it anew", where=f"job {name}", logs=logs)
    return _recorded(cell, path, logs)


def _running(cell: Cell, kept: Path, job: Job | None, logs: list[Path]) -> Status:
    note = read_note(kept, cell)
    where = f"job {job.id}" if job else f"process {note.process} on {note.host}" if note else ""
    if note is None:
        return Status(cell, RUNNING, where=where, logs=logs)
    return Status(cell, RUNNING, note.message, note.fraction, note.seconds_left, where, logs)


def _recorded(cell: Cell, path: Path, logs: list[Path]) -> Status:
    try:
        record = read_record(path)
    except (OSError, RecordError) as error:
        return Status(cell, UNREADABLE, str(error), logs=logs)
    return Status(cell, record.state, record.reason, logs=logs)
