"""The view of a run under way: one bar for all cells and one for each that works, or plain lines."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from benchmark.cli.origin import origin, state_with_origin

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from benchmark.records.record import Record
    from benchmark.running.pool import Event


class Live:
    """Called with every event of a run."""

    def __init__(self, total: int, since: str = "", quiet: bool = False):
        self.total, self.since, self.quiet = total, since, quiet
        self.bars: Progress | None = None  # on a terminal
        self.tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        if not self.quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
            self.bars = Progress(*columns, console=Console(stderr=True))
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
            print(
                f"[{event.done}/{event.total}] {event.cell}: {outcome(event.record, self.since)}",
                file=sys.stderr,
                flush=True,
            )

    def _bar(self, event: Event, bars: Progress) -> None:
        name = str(event.cell)
        if event.kind == "end":
            bars.console.print(f"{event.cell}: {outcome(event.record, self.since)}", markup=False, highlight=False)
            bars.update(self.tasks["all"], completed=event.done)
            if name in self.tasks:
                bars.remove_task(self.tasks.pop(name))
            return
        if name not in self.tasks:
            self.tasks[name] = bars.add_task(name, total=1.0)
        text = f"{event.cell} {event.message}".rstrip()
        bars.update(self.tasks[name], completed=event.fraction, description=text)


def outcome(record: Record | None, since: str) -> str:
    """One line on a record."""
    if record is None:
        return ""
    if record.state != "done":
        return state_with_origin(record, since)
    error, cost = record.headline, record.cost
    return (
        f"rel_l2 {error.mean:.3g} % [{error.low:.3g}, {error.high:.3g}], fit {cost['fit_seconds']:.1f} s, "
        f"predict {cost['predict_seconds']:.3g} s per trajectory, {origin(record, since)}"
    )
