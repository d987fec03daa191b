"""The worker process: runs the cells that come in on stdin, one JSON line each, and answers on a descriptor of its own.

`process.py` starts `main` with the arguments ANSWERS LIFE PARENT: the descriptor to answer on, one that closes with the
parent, and the parent's process id.

The first line describes the run, every further one a cell, or a fit to help with (`helper.py`). Answers have a `kind`:

    clock     on: whether time counts for the cell's limit (starting up, waiting for others and making data does not)
    progress  message, fraction
    busy      another process has this cell
    end       record, spoilt: whether the process should be replaced

A worker never outlives its parent: the kernel kills it when the parent dies (Linux), and a watching shell kills all
of its process group, with whatever the worker has started, when the descriptor closes (everywhere).
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import torch

from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolved, Resolver
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from benchmark.records.record import Record
from benchmark.running import locks, provenance
from benchmark.running.cell import RunContext, free_memory, help_to_fit, run_cell
from benchmark.running.claim import forget_unfinished, is_out_of_memory, lock_path, remove_parts, settled
from benchmark.running.process import SIGNALS
from benchmark.running.team import Team

PR_SET_PDEATHSIG = 1
PROGRESS_EVERY = 0.2  # seconds
LOG_EVERY = 10.0  # seconds between lines of progress in a log
WAITING = "waiting for another process"

Say = Callable[..., None]


@dataclass(frozen=True)
class Worker:
    """What stays the same from cell to cell."""

    resolver: Resolver
    since: str
    code: dict[str, Any]
    device: torch.device
    threads: int
    say: Say
    only_done: bool = False  # of a job: see `claim.settled`

    @property
    def request(self) -> Request:
        return self.resolver.request

    def run(self, cell: Cell, wait: bool) -> None:
        """Take the cell, unless another process has it and we are not to wait; run it, unless it is settled."""
        self._fresh_start()
        free_memory()
        lock = lock_path(cell.path(self.request.results))
        if not wait:
            with locks.attempt(lock) as is_free:
                record = self._settle(cell) if is_free else None
        else:
            with locks.hold(lock, self._wait):
                record = self._settle(cell)
        if record is None:
            self.say("busy")
        else:
            # The lock is released: we may be ended now.
            self.say("end", record=record.to_json(), spoilt=self._is_spoilt(record))

    def help(self, cell: Cell, team: Team, number: int) -> None:
        """Our part of fit `number` of the team; after a failure nobody knows what is left of its process group."""
        self._fresh_start()
        free_memory()
        spoilt = False
        try:
            help_to_fit(self.resolver.resolve(cell), self._context(lambda message, fraction: None), team, number)
        except (Exception, SystemExit):
            _log(traceback.format_exc())
            spoilt = True
        self.say("end", spoilt=spoilt)

    def _settle(self, cell: Cell) -> Record:
        self.say("clock", on=True)
        path = cell.path(self.request.results)
        remove_parts(path)
        resolved = self.resolver.resolve(cell)
        record = settled(path, resolved.key, self.since, self.request.overwrite, self.only_done)
        return record or self._compute(resolved, path)

    def _is_spoilt(self, record: Record) -> bool:
        """After running out of memory, an error on a GPU or in a team, nobody knows what is left in this process."""
        fragile = self.device.type != "cpu" or Team.here() is not None
        return record.state == "oom" or (record.state == "failed" and fragile)

    def _wait(self) -> None:
        self.say("progress", message=WAITING, fraction=0.0)

    def _compute(self, cell: Resolved, path: Path) -> Record:
        context = self._context(_Progress(self.say))
        try:
            record = run_cell(cell, context)
            write_record(path, record)
            forget_unfinished(self.request.kept, cell.cell)
            return record
        except (Exception, SystemExit) as error:  # whatever a stranger's method raises: the other cells go on
            _log(traceback.format_exc())
            record = _failure(cell, context, error)
        try:
            write_record(path, record)
        except OSError as error:
            record = replace(record, reason=f"{record.reason}; and the record could not be written: {error}")
        return record

    def _context(self, progress: Callable[[str, float], None]) -> RunContext:
        return RunContext(
            self.request, self.device, self.since, self.code, progress, clock=lambda runs: self.say("clock", on=runs)
        )

    def _fresh_start(self) -> None:
        """Undo what an earlier cell's method may have set for the whole process."""
        torch.set_num_threads(self.threads)
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)


class _Progress:
    """Tells the parent often, and the log now and then."""

    def __init__(self, say: Say):
        self.say, self.last, self.logged, self.message = say, 0.0, -LOG_EVERY, ""

    def __call__(self, message: str, fraction: float) -> None:
        clock, fraction = time.monotonic(), min(1.0, max(0.0, float(fraction)))  # NaN is 0: JSON has none
        if clock - self.logged >= LOG_EVERY:
            self.logged = clock
            _log(f"{provenance.now()} {fraction:4.0%} {message}")
        if message != self.message or clock - self.last >= PROGRESS_EVERY:
            self.last, self.message = clock, message
            self.say("progress", message=str(message), fraction=fraction)


def _failure(cell: Resolved, context: RunContext, error: BaseException) -> Record:
    return Record(
        cell.cell,
        "oom" if is_out_of_memory(error) else "failed",
        reason=f"{type(error).__name__}: {error}".strip(": "),
        traceback=traceback.format_exc(),
        about=cell.about,
        settings=cell.identity,
        key=cell.key,
        changes=cell.changes,
        provenance=provenance.describe(cell, context),
    )


def choose_device(name: str, slot: int) -> torch.device:
    """`auto` is cuda where there is one; parallel workers spread over the GPUs."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda":
        return torch.device("cuda", slot % max(1, torch.cuda.device_count()))
    return torch.device(name)


def die_with_parent(life: int, parent: int) -> None:
    """Both ways: the kernel is prompt but ends only this process, the shell ends the group."""
    subprocess.Popen(["/bin/sh", "-c", "read _; kill -KILL 0"], stdin=life)
    os.close(life)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os.killpg(0, signal.SIGKILL)


def answer_signals(in_slurm: bool) -> None:
    """Signals that were held back since we were started. Slurm's warnings are for the job's own process, which ends us
    if need be; what a method forks or starts keeps the default.
    """
    for number in SIGNALS if in_slurm else ():
        signal.signal(number, lambda *_: None)
        os.register_at_fork(after_in_child=partial(signal.signal, number, signal.SIG_DFL))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _take_stdin() -> TextIO:
    """Our lines, out of reach of a method that reads stdin."""
    lines = os.fdopen(os.dup(0), encoding="utf-8")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    return lines


def _redirect(log: Path, what: str) -> None:
    """What methods print goes to the cell's log, also what C code prints before it crashes.

    Where there is no room for a log, it stays in the one before: the cell itself says what is wrong.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    with suppress(OSError):
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("a") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
    _log(f"# {provenance.now()} process {os.getpid()}: {what}")


def _log(line: str) -> None:
    """At once, past any buffer; a full disk costs the line and nothing else."""
    with suppress(OSError):
        os.write(1, f"{line}\n".encode())


def _speaker(descriptor: int) -> Say:
    channel = os.fdopen(descriptor, "w", encoding="utf-8")

    def say(kind: str, **content: Any) -> None:
        channel.write(json.dumps({"kind": kind, **content}) + "\n")
        channel.flush()

    return say


def main() -> None:
    descriptor, life, parent = map(int, sys.argv[1:])
    die_with_parent(life, parent)
    answer_signals("SLURM_JOB_ID" in os.environ)
    lines, say = _take_stdin(), _speaker(descriptor)
    run = json.loads(lines.readline())
    resolver = Resolver.of(Request.from_json(run["request"]))
    device = choose_device(resolver.request.device, run["slot"])
    worker = Worker(resolver, run["since"], run["code"], device, run["threads"], say, run.get("only_done", False))
    gc.freeze()  # what is loaded now stays; collecting garbage between cells need not look at it
    for line in lines:
        job = json.loads(line)
        _redirect(Path(job["log"]), str(Cell.from_json(job["cell"])))
        cell, team = Cell.from_json(job["cell"]), Team.here()
        if team is not None and "fit" in job:
            worker.help(cell, team, job["fit"])
        else:
            worker.run(cell, job["wait"])
