"""What `run` says at its end: where things are, and what to type next."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from benchmark.planning.plan import PlannedCell
from benchmark.planning.request import Request
from benchmark.records.folders import log_path
from benchmark.records.record import Record


def places(
    planned: Sequence[PlannedCell], records: Sequence[Record], requests: Sequence[Request], results: Path, runs: Path
) -> list[str]:
    """Of one cell its files, as far as they are there; of several their folders."""
    if len(records) > 1:
        return [f"records in {results}/, logs and weights in {runs}/"]
    cell, request, fit = records[0].cell, requests[0], Path(planned[0].fit or runs / "none") / "state.safetensors"
    named = {"record": cell.path(request.results), "log": log_path(request.kept, cell), "weights": fit}
    return [f"{name}: {path}" for name, path in named.items() if path.exists()]


def next_step(records: list[Record], arguments: argparse.Namespace) -> str:
    """The command whose tables have these records, also those that do not enter by themselves."""
    from benchmark.leaderboard.selection import include_names, is_own
    from benchmark.planning.suites import read_study, suite_path

    profile = records[0].cell.profile
    parts = ["python -m benchmark leaderboard"]
    parts += [f"--profile {profile}"] if profile != "laptop" else []
    parts += [f"--results {shlex.quote(str(arguments.output))}"] if arguments.output != Path("results") else []
    if arguments.suite and read_study(suite_path(arguments.suite)):
        parts.append(f"--suite {shlex.quote(arguments.suite)}")
    include = include_names([record for record in records if not is_own(record)])
    return " ".join([*parts, *([f"--include {shlex.quote(','.join(include))}"] if include else [])])
