"""`status`: what is queued, at work, done and failed, and where the logs are."""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.cli.arguments import add_filters, add_json, add_verb, filters, names, passes
from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.records.cell import Cell
    from benchmark.running.status import Status

FILTERS = ("method", "task", "dataset", "profile")
SETTLED = ("done", "unsupported")  # nothing will become of them, and nothing went wrong
HEADER = ("cell", "state", "done", "left", "where", "")
LINES = 20  # of each log
WIDE = 90  # letters of a message
EXAMPLES = """  python -m benchmark status
  python -m benchmark status --state failed,timeout,oom
  python -m benchmark status --logs fno/cont_3/navier_stokes
"""


def add(verbs: argparse._SubParsersAction) -> None:
    help = "what is queued, running, done and failed, here or on a cluster"
    parser = add_verb(verbs, "status", help, EXAMPLES)
    add_filters(parser, FILTERS)
    parser.add_argument(
        "--state", action="append", default=[], metavar="S", help="only these (default: all but done and unsupported)"
    )
    parser.add_argument("--logs", metavar="CELL", help="the logs of a cell, by parts of its name: fno/cont_3")
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results/")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="default: runs/")
    add_json(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.running.status import overview

    if not (arguments.results.is_dir() or arguments.runs.is_dir()):
        raise UserError(f"{arguments.results}: no such folder; name the one with the records with --results")
    states = _states(arguments)
    found = overview(arguments.results, arguments.runs)
    for warning in found.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    wanted = filters(arguments, FILTERS)
    cells = [status for status in found.cells if passes(status.cell, wanted)]
    if arguments.logs:
        return show_logs([status for status in cells if _is_named(status.cell, arguments.logs)], arguments)
    chosen = [status for status in cells if (status.state in states if states else True)]
    if arguments.json:
        print(json.dumps({"cells": [status.to_json() for status in chosen], "counts": _counts(cells)}, indent=1))
    else:
        show([status for status in chosen if states or status.state not in SETTLED])
        print(", ".join(f"{count} {state}" for state, count in _counts(cells).items()) or "no cells yet")
    return 0


def show(found: Sequence[Status]) -> None:
    from tabulate import tabulate

    if found:
        print(tabulate([_row(status) for status in found], HEADER, disable_numparse=True), end="\n\n")


def show_logs(found: Sequence[Status], arguments: argparse.Namespace) -> int:
    """Paths and last lines, of as many cells as were named."""
    from benchmark.records.folders import tail

    if not found:
        raise UserError(f"--logs {arguments.logs}: no such cell; `python -m benchmark status` shows their names")
    if arguments.json:
        print(json.dumps({"cells": [status.to_json() for status in found]}, indent=1))
        return 0
    for status in found:
        print(f"{spell(status.cell)}: {status.state}")
        for path in status.logs:
            print(f"== {path}\n{tail(path, LINES)}")
        if not status.logs:
            print("   no log yet")
    return 0


def spell(cell: Cell) -> str:
    """As `--logs` takes it."""
    name = f"{cell.method}@{cell.variant}" if cell.variant else cell.method
    return f"{name}/{cell.task}/{cell.dataset}/{cell.profile}/s{cell.seed}"


def _is_named(cell: Cell, wanted: str) -> bool:
    """Every part is one of the cell's, in any order."""
    return set(wanted.strip("/").split("/")) <= set(spell(cell).split("/"))


def _row(status: Status) -> list[Any]:
    done = "" if status.fraction is None else f"{100 * status.fraction:.0f} %"
    message = " ".join(status.message.split())
    short = message if len(message) <= WIDE else f"{message[: WIDE - 1]}…"
    return [spell(status.cell), status.state, done, _clock(status.seconds_left), status.where, short]


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def _counts(found: Sequence[Status]) -> dict[str, int]:
    from benchmark.running.status import ORDER

    counts = Counter(status.state for status in found)
    return {state: counts[state] for state in ORDER if counts[state]}


def _states(arguments: argparse.Namespace) -> tuple[str, ...]:
    from benchmark.planning.registry import near
    from benchmark.running.status import ORDER

    states = names(arguments.state)
    for state in states:
        if state not in ORDER:
            raise UserError(f"--state: unknown state {state!r}{near(state, ORDER)}")
    return states
