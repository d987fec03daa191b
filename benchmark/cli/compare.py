"""`leaderboard --compare paper`: the published numbers, orderings and claims against the records."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.cli.arguments import names
from benchmark.cli.shape import USUAL
from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.published import Comparison

PAPERS = ("paper",)
WHOLE = ("--method", "--task", "--dataset", "--suite", "--include")  # what has no meaning beside it


def add_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--compare",
        metavar="paper",
        help="hold the VideoPDE paper's orderings and claims against the records, and at profile paper its numbers "
        "(md, latex, csv or json)",
    )
    parser.add_argument("--json", action="store_true", help="the same as --format json")


def show_comparison(arguments: argparse.Namespace) -> int:
    from benchmark.cli.output import show_texts
    from benchmark.published.text import RENDERERS

    formats = _formats(arguments, tuple(RENDERERS))
    comparison, problems = read_comparison(arguments.results, arguments.profile)
    texts = {f"compare_paper.{RENDERERS[name][0]}": RENDERERS[name][1](comparison) for name in formats}
    show_texts(texts, arguments.output, arguments.json)
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def read_comparison(results: Path, profile: str) -> tuple[Comparison, list[str]]:
    """The comparison of a results folder, studies included, and what could not be read."""
    from benchmark.leaderboard.collect import read_records, read_studies
    from benchmark.published import compare

    records, problems = read_records(results, profile)
    studies, more = read_studies(results, profile)
    return compare(records, profile, studies), [*problems, *more]


def _formats(arguments: argparse.Namespace, known: Sequence[str]) -> Sequence[str]:
    from benchmark.records.cell import PROFILES

    if arguments.compare not in PAPERS:
        raise UserError(f"--compare: expected {' or '.join(PAPERS)}, got {arguments.compare!r}")
    given = [option for option in WHOLE if getattr(arguments, option.lstrip("-"), None)]
    if given:
        raise UserError(f"{given[0]}: --compare holds all of the paper against all records; leave it out")
    shown = [name for name, usual in USUAL.items() if getattr(arguments, name) != usual]
    if shown:
        raise UserError(f"--{shown[0]}: --compare shows the paper's own numbers beside ours, in one form; leave it out")
    if arguments.profile not in PROFILES:
        raise UserError(f"profile: expected one of {', '.join(PROFILES)}, got {arguments.profile!r}")
    if not (arguments.results / arguments.profile).is_dir():
        folder = arguments.results / arguments.profile
        raise UserError(f"{folder}: no records there; run some cells first, or name the folder with --results")
    formats = known if arguments.format == "all" else names([arguments.format])
    if unknown := [name for name in formats if name not in known]:
        raise UserError(f"format {unknown[0]}: a comparison is shown as {', '.join(known)}")
    if arguments.output is None and len(formats) > 1:
        raise UserError("several formats need a folder: --output DIR")
    return formats
