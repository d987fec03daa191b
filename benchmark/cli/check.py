"""`check METHOD|FILE`: the gate a method passes before its numbers count."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from benchmark.cli.arguments import add_data, add_json, add_plugin, add_verb, data_root
from benchmark.errors import UserError


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(
        verbs, "check", "run the gate on a method: shapes, determinism, leaks, gradients, overfitting",
        "  python -m benchmark check kriging\n  python -m benchmark check my_method.py\n",
    )  # fmt: skip
    parser.add_argument("method", metavar="METHOD|FILE", help="a registered name, or a plugin file")
    parser.add_argument("--dataset", default="navier_stokes", metavar="D", help="default: navier_stokes")
    for common in (add_data, add_plugin, add_json):
        common(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.planning.registry import registry
    from benchmark.tools.gate import run_gate

    is_file = arguments.method.endswith(".py")
    plugins = [*arguments.plugin, *([Path(arguments.method)] if is_file else [])]
    known = registry(plugins)
    names = [arguments.method]
    if is_file:
        origin = f"plugin {Path(arguments.method)}"
        names = [name for (kind, name), o in known.origin.items() if kind == "methods" and o == origin]
        if not names:
            raise UserError(f"{arguments.method}: no METHODS in it; the gate is for methods, `run` tries the others")
    results = {name: run_gate(known, name, arguments.dataset, data_root(arguments.data)) for name in names}
    if arguments.json:
        print(json.dumps({name: [vars(c) for c in checks] for name, checks in results.items()}, indent=1))
    else:
        _print(results)
    return 1 if any(c.verdict == "fail" for checks in results.values() for c in checks) else 0


def _print(results: dict) -> None:
    from tabulate import tabulate

    for name, checks in results.items():
        print(f"{name}:")
        print(tabulate([(c.name, c.task, c.verdict, c.note) for c in checks], ["check", "task", "verdict", "note"]))
        failed = sum(c.verdict == "fail" for c in checks)
        print(f"{failed} of {len(checks)} checks failed\n" if failed else "all checks passed\n")
