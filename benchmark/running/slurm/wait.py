"""Until every cell has a record: most are seen on disk, what became of the others Slurm says.

The jobs need nobody to wait for them. Interrupted, they stay; the same command waits again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmark.planning.plan import PlannedCell
from benchmark.planning.request import Request
from benchmark.records.cell import Cell
from benchmark.records.files import read_record
from benchmark.records.folders import tail
from benchmark.records.record import Record, RecordError
from benchmark.running import locks
from benchmark.running.notes import read_note
from benchmark.running.pool import Event, Report, conclude, execute
from benchmark.running.slurm.batches import Ticket, batches_lock, finished, read_tickets, stamp
from benchmark.running.slurm.queue import Job, Place, read_queue

LOOK = 1.0  # seconds between looks at records
ASK, SELDOM, RARER = 2.0, 30.0, 1.2  # seconds between questions to Slurm: at first, in the end, and how it grows
SURE = 2  # how often a job must be found ended: one that is put back into the queue may look so for a moment

ENDS = {  # Slurm's word -> the record's state, and what to say
    "CANCELLED": ("failed", "was cancelled"),
    "OUT_OF_MEMORY": ("oom", "needed more memory than it asked for; raise `mem`"),
    "TIMEOUT": ("timeout", "was ended at its time limit; raise `time`"),
    "": ("failed", "is not in the queue any more"),
}


def wait(request: Request, planned: Sequence[PlannedCell], report: Report = lambda event: None) -> list[Record]:
    """One record for each planned cell, in order."""
    waiting = _Waiting(request, planned, report)
    rest = [p for p in planned if p.action != "run"]
    here = replace(request, device="auto")  # a node that submits need not have what the jobs ask for
    waiting.records = {record.cell: record for record in execute(here, rest, waiting.count)}
    waiting.work()
    return [waiting.records[p.cell] for p in planned]


@dataclass
class _Waiting:
    request: Request
    planned: Sequence[PlannedCell]
    report: Report
    records: dict[Cell, Record] = field(default_factory=dict)
    ended: dict[Cell, int] = field(default_factory=dict)  # how often its job was found ended
    running: set[Cell] = field(default_factory=set)
    done: int = 0

    def count(self, event: Event) -> None:
        self.done += event.kind == "end"
        self.report(replace(event, done=self.done, total=len(self.planned)))

    def work(self) -> None:
        tickets = read_tickets(self.request.runs, self.request.results)
        pending = {}
        for p in self.planned:
            if p.action == "run" and (record := finished(p, self.request.results)):
                self.finish(p.cell, record)
            elif p.action == "run":
                pending[p.cell] = p, tickets[p.cell]
        pause, asked = ASK, 0.0
        while pending:
            for cell, (_, ticket) in list(pending.items()):
                if stamp(cell.path(self.request.results)) != ticket.before:
                    self.finish(cell, self.read(cell))
                    del pending[cell]
            if pending and time.monotonic() - asked >= pause:
                queue, asked, pause = read_queue(), time.monotonic(), min(SELDOM, RARER * pause)
                if not isinstance(queue, str):  # else it does not answer now
                    self.look(pending, queue)
            time.sleep(LOOK if pending else 0)

    def look(self, pending: dict[Cell, tuple[PlannedCell, Ticket]], queue: Mapping[Place, Job]) -> None:
        """Tell what runs, and give up what has ended without a record."""
        for cell, (_, ticket) in pending.items():
            job = queue.get(ticket.place)
            is_active = job is not None and job.is_active
            self.ended[cell] = 0 if is_active else self.ended.get(cell, 0) + 1
            if job is not None and job.is_running:
                self.tell(cell)
        if any(self.ended[cell] >= SURE for cell in pending):
            with locks.hold(batches_lock(self.request.runs)):  # nobody submits them anew meanwhile
                self.give_up(pending, queue)

    def give_up(self, pending: dict[Cell, tuple[PlannedCell, Ticket]], queue: Mapping[Place, Job]) -> None:
        """Conclude what has ended, or wait on if it has a newer job."""
        newest = read_tickets(self.request.runs, self.request.results)
        for cell in [cell for cell in pending if self.ended[cell] >= SURE]:
            planned, ticket = pending[cell]
            if newest.get(cell, ticket).place != ticket.place:
                pending[cell], self.ended[cell] = (planned, newest[cell]), 0
            elif record := self.conclude(planned, ticket, queue.get(ticket.place)):
                self.finish(cell, record)
                del pending[cell]

    def tell(self, cell: Cell) -> None:
        if cell not in self.running:
            self.running.add(cell)
            self.count(Event("start", cell))
        if note := read_note(self.request.kept, cell):
            self.count(Event("progress", cell, note.message, note.fraction))

    def conclude(self, planned: PlannedCell, ticket: Ticket, job: Job | None) -> Record | None:
        """None: somebody else is at the cell."""
        state, reason = end_of(ticket, job)
        log = "\n".join(tail(path) for path in ticket.logs())
        return conclude(self.request, planned, ticket.since, state, reason, log)

    def read(self, cell: Cell) -> Record:
        try:
            return read_record(cell.path(self.request.results))
        except (OSError, RecordError) as error:
            return Record(cell, "failed", str(error))

    def finish(self, cell: Cell, record: Record) -> None:
        self.records[cell] = record
        self.count(Event("end", cell, record=record))


def end_of(ticket: Ticket, job: Job | None) -> tuple[str, str]:
    """The state and the reason of a cell whose job left no record."""
    word = job.state if job else ""
    state, reason = ENDS.get(word, ("failed", f"ended ({word})"))
    return state, f"job {job.id if job else ticket.job or ticket.place[0]} {reason} and left no record"
