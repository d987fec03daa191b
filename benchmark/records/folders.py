"""Where a cell's things lie in the runs folder. Needs neither torch nor numpy."""

from __future__ import annotations

from pathlib import Path

from benchmark.records.cell import Cell

LOG_LINES = 30


def run_folder(runs: Path, cell: Cell) -> Path:
    """Where a method's fits and logs on a dataset go."""
    return runs / cell.profile / cell.dataset / f"{cell.method}-s{cell.seed}"


def log_path(runs: Path, cell: Cell) -> Path:
    """What a cell prints."""
    return run_folder(runs, cell) / f"{cell.task}.log"


def note_path(runs: Path, cell: Cell) -> Path:
    """What a cell says of its progress while it runs."""
    name = f"{cell.task}@{cell.variant}" if cell.variant else cell.task
    return run_folder(runs, cell) / f".{name}.note.json"


def tail(log: Path, lines: int = LOG_LINES) -> str:
    """The end of a log; nothing of one that cannot be read."""
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
