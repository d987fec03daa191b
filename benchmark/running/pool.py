"""Running a plan: one worker process per job slot, many cells per worker.

A cell that exceeds its time limit, runs out of memory or crashes costs its worker; the worker is replaced, the record
says what happened, and the other cells go on. Workers lead process groups of their own: the terminal's Ctrl-C reaches
only us, and ending a worker ends all it started.
"""

from __future__ import annotations

import os
import selectors
import signal
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from benchmark.errors import UserError
from benchmark.planning.plan import PlannedCell
from benchmark.planning.request import Request
from benchmark.records.cell import Cell
from benchmark.records.files import read_record, write_record
from benchmark.records.folders import log_path, tail
from benchmark.records.record import SCORER_VERSION, Record, RecordError
from benchmark.running import locks, provenance
from benchmark.running.claim import check_writable, forget_unfinished, lock_path, settled
from benchmark.running.notes import Notes
from benchmark.running.process import WorkerProcess
from benchmark.running.team import check_team

LOOK_AGAIN = 0.5  # seconds: a worker whose children keep its descriptor open dies without a word


@dataclass(frozen=True)
class Event:
    """What happens to a cell. `end` has its record; `done` of `total` cells are finished."""

    kind: Literal["start", "progress", "end"]
    cell: Cell
    message: str = ""
    fraction: float = 0.0
    record: Record | None = None
    done: int = 0
    total: int = 0


Report = Callable[[Event], None]


def execute(
    request: Request,
    planned: Sequence[PlannedCell],
    report: Report = lambda event: None,
    since: str | None = None,
    only_done: bool = False,
) -> list[Record]:
    """Run what is to run; one record for each planned cell, in order. KeyboardInterrupt leaves nothing running.

    `since`: when the run began that this is a part of, default now; what came after counts as its own. `only_done`: but
    for failures, which a job has of its earlier turns, or of somebody who gave up waiting for it.
    """
    check_device(request.device)
    check_team(request.jobs, request.device)
    check_writable(request.results, "results", "choose another with --output, or change its permissions")
    check_writable(request.runs, "runs", "change its permissions, or run from another folder")
    run = _Execution(request, list(planned), Notes(request.kept, report), since or provenance.now(), only_done)
    try:
        run.write_unrun()
        run.work()
    finally:
        run.close()
    return [run.records[planned_cell.cell] for planned_cell in planned]


def conclude(request: Request, planned: PlannedCell, since: str, state: str, reason: str, log: str) -> Record | None:
    """The record of a cell that nobody is left to write; None if another process is at it after all."""
    run = _Execution(request, [], lambda event: None, since)
    run.conclude(planned, state, reason, log)
    return run.records.get(planned.cell)


def check_device(name: str) -> None:
    """A device that is not there would fail every cell."""
    import torch

    if name == "auto":
        return
    try:
        kind = torch.device(name).type
    except RuntimeError as error:
        raise UserError(f"device: expected auto, cpu, cuda or cuda:1, got {name!r}") from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise UserError(f"device {name}: torch finds no GPU here; use auto or cpu")


def threads_per_worker(jobs: int) -> int:
    """The cores shared out; OMP_NUM_THREADS, where it is set, says how many there are to share."""
    given = os.environ.get("OMP_NUM_THREADS", "")
    available = min(int(given), provenance.cores()) if given.isdigit() and int(given) else provenance.cores()
    return max(1, available // jobs)


@dataclass
class _Execution:
    request: Request
    planned: list[PlannedCell]
    report: Report
    since: str
    only_done: bool = False
    records: dict[Cell, Record] = field(default_factory=dict)
    processes: dict[int, WorkerProcess] = field(default_factory=dict)  # by slot
    made: set[str] = field(default_factory=set)  # fits that are there

    def __post_init__(self) -> None:
        self.code = provenance.code()
        self.pending = deque((planned, False) for planned in self.planned if planned.action == "run")

    def write_unrun(self) -> None:
        """Cells that need no worker: done already, unsupported, or refused."""
        for planned in self.planned:
            if planned.action == "skip":
                path = planned.cell.path(self.request.results)
                if locks.clear(lock_path(path)):  # killed after its record was written
                    forget_unfinished(self.request.kept, planned.cell)
                self._finish(planned, read_record(path))
            elif planned.action == "write":
                self._write_unsupported(planned)
            elif planned.action == "refuse":
                self._finish(planned, Record(planned.cell, "failed", planned.reason))

    def work(self) -> None:
        while self.pending or any(process.planned for process in self.processes.values()):
            for slot in range(min(self.request.jobs, len(self.planned))):
                self._assign(slot)
            self._listen()

    def close(self) -> None:
        while self.processes:
            self.processes.popitem()[1].kill()

    def _assign(self, slot: int) -> None:
        process = self.processes.get(slot)
        if process is not None and process.planned is not None:
            return
        if (choice := self._next()) is None:
            return
        planned, wait = choice
        log = log_path(self.request.kept, planned.cell)
        if process is None:
            process = self.processes[slot] = WorkerProcess.start(self._hello(slot), log)
        process.give(planned, wait, log)
        self._report(Event("start", planned.cell))

    def _next(self) -> tuple[PlannedCell, bool] | None:
        """The next cell whose fit nobody here is making, so that no worker waits for another one."""
        busy = {p.planned.fit for p in self.processes.values() if p.planned and p.planned.fit} - self.made
        for i, (planned, wait) in enumerate(self.pending):
            if planned.fit not in busy:
                del self.pending[i]
                return planned, wait
        return None

    def _hello(self, slot: int) -> dict[str, Any]:
        threads = threads_per_worker(self.request.jobs)
        return {"request": self.request.to_json(), "since": self.since, "code": self.code,
                "slot": slot, "threads": threads, "only_done": self.only_done}  # fmt: skip

    def _listen(self) -> None:
        """Wait for an answer, a death or a time limit, and deal with it."""
        busy = {slot: process for slot, process in self.processes.items() if process.planned}
        limit = self.request.time_limit
        with selectors.DefaultSelector() as selector:
            for process in busy.values():
                selector.register(process.events, selectors.EVENT_READ)
            nearest = min((process.left(limit) for process in busy.values()), default=0.0)
            selector.select(max(0.0, min(nearest, LOOK_AGAIN)))
        for slot, process in busy.items():
            is_dead = process.popen.poll() is not None  # asked before reading, so that no last word is missed
            for answer in process.answers():
                self._handle(slot, process, answer)
            if process.planned is None:
                continue
            if is_dead:
                self._died(slot, process)
            elif process.left(limit) <= 0:
                self._replace(slot)
                self.conclude(process.planned, "timeout", f"longer than the time limit of {limit:g} s")

    def _handle(self, slot: int, process: WorkerProcess, answer: dict[str, Any]) -> None:
        planned = process.planned
        assert planned is not None
        if answer["kind"] == "clock":
            process.clock(answer["on"])
        elif answer["kind"] == "progress":
            self._report(Event("progress", planned.cell, answer["message"], answer["fraction"]))
        elif answer["kind"] == "busy":
            process.planned = None
            self.pending.append((planned, True))
        elif answer["kind"] == "end":
            process.planned = None
            self.made.add(planned.fit)
            if answer["spoilt"]:
                self._replace(slot)
            self._finish(planned, Record.from_json(answer["record"]))

    def _died(self, slot: int, process: WorkerProcess) -> None:
        planned, code = process.planned, self._replace(slot)
        assert planned is not None
        if code == -signal.SIGKILL:
            self.conclude(planned, "oom", "the worker was killed (SIGKILL), most likely for want of memory")
            return
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        self.conclude(planned, "failed", f"the worker process died ({how})", traceback=tail(process.log))

    def _replace(self, slot: int) -> int:
        """End the slot's worker; the next cell starts a new one."""
        return self.processes.pop(slot).kill()

    def conclude(self, planned: PlannedCell, state: str, reason: str, traceback: str = "") -> None:
        """Write the record of a cell that no worker can write; not if another process has got on with it."""
        path = planned.cell.path(self.request.results)
        try:
            with locks.attempt(lock_path(path)) as is_free:
                if not is_free:
                    self.pending.append((planned, True))
                    return
                record = settled(path, planned.key, self.since, self.request.overwrite, self.only_done)
                if record is None:
                    record = self._record(planned, state, reason, traceback)
                    write_record(path, record)
        except OSError as error:  # a full disk, say: the other cells go on
            record = self._record(planned, state, f"{reason}; and the record could not be written: {error}", traceback)
        self._finish(planned, record)

    def _write_unsupported(self, planned: PlannedCell) -> None:
        """Only what is new is written, so that running again changes no file."""
        path, record = planned.cell.path(self.request.results), None
        new = self._record(planned, "unsupported", planned.reason)
        with locks.hold(lock_path(path)):
            with suppress(FileNotFoundError, RecordError):
                record = read_record(path)
            if record is None or (record.state, record.reason, record.key) != (new.state, new.reason, new.key):
                record = new
                write_record(path, record)
        self._finish(planned, record)

    def _record(self, planned: PlannedCell, state: str, reason: str, traceback: str = "") -> Record:
        return Record(
            planned.cell,
            state,
            reason,
            traceback,
            about=planned.about,
            settings=planned.settings,
            key=planned.key,
            changes=planned.changes,
            provenance=self._provenance(),
        )

    def _provenance(self) -> dict[str, Any]:
        return {
            **self.code,
            "packages": provenance.packages(),
            "hardware": provenance.hardware(),
            "scorer_version": SCORER_VERSION,
            "created": provenance.now(),
        }

    def _finish(self, planned: PlannedCell, record: Record) -> None:
        self.records[planned.cell] = record
        self._report(Event("end", planned.cell, record=record))

    def _report(self, event: Event) -> None:
        self.report(replace(event, done=len(self.records), total=len(self.planned)))
