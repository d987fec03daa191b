"""Records of several folders in one table, and every value of them in one file."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmark.cli.arguments import add_filters, filters, names, passes
from benchmark.errors import UserError

FILTERS = ("profile", "method", "task", "dataset")


def add_merge(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--merge",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="add the records of other results folders, as far as they may be compared; the rest is refused, with a "
        "reason each, and no folder is changed",
    )


def with_merged(arguments: argparse.Namespace, execute: Callable[[argparse.Namespace], int]) -> int:
    """Runs `execute` on the records of --results and --merge together; 1 if any was refused."""
    from benchmark.leaderboard.merge import link, merge

    folders = [folder for folder in (arguments.results, *arguments.merge) if folder.is_dir()]
    for folder in arguments.merge:
        if not folder.is_dir():
            raise UserError(f"--merge {folder}: no such folder")
    merged = merge(list(dict.fromkeys(folder.resolve() for folder in folders)))
    with tempfile.TemporaryDirectory(prefix="merged-") as temporary:
        link(merged, Path(temporary))
        arguments.results, arguments.merge = Path(temporary), None
        code = execute(arguments)
    taken = ", ".join(f"{count} from {folder}" for folder, count in merged.counts.items())
    print(f"records taken, each cell once: {taken}; {len(merged.refused)} refused", file=sys.stderr)
    for refusal in merged.refused:
        print(f"refused: {refusal}", file=sys.stderr)
    return 1 if merged.refused else code


def add_export(actions: argparse._SubParsersAction) -> None:
    help = "write every value of every test trajectory as one table, a .csv or .parquet file"
    action = actions.add_parser("export", help=help, description=f"{help[0].upper()}{help[1:]}.")
    action.add_argument("file", type=Path, metavar="FILE", help="ends in .csv or .parquet (with pyarrow)")
    add_filters(action, (*FILTERS, "metric"))
    action.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results/")
    action.set_defaults(execute=export)


def export(arguments: argparse.Namespace) -> int:
    from benchmark.leaderboard.collect import read_records
    from benchmark.leaderboard.values import values_table, write_values
    from benchmark.planning.registry import near
    from benchmark.records.cell import PROFILES

    wanted = filters(arguments, FILTERS)
    profiles = wanted.get("profile") or tuple(p for p in PROFILES if (arguments.results / p).is_dir())
    found, problems = [], []
    for profile in profiles:
        records, more = read_records(arguments.results, profile)
        found += [record for record in records if passes(record.cell, wanted)]
        problems += more
    known = {name for record in found for name in record.metrics}
    metrics = names(arguments.metric)
    for name in metrics:
        if found and name not in known:
            raise UserError(f"--metric: no record has {name!r}{near(name, known)}")
    table = values_table(found, metrics)
    if not len(table):
        raise UserError(f"{arguments.results}: no values there of what was asked for")
    write_values(table, arguments.file)
    print(f"{arguments.file}: {len(table)} values of {sum(r.state == 'done' for r in found)} records")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0
