"""The view of a run under way: a bar for all cells and one for each that works, or plain lines.

A cell goes through phases (data, fit, predict, score), and the fraction that it tells is that of its phase: where it
falls a new one has begun, and the clock of the bar with it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from benchmark.cli.origin import origin, state_with_origin, whereabouts

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from benchmark.records.record import Record
    from benchmark.running.pool import Event

UNFINISHED = 0.9999  # a bar that was full once keeps its times for ever


class Live:
    """Called with every event of a run."""

    def __init__(self, total: int, since: str = "", quiet: bool = False, kept: Path | None = None):
        self.total, self.since, self.quiet, self.kept = total, since, quiet, kept
        self.bars: Progress | None = None  # on a terminal
        self.tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            self.bars = make_bars()
            if self.total > 1:
                self.tasks["all"] = self.bars.add_task(f"{self.total} cells", total=self.total)
            self.bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.bars is not None:
            self.bars.stop()

    def __call__(self, event: Event) -> None:
        if self.quiet:
            return
        if self.bars is None:
            self._line(event)
        else:
            self._bar(event, self.bars)

    def _line(self, event: Event) -> None:
        if event.kind == "end":
            print(f"[{event.done}/{event.total}] {self._outcome(event)}", file=sys.stderr, flush=True)

    def _bar(self, event: Event, bars: Progress) -> None:
        name = str(event.cell)
        if event.kind == "end":
            bars.console.print(self._outcome(event), markup=False, highlight=False)
            if "all" in self.tasks:
                bars.update(self.tasks["all"], completed=event.done)
            if name in self.tasks:
                bars.remove_task(self.tasks.pop(name))
            return
        if name not in self.tasks:
            self.tasks[name] = bars.add_task(name, total=1.0)
        task, text = self.tasks[name], f"{event.cell.label} {event.cell.task} {event.cell.dataset}: {event.message}"
        fraction = min(event.fraction, UNFINISHED)
        if fraction < next(t.completed for t in bars.tasks if t.id == task):
            bars.reset(task, total=1.0)
        bars.update(task, completed=fraction, description=text.removesuffix(": "))

    def _outcome(self, event: Event) -> str:
        return f"{event.cell}: {outcome(event.record, self.since, self.kept)}"


def make_bars() -> Progress:
    """Times keep their place; what is too long for the terminal is cut from the description."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.table import Column

    what = TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"))
    spent, left = (Column(no_wrap=True, min_width=7, justify="right") for _ in range(2))
    return Progress(
        what,
        BarColumn(16, table_column=Column(min_width=16)),
        TimeElapsedColumn(table_column=spent),
        TimeRemainingColumn(table_column=left),
        TextColumn("left"),
        console=Console(stderr=True),
        expand=True,
    )


def outcome(record: Record | None, since: str, kept: Path | None = None) -> str:
    """One line on a record; of one that went wrong also where, and which log has more."""
    if record is None:
        return ""
    if record.state != "done":
        return f"{state_with_origin(record, since)}{whereabouts(record, kept)}"
    error, cost = record.headline, record.cost
    return (
        f"rel_l2 {error.mean:.3g} % [{error.low:.3g}, {error.high:.3g}], fit {cost['fit_seconds']:.1f} s, "
        f"predict {cost['predict_seconds']:.3g} s per trajectory, {origin(record, since)}"
    )
