"""`verify`: does a results folder hold what it says?"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.cli.arguments import add_data, add_filters, add_json, add_plugin, add_verb, data_root, filters, names
from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.verify import Check

FILTERS = ("profile", "method", "task", "dataset")
EXAMPLES = """  python -m benchmark verify results
  python -m benchmark verify results --tier tables,scores,predictions
  python -m benchmark verify results --tier training --profile smoke --method fno --task cont_3
"""


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(verbs, "verify", "check that records, tables and predictions agree", EXAMPLES)
    parser.add_argument("results", type=Path, metavar="RESULTS", help="a folder of records, such as results/")
    parser.add_argument(
        "--tier",
        default="tables,scores",
        metavar="T",
        help="tables: records are whole and tables follow from them; scores: means and intervals follow from values; "
        "predictions: kept answers have the scores; training: run again, the record is the same; several "
        "comma-separated, or all (default: tables,scores)",
    )
    add_filters(parser, FILTERS, "only records of one or more {}s")
    parser.add_argument("--runs", type=Path, default=Path("runs"), metavar="DIR", help="of kept answers: runs/")
    for common in (add_data, add_plugin, add_json):
        common(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.planning.registry import near
    from benchmark.verify import TIERS, Selection, run_tiers

    tiers = TIERS if arguments.tier == "all" else names([arguments.tier])
    for tier in tiers:
        if tier not in TIERS:
            raise UserError(f"--tier: unknown tier {tier!r}{near(tier, TIERS)}")
    if not arguments.results.is_dir():
        raise UserError(f"{arguments.results}: no such folder")
    wanted = filters(arguments, FILTERS)
    plugins, data = tuple(arguments.plugin), data_root(arguments.data)
    progress = _progress if sys.stderr.isatty() and not arguments.json else lambda message: None
    selection = Selection(arguments.results, arguments.runs, data, plugins, wanted, progress)
    checks = run_tiers(tiers, selection)
    if not selection.found:
        raise UserError(f"{arguments.results}: no record there matches")
    if arguments.json:
        print(json.dumps(_document(tiers, checks), indent=1))
    else:
        _print(tiers, checks)
    return 0 if all(check.passed for check in checks) else 1


def _progress(message: str) -> None:
    print(f"\r\033[K{message[:100]}", end="", file=sys.stderr, flush=True)


def _document(tiers: Sequence[str], checks: Sequence[Check]) -> dict[str, object]:
    failed = Counter(check.tier for check in checks if not check.passed)
    count = Counter(check.tier for check in checks)
    summary = {tier: {"checked": count[tier], "failed": failed[tier]} for tier in tiers}
    return {"passed": not failed, "tiers": summary, "checks": [check.to_json() for check in checks]}


def _print(tiers: Sequence[str], checks: Sequence[Check]) -> None:
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    for check in checks:
        for fault in check.faults:
            print(f"{check.tier}: {check.path}: {fault}")
    for tier in tiers:
        own = [check for check in checks if check.tier == tier]
        failed = sum(not check.passed for check in own)
        print(f"{tier}: {len(own)} checked, {failed} with faults{_notes(own) if tier == 'training' else ''}")
        for text, count in Counter(check.unchecked for check in own if check.unchecked).items():
            print(f"  {count} of them {text}")
    if "predictions" in tiers and not any(check.tier == "predictions" for check in checks):
        print("predictions: none are kept of these records; `run` keeps some, and --runs says where")


def _notes(checks: Sequence[Check]) -> str:
    return "".join(f"\n  {check.path}: {check.note}" for check in checks if check.passed and check.note)
