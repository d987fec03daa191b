"""A cell under the eyes of a logger: what its fit has logged so far, and at the end its scores.

The log of a fit, `log.jsonl` in its folder, has its whole curve, also that of a fit which was resumed or which another
cell made. So it is read again whenever the cell says how far it is, and methods know of no logger. A logger that fails
costs its own lines, not the cell.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmark.planning.resolve import Resolved
from benchmark.records.record import Record
from benchmark.running.loggers import LOGGERS, Logger

LOG = "log.jsonl"
Tell = Callable[[str, float], None]


class Watch:
    """Passes progress on, and what is new in the logs of `folder` to the logger."""

    def __init__(self, logger: Logger, folder: Path):
        self.logger, self.folder = logger, folder
        self.sizes: dict[Path, int] = {}
        self.seen: set[tuple[Path, int, tuple[str, ...]]] = set()
        self.broken = False

    def follow(self, tell: Tell) -> Tell:
        def progress(message: str, fraction: float) -> None:
            self._safely(self.read)
            tell(message, fraction)

        return progress

    def read(self) -> None:
        for path in sorted(self.folder.rglob(LOG)):
            if (size := path.stat().st_size) != self.sizes.get(path):
                self.sizes[path] = size
                self._pass_on(path)

    def finish(self, record: Record) -> None:
        means = {f"score/{name}": m.mean for name, m in record.metrics.items() if isinstance(m.mean, float)}
        numbers = {f"cost/{name}": value for name, value in record.cost.items() if type(value) in (int, float)}
        self._safely(self.read)
        self._safely(lambda: self.logger.scores(means | numbers))

    def close(self) -> None:
        self._safely(self.logger.close)

    def _pass_on(self, path: Path) -> None:
        """Whole lines; a stage with a folder of its own gives its name to its curves."""
        stage = "" if path.parent == self.folder else f"{path.parent.relative_to(self.folder)}/"
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
            row: dict[str, Any] = json.loads(line) if line.endswith("\n") else {}
            step, names = row.pop("step", None), tuple(row)
            if step is not None and (path, step, names) not in self.seen:
                self.seen.add((path, step, names))
                self.logger.curve(step, {f"{stage}{name}": value for name, value in row.items()})

    def _safely(self, work: Callable[[], None]) -> None:
        if self.broken:
            return
        try:
            work()
        except Exception as error:  # a full disk, a server that is gone
            self.broken = True
            print(f"nothing more is logged: {type(error).__name__}: {error}", file=sys.stderr)


@contextmanager
def watched(cell: Resolved, name: str, runs: Path) -> Iterator[Watch]:
    """The cell's own logger by its name in `LOGGERS`."""
    watch = Watch(LOGGERS[name](cell, runs), cell.fit_folder(runs))
    try:
        yield watch
    finally:
        watch.close()
