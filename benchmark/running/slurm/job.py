"""What a job runs: one cell, in a worker of its own, with the clean-up of a local run.

Slurm tells a job some time before its end (SIGUSR2). Then submitit, which started us, puts it back into the queue and
ends it, and the fit goes on from its last checkpoint in the next turn. A job that is preempted is put back by Slurm
itself. Nothing need be saved in a hurry: a fit writes a checkpoint every minute.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.records.cell import Cell
from benchmark.running.pool import conclude, execute
from benchmark.running.team import as_team

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission


@dataclass(frozen=True)
class CellJob:
    request: Mapping[str, Any]  # of this cell alone, as plain values
    since: str  # when it was submitted: what an earlier turn of it has done is its own
    turns: int  # of the time limit

    def __call__(self) -> int:
        """With several tasks, the first does what a single one would; the others help with its fits."""
        use_own_cores()
        return as_team(self.lead, lambda: [Request.from_json(self.request)])

    def lead(self) -> int:
        from submitit.core.utils import UncompletedJobError

        request = Request.from_json(self.request)
        planned = plan(request, is_part=True)
        try:
            execute(request, planned, since=self.since, only_done=True)
        except UncompletedJobError:  # time is up, and it was the last turn
            reason = f"not done after {self.turns + 1} times the time limit of its job"
            for each in planned:
                conclude(request, each, self.since, "timeout", reason, "")
        return 0

    def checkpoint(self) -> DelayedSubmission:
        """What submitit puts back into the queue."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(self)


def alone(request: Request, cell: Cell) -> Request:
    """The request narrowed to one cell, with absolute folders."""
    names = {"methods": (cell.method,), "tasks": (cell.task,), "datasets": (cell.dataset,), "seeds": (cell.seed,)}
    folders = {name: getattr(request, name).absolute() for name in ("results", "runs", "data")}
    files = {
        "config": request.config and request.config.absolute(),
        "plugins": tuple(map(Path.absolute, request.plugins)),
    }
    return replace(request, **names, **folders, **files, jobs=1)


def use_own_cores() -> None:
    """Where jobs are not bound to their cores, a process would take all of the node's."""
    if cores := os.environ.get("SLURM_CPUS_PER_TASK"):
        os.environ.setdefault("OMP_NUM_THREADS", cores)
