"""What was submitted, on disk: a folder for each batch, which is a job array or a single job.

    runs/slurm/benchmark-3fa2c1d0/
        batch.json                      its cells, in the order of the array; written before it is submitted
        12_submission.sh                what sbatch was given
        12_3_submitted.pkl              submitit's, for the job
        12_3_0_log.out, 12_3_0_log.err  what the job printed beside the cell's own log

The jobs bear the batch's name, so a batch is found in the queue even if the process that submitted it died right after.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.records.cell import Cell
from benchmark.records.files import write_json
from benchmark.records.record import Record
from benchmark.records.strict import checked, read_json
from benchmark.running import provenance
from benchmark.running.claim import settled
from benchmark.running.slurm.queue import NAME, Place

if TYPE_CHECKING:
    from benchmark.planning.plan import PlannedCell

BATCH = "batch.json"

Stamp = list[int] | None  # of a record file: it changes when a record is written; None: there was none to begin with


@dataclass(frozen=True)
class Ticket:
    """A cell's place in a batch."""

    cell: Cell
    key: str
    fit: str  # the folder of the fit that it makes or waits for
    before: Stamp  # of its record, when it was submitted; what is done since it was planned counts as written
    place: Place
    since: str  # when it was submitted
    folder: Path
    job: str  # "12_3"; "" if sbatch's answer was lost

    def logs(self) -> list[Path]:
        """What the job printed, on every task of it."""
        return sorted(self.folder.glob(f"{self.job}_*_log.*")) if self.job else []


def fit_folder(planned: PlannedCell) -> str:
    """Resolved, so that it says the same from every folder; "" where there is no fit."""
    return str(Path(planned.fit).resolve()) if planned.fit else ""


def batches_lock(runs: Path) -> Path:
    """Held by who submits, or gives a job up: no two may decide on one cell at the same time."""
    return runs / "slurm" / ".batches.lock"


def stamp(record: Path) -> Stamp:
    try:
        status = record.stat()
    except OSError:
        return None
    return [status.st_ino, status.st_mtime_ns]


def finished(planned: PlannedCell, results: Path) -> Record | None:
    """The record, if somebody has made it since the cell was planned: it need not run any more."""
    if planned.state == "done":  # to be overwritten
        return None
    return settled(planned.cell.path(results), planned.key, provenance.now(), overwrite=False, only_done=True)


def new_batch(runs: Path, results: Path, planned: Sequence[PlannedCell], since: str) -> Path:
    """The folder of a batch that is about to be submitted."""
    folder = runs.absolute() / "slurm" / f"benchmark-{uuid.uuid4().hex[:8]}"
    cells = [
        {"cell": p.cell.to_json(), "key": p.key, "fit": fit_folder(p), "before": _before(p, results)} for p in planned
    ]
    write_json(folder / BATCH, {"results": str(results.resolve()), "since": since, "cells": cells})
    return folder


def _before(planned: PlannedCell, results: Path) -> Stamp:
    before = stamp(planned.cell.path(results))  # first, so that no record falls between the two looks
    return None if finished(planned, results) else before


def note_job(folder: Path, job: str) -> None:
    """The number that Slurm gave it."""
    write_json(folder / BATCH, {**read_json(folder / BATCH), "job": job})


def drop_batch(folder: Path) -> None:
    """One that Slurm did not take."""
    shutil.rmtree(folder, ignore_errors=True)


def read_tickets(runs: Path, results: Path) -> dict[Cell, Ticket]:
    """The latest ticket of every cell whose record goes to this results folder."""
    found: dict[Cell, Ticket] = {}
    for path in runs.glob(f"slurm/*/{BATCH}"):
        if not NAME.fullmatch(path.parent.name):
            continue
        try:
            tickets = list(_tickets(path.parent, checked(read_json(path)), results.resolve()))
        except (OSError, KeyError, TypeError, ValueError):  # not ours, or half of one
            continue
        for ticket in tickets:
            if ticket.cell not in found or found[ticket.cell].since < ticket.since:
                found[ticket.cell] = ticket
    return found


def _tickets(folder: Path, raw: Any, results: Path) -> Iterator[Ticket]:
    if Path(raw["results"]).resolve() != results:
        return
    job, many = str(raw.get("job") or ""), len(raw["cells"]) > 1
    for index, entry in enumerate(raw["cells"]):
        own = f"{job}_{index}" if job and many else job
        place = (folder.name, index)
        cell, key, fit = Cell.from_json(entry["cell"]), str(entry["key"]), str(entry["fit"])
        yield Ticket(cell, key, fit, entry["before"], place, str(raw["since"]), folder, own)
