"""`--executor slurm`, for all verbs that run cells."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.planning.plan import PlannedCell
    from benchmark.planning.request import Request
    from benchmark.records.record import Record
    from benchmark.running.pool import Report

AFTER = "`python -m benchmark status` shows the jobs, `scancel` ends them, and the same command waits for them"


def add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--executor", choices=("local", "slurm"), default="local", help="where cells run (default: local)"
    )
    parser.add_argument(
        "--cluster", type=Path, metavar="FILE", help="what cells ask Slurm for, as YAML; see CLUSTER.md"
    )


def check_cluster(arguments: argparse.Namespace) -> None:
    """What can be told before anything is planned."""
    if arguments.executor == "local":
        extra = [f"--{name.replace('_', '-')}" for name in ("cluster", "no_wait") if getattr(arguments, name, None)]
        if extra:
            raise UserError(f"{extra[0]} goes with --executor slurm")
    elif not arguments.dry_run and not shutil.which("sbatch"):
        raise UserError(
            "--executor slurm: no `sbatch` here; run this on a node of the cluster, or use --executor local"
        )


def submit_all(
    requests: Mapping[Any, Request], planned: Mapping[Any, Sequence[PlannedCell]], arguments: argparse.Namespace
) -> dict[str, int]:
    """Into the queue with what is missing and not in it; the new jobs, each with its number of cells."""
    from benchmark.running.slurm.resources import Cluster
    from benchmark.running.slurm.submit import submit

    cluster, jobs = Cluster.read(arguments.cluster, arguments.plugin), {}
    for variant, request in requests.items():
        jobs |= submit(request, planned[variant], cluster)
    if not arguments.json:
        for job, cells in jobs.items():
            print(f"submitted job {job}: {cells} cell{'s' * (cells > 1)}", file=sys.stderr, flush=True)
    return jobs


def wait_for(request: Request, planned: Sequence[PlannedCell], report: Report) -> list[Record]:
    from benchmark.running.slurm.wait import wait

    try:
        return wait(request, planned, report)
    except KeyboardInterrupt:
        print(f"the jobs stay in the queue; {AFTER}", file=sys.stderr)
        raise


def submit_and_wait(arguments: argparse.Namespace) -> Any:
    """An engine like `pool.execute`."""

    def engine(request: Request, planned: Sequence[PlannedCell], report: Report) -> list[Record]:
        submit_all({"": request}, {"": planned}, arguments)
        return wait_for(request, planned, report)

    return engine


def show_jobs(jobs: Mapping[str, int], planned: Mapping[Any, Sequence[PlannedCell]], as_json: bool) -> int:
    """What `--no-wait` leaves behind."""
    cells = [p for found in planned.values() for p in found]
    to_run, new = sum(p.action == "run" for p in cells), sum(jobs.values())
    if as_json:
        print(json.dumps({"jobs": dict(jobs), "cells": len(cells), "submitted": new, "queued": to_run - new}, indent=1))
        return 0
    print(
        f"{new} of {len(cells)} cells submitted, {to_run - new} in the queue already, {len(cells) - to_run} need no job"
    )
    print(f"next: {AFTER}")
    return 0
