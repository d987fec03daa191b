"""What a process other than the first of a team does: its part of each fit, in a worker of its own, until all is over.

The worker is the usual one, with its guards: it dies with this process, and this process replaces it after a failure.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.planning.resolve import run_folder
from benchmark.records.cell import Cell
from benchmark.running.pool import threads_per_worker
from benchmark.running.process import WorkerProcess
from benchmark.running.team import Team

if TYPE_CHECKING:
    from torch.distributed import Store  # pyright: ignore[reportPrivateImportUsage]

EVERY = 0.1  # seconds between looks


@dataclass
class Helper:
    team: Team
    requests: Callable[[], Iterable[Request]]  # of its own command line
    number: int = 0  # of the newest fit
    is_busy: bool = False
    process: WorkerProcess | None = None
    hello: dict[str, Any] | None = None  # what the worker was started with
    cells: dict[Cell, Request] | None = None  # that it may be called to; found when it is

    def serve(self) -> int:
        """The exit code: 1 if process 0 ends without a word."""
        try:
            store = self.team.store()
            while not store.check(["over"]):
                self._look(store)
                time.sleep(EVERY)
            store.add("left", 1)
            return 0
        except KeyboardInterrupt:  # process 0 says so
            return 130
        except RuntimeError as error:  # of the store
            print(f"process {self.team.rank} of {self.team.world}: process 0 is gone ({error})", file=sys.stderr)
            return 1
        finally:
            self._drop()

    def _look(self, store: Store) -> None:
        newest = store.add("fits", 0)
        if newest > self.number and store.check([f"fit/{newest}"]):
            if self.is_busy:
                self._drop()  # the fit before was given up
            self.number = newest
            if call := self._known(store.get(f"fit/{newest}")):
                self._begin(*call)
            else:
                self._refuse(store, f"failed/{newest}")
        elif self.is_busy:
            self._attend(store, f"failed/{self.number}")

    def _known(self, text: bytes) -> tuple[Cell, Request] | None:
        """The cell that the store names, and the request of ours that it is of; None if it is of none."""
        if self.cells is None:
            self.cells = {p.cell: request for request in self.requests() for p in plan(request, is_part=True)}
        try:
            cell = Cell.from_json(json.loads(text))
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        return (cell, self.cells[cell]) if cell in self.cells else None

    def _refuse(self, store: Store, key: str) -> None:
        who = f"process {self.team.rank} of {self.team.world}"
        store.compare_set(key, "", f"{who}: the fit is of no cell that it was started for")

    def _begin(self, cell: Cell, request: Request) -> None:
        log = run_folder(request.kept, cell) / f"{cell.task}.{self.team.rank}.log"
        hello = {"request": request.to_json(), "since": "", "code": {},
                 "slot": self.team.local_rank, "threads": threads_per_worker(1)}  # fmt: skip
        if self.process is not None and self.hello != hello:
            self._drop()
        if self.process is None:
            self.process, self.hello = WorkerProcess.start(hello, log), hello
        self.process.send({"cell": cell.to_json(), "log": str(log), "fit": self.number})
        self.is_busy = True

    def _attend(self, store: Store, key: str) -> None:
        """To the worker's end, well or not, and to the news that somebody else has given up."""
        assert self.process is not None
        code = self.process.popen.poll()  # asked before reading, so that no last word is missed
        ends = [answer for answer in self.process.answers() if answer["kind"] == "end"]
        if ends:
            self.is_busy = False
            if ends[0]["spoilt"]:
                self._drop()
        elif code is not None:
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            store.compare_set(key, "", f"process {self.team.rank} of {self.team.world}: its worker died ({how})")
            self._drop()
        elif store.check([key]):
            self._drop()

    def _drop(self) -> None:
        """End the worker; the next fit starts a new one."""
        if self.process is not None:
            self.process.kill()
        self.process, self.is_busy = None, False
