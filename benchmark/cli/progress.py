"""Progress on stderr: bars with the time left on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self


class Progress:
    """`with Progress() as progress: progress("navier_stokes train", done, total)`."""

    def __init__(self, quiet: bool = False):
        self.quiet, self.bars, self.tasks = quiet, None, {}
        self.last: dict[str, float] = {}

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self.bars = Progress(*columns, console=Console(stderr=True))
            self.bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.bars is not None:
            self.bars.stop()

    def __call__(self, what: str, done: int, total: int) -> None:
        if self.bars is not None:
            if what not in self.tasks:
                self.tasks[what] = self.bars.add_task(what, total=total)
            self.bars.update(self.tasks[what], completed=done)
        elif not self.quiet and (done == total or time.monotonic() - self.last.get(what, 0) > 5):
            self.last[what] = time.monotonic()
            print(f"{what}: {done}/{total}", file=sys.stderr, flush=True)
