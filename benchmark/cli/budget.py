"""`budget`: what a fit of each method takes on one core, measured on a few steps."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from benchmark.cli.arguments import add_data, add_json, add_plugin, add_profile, add_set, add_verb, data_root, names
from benchmark.errors import UserError

EXAMPLES = """  python -m benchmark budget
  python -m benchmark budget --method videopde,fno --dataset kolmogorov --task cont_3
  python -m benchmark budget --method fno --set training.batch=16
"""


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(verbs, "budget", "measure what a fit takes: steps, seconds on one core, FLOP", EXAMPLES)
    parser.add_argument("--method", action="append", metavar="M", help="one or more, comma-separated (default: all)")
    parser.add_argument("--task", action="append", metavar="T", help="default: the first that a method supports")
    parser.add_argument("--dataset", default="navier_stokes", metavar="D", help="default: navier_stokes")
    for common in (add_profile, add_data, add_set, add_plugin, add_json):
        common(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.cli.progress import Progress
    from benchmark.tools.budget import measure, open_training_data

    budgets, data = [], None
    for cell in cells(arguments):
        if data is None:
            with Progress(arguments.json) as progress:
                data = open_training_data(cell.dataset, data_root(arguments.data), progress)
        budgets.append(measure(cell, *data))
        print(f"{cell.cell.method}: {budgets[-1].seconds:.0f} s", file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps({"budgets": [asdict(budget) for budget in budgets]}, indent=1))
    else:
        show(budgets)
    return 0


def cells(arguments: argparse.Namespace) -> list[Any]:
    """One cell of each method that trains by steps: the first task that it supports."""
    from benchmark.planning.request import Request
    from benchmark.planning.resolve import Resolver
    from benchmark.records.cell import Cell
    from benchmark.tools.budget import trainings

    request = Request(
        methods=names(arguments.method) if arguments.method else ("all",),
        tasks=names(arguments.task) if arguments.task else ("all",),
        datasets=(arguments.dataset,),
        profile=arguments.profile,
        overrides=tuple(arguments.set),
        plugins=tuple(arguments.plugin),
        data=data_root(arguments.data),
    )
    resolver, found = Resolver.of(request), {}
    resolver.names("datasets")  # refuses one that is not known
    resolver.check_changes()
    for method in resolver.names("methods"):
        tasks = (Cell(method, task, arguments.dataset, arguments.profile, 0) for task in resolver.names("tasks"))
        cell = next((cell for cell in map(resolver.resolve, tasks) if cell.unsupported is None), None)
        if cell is not None and cell.method.scope != "instance" and trainings(cell.settings):
            found[method] = cell
    without = [name for name in names(arguments.method or []) if name != "all" and name not in found]
    if without:
        raise UserError(f"{', '.join(without)}: no fit by steps here: a reference, no training, or not supported")
    return list(found.values())


def show(budgets: list[Any]) -> None:
    from tabulate import tabulate

    from benchmark.tools.budget import GOALS

    header = ("method", "one fit for a", "task", "parameters", "batch", "steps", "ms a step", "s a fit", "goal s",
              "GFLOP a step", "TFLOP a fit")  # fmt: skip
    rows = [
        (b.method, b.scope, b.task, b.parameters, b.batch, b.steps, f"{b.step_ms:.1f}", f"{b.seconds:.0f}",
         f"{GOALS[b.scope]:.0f}", f"{b.step_gflop:.2f}", f"{b.step_gflop * b.steps / 1e3:.1f}")
        for b in budgets
    ]  # fmt: skip
    print(tabulate(rows, header, disable_numparse=True, stralign="right"))
    print("\nSeconds of the processor on one core, goals at profile laptop; FLOP without what is done value by value.")
