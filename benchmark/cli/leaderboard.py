"""`leaderboard`: tables out of the records, the same bytes for the same records."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmark.cli.arguments import add_profile, add_verb, names
from benchmark.cli.compare import add_compare, show_comparison
from benchmark.errors import UserError

FORMATS = ("md", "latex", "csv", "json", "html")


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(
        verbs, "leaderboard", "write leaderboards from the records",
        "  python -m benchmark leaderboard\n  python -m benchmark leaderboard --format md,html --output leaderboard\n"
        "  python -m benchmark leaderboard --include my_method\n"
        "  python -m benchmark leaderboard --suite frame_count\n"
        "  python -m benchmark leaderboard --compare paper\n",
    )  # fmt: skip
    add_profile(parser)
    parser.add_argument("--format", default="md", metavar="F", help=f"{', '.join(FORMATS)} or all (default: md)")
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results/")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write files there (default: print)")
    parser.add_argument(
        "--suite", metavar="NAME|FILE", help="a suite with variants: one table of them side by side (md, csv or json)"
    )
    parser.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="NAME",
        help="also records that are not the suite's own, by the name of the method, task or dataset, and variants, by "
        "theirs; or plugins, variants, all (default: none of them)",
    )
    parser.add_argument(
        "--samples",
        choices=("one", "mean"),
        default="one",
        help="what is shown and ranked of methods that sample: one sample, or the mean of all (default: one)",
    )
    add_compare(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.leaderboard import write_leaderboard
    from benchmark.planning.registry import near

    if arguments.json:
        arguments.format = "json"
    if arguments.compare:
        return show_comparison(arguments)
    formats = FORMATS if arguments.format == "all" else names([arguments.format])
    for name in formats:
        if name not in FORMATS:
            raise UserError(f"unknown format {name!r}{near(name, FORMATS)}")
    if arguments.output is None and len(formats) > 1:
        raise UserError("several formats need a folder: --output DIR")
    if arguments.suite:
        return show_study(arguments, formats)
    folder = arguments.results / arguments.profile
    if not folder.is_dir():
        raise UserError(f"{folder}: no records there; run some cells first, or name the folder with --results")
    samples, include = arguments.samples, names(arguments.include)
    written = write_leaderboard(arguments.results, arguments.profile, formats, arguments.output, samples, include)
    if written.text is not None:
        sys.stdout.write(written.text)
    for path in written.paths:
        print(path)
    if written.left_out:
        print(written.left_out, file=sys.stderr)
    for problem in written.problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if written.problems else 0


def show_study(arguments: argparse.Namespace, formats: Sequence[str]) -> int:
    from benchmark.leaderboard.studies import RENDERERS, compare
    from benchmark.planning.suites import read_study, suite_path

    path = suite_path(arguments.suite)
    study = read_study(path)
    if study is None:
        raise UserError(f"suite {path.stem} has no variants; its records are in the leaderboard without --suite")
    unknown = [name for name in formats if name not in RENDERERS]
    if unknown:
        raise UserError(f"format {unknown[0]}: a study is shown as {', '.join(RENDERERS)}")
    include = names(arguments.include)
    comparison = compare(study, arguments.results, arguments.profile, arguments.samples, include)
    if not comparison.entries:
        folder = arguments.results / "studies" / study.name
        left_out = f" ({'; '.join(comparison.left_out)})" if comparison.left_out else ""
        raise UserError(
            f"{folder}: no records of profile {arguments.profile}{left_out}; `run --suite {arguments.suite}` first"
        )
    for name in formats:
        text = RENDERERS[name](comparison)
        if arguments.output is None:
            sys.stdout.write(text)
            continue
        arguments.output.mkdir(parents=True, exist_ok=True)
        file = arguments.output / f"{study.name}.{name}"
        file.write_text(text, encoding="utf-8")
        print(file)
    for line in comparison.left_out:
        print(line, file=sys.stderr)
    for problem in comparison.problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if comparison.problems else 0
