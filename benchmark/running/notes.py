"""What a running cell says of itself, on disk, for whoever asks from another process or another node.

    runs/<profile>/<dataset>/<method>-s<seed>/.<task>.note.json      (.<task>@<variant>.note.json)

A process that is killed leaves its note behind: one counts only while its cell is known to run.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.records.cell import Cell
from benchmark.records.files import write_json
from benchmark.records.folders import note_path
from benchmark.records.strict import finite, read_json
from benchmark.running.claim import remove_parts
from benchmark.running.provenance import now

if TYPE_CHECKING:
    from benchmark.running.pool import Event, Report

EVERY = 3.0  # seconds


@dataclass(frozen=True)
class Note:
    message: str
    fraction: float
    seconds_left: float | None  # of what the message names; None: not known yet
    at: str
    host: str
    process: int

    @property
    def is_sound(self) -> bool:
        """Whether it is what `Notes` writes; a file may hold anything."""
        texts, left = (self.message, self.at, self.host), () if self.seconds_left is None else (self.seconds_left,)
        is_typed = all(isinstance(text, str) for text in texts) and finite(self.fraction, self.process, *left)
        return is_typed and 0 <= self.fraction <= 1


def read_note(runs: Path, cell: Cell) -> Note | None:
    try:
        note = Note(**read_json(note_path(runs, cell)))
    except (OSError, TypeError, ValueError):
        return None
    return note if note.is_sound else None


class Notes:
    """Passes the events of a run on and notes the progress of its cells."""

    def __init__(self, runs: Path, report: Report, clock: Callable[[], float] = time.monotonic):
        self.runs, self.report, self.clock = runs, report, clock
        self.written: dict[Cell, float] = {}
        self.pace: dict[Cell, Pace] = {}

    def __call__(self, event: Event) -> None:
        with suppress(OSError):  # a full disk, say: the cell itself will tell
            self._note(event)
        self.report(event)

    def _note(self, event: Event) -> None:
        cell, clock = event.cell, self.clock()
        if event.kind != "progress":
            path = note_path(self.runs, cell)
            path.unlink(missing_ok=True)
            remove_parts(path)
            self.written[cell], self.pace[cell] = clock, Pace()
            return
        left = self.pace.setdefault(cell, Pace()).seconds_left(event.fraction, clock)
        if clock - self.written.get(cell, 0.0) >= EVERY:
            self.written[cell] = clock
            note = Note(event.message, event.fraction, left, now(), platform.node(), os.getpid())
            write_json(note_path(self.runs, cell), asdict(note))


class Pace:
    """How fast a fraction grows. A new phase begins where it falls, as from a fit to its prediction."""

    def __init__(self) -> None:
        self.first: tuple[float, float] | None = None  # fraction, clock
        self.last = 0.0

    def seconds_left(self, fraction: float, clock: float) -> float | None:
        if self.first is None or fraction < self.last:
            self.first = (fraction, clock)
        self.last = fraction
        gained = fraction - self.first[0]
        return (1.0 - fraction) * (clock - self.first[1]) / gained if gained > 0 else None
