"""Where a cell's things lie in the runs folder. Needs neither torch nor numpy.

runs/<profile>/<dataset>/<method>-s<seed>/     fits, and what is kept of runs: logs, notes, predictions
runs/studies/<suite>/<variant>/<the same>      what is kept of the runs of a study's variant; fits are shared
"""

from __future__ import annotations

from pathlib import Path

from benchmark.records.cell import Cell

LOG_LINES = 30
STUDIES = "studies"  # `<results>/studies/<suite>/<variant>/` is a results tree of its own


def kept_in(runs: Path, results: Path) -> Path:
    """The part of a runs folder that has the logs, notes and predictions of the records of a results tree.

    A study's variants have one each: their cells have the same names, and those of the plain ones.
    """
    found = study_of(results)
    return runs.joinpath(STUDIES, *found) if found else runs


def study_of(results: Path) -> tuple[str, str] | None:
    """The study and the variant that a results tree is of; None for any other tree."""
    folder = results.absolute()
    return (folder.parent.name, folder.name) if folder.parent.parent.name == STUDIES else None


def run_folder(runs: Path, cell: Cell) -> Path:
    """Where a method's fits and logs on a dataset go."""
    return runs / cell.profile / cell.dataset / f"{cell.method}-s{cell.seed}"


def log_path(runs: Path, cell: Cell) -> Path:
    """What a cell prints."""
    return run_folder(runs, cell) / f"{cell.task}.log"


def note_path(runs: Path, cell: Cell) -> Path:
    """What a cell says of its progress while it runs."""
    return run_folder(runs, cell) / f".{_own(cell)}.note.json"


def parts_folder(runs: Path, cell: Cell) -> Path:
    """What there is of a cell's prediction while it is made."""
    return run_folder(runs, cell) / f".{_own(cell)}.parts"


def _own(cell: Cell) -> str:
    return f"{cell.task}@{cell.variant}" if cell.variant else cell.task


def tail(log: Path, lines: int = LOG_LINES) -> str:
    """The end of a log; nothing of one that cannot be read."""
    try:
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
