"""A worker process as its parent sees it: the cell it has, that cell's clock, what it answers, how it is ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmark.planning.plan import PlannedCell

SIGNALS = (signal.SIGTERM, signal.SIGUSR2)  # what Slurm warns all processes of a job with; see `worker.answer_signals`
# Our path comes this way and not as PYTHONPATH, where the interpreter would look for a sitecustomize.py to run.
BEGIN = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); from benchmark.running.worker import main; main()"


@dataclass
class WorkerProcess:
    """A worker process, its cell, and that cell's clock."""

    popen: subprocess.Popen[bytes]
    events: int  # descriptor we read
    life: int  # descriptor that closes when we die; then the worker's group dies too
    buffer: bytes = b""
    planned: PlannedCell | None = None
    log: Path = Path()
    spent: float = 0.0
    running_since: float | None = None

    @classmethod
    def start(cls, hello: dict[str, Any], log: Path) -> WorkerProcess:
        """`log` gets what the process says before its first cell."""
        events, answers = os.pipe()
        watched, life = os.pipe()
        threads = str(hello["threads"])
        environment = os.environ | {
            "OMP_NUM_THREADS": threads,
            "MKL_NUM_THREADS": threads,
        }
        path = json.dumps([str(folder) or os.getcwd() for folder in sys.path])
        command = [sys.executable, "-P", "-c", BEGIN, path, *map(str, (answers, watched, os.getpid()))]
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("ab") as file, _held_back(SIGNALS):
                popen = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=file, stderr=file,
                    pass_fds=(answers, watched), start_new_session=True, env=environment,
                )  # fmt: skip
        finally:
            os.close(answers)
            os.close(watched)
        os.set_blocking(events, False)
        process = cls(popen, events, life)
        process.send(hello)
        return process

    def send(self, value: dict[str, Any]) -> None:
        assert self.popen.stdin is not None
        with suppress(BrokenPipeError):  # it died; the loop will notice
            self.popen.stdin.write(json.dumps(value).encode() + b"\n")
            self.popen.stdin.flush()

    def give(self, planned: PlannedCell, wait: bool, log: Path) -> None:
        self.planned, self.log = planned, log
        self.spent, self.running_since = 0.0, None  # the worker says when it begins
        self.send({"cell": asdict(planned.cell), "wait": wait, "log": str(log)})

    def clock(self, on: bool) -> None:
        if self.running_since is not None:
            self.spent += time.monotonic() - self.running_since
        self.running_since = time.monotonic() if on else None

    def left(self, limit: float | None) -> float:
        """Seconds until the time limit."""
        if limit is None or self.running_since is None:
            return float("inf")
        return limit - self.spent - (time.monotonic() - self.running_since)

    def answers(self) -> Iterator[dict[str, Any]]:
        """Whole lines that have come in."""
        while True:
            try:
                part = os.read(self.events, 1 << 16)
            except BlockingIOError:
                break
            if not part:
                break
            self.buffer += part
        *lines, self.buffer = self.buffer.split(b"\n")
        yield from (json.loads(line) for line in lines)

    def kill(self) -> int:
        """End it with all it started; its return code."""
        with suppress(ProcessLookupError):  # it and all its children have ended
            os.killpg(self.popen.pid, signal.SIGKILL)
        code = self.popen.wait()
        if self.popen.stdin is not None:
            with suppress(BrokenPipeError):  # unsent bytes
                self.popen.stdin.close()
        os.close(self.events)
        os.close(self.life)
        return code


@contextmanager
def _held_back(signals: Iterable[signal.Signals]) -> Iterator[None]:
    """Signals wait until this is over, and in a process that is started meanwhile until it asks for them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
