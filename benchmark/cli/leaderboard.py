"""`leaderboard`: tables out of the records, the same bytes for the same records."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.cli.arguments import add_profile, add_verb, names
from benchmark.cli.compare import add_compare, show_comparison
from benchmark.cli.exchange import add_merge, with_merged
from benchmark.cli.output import show_files, show_texts
from benchmark.cli.shape import add_shape, check_page, shape_of, study_of
from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.planning.suites import Study

FORMATS = ("md", "latex", "csv", "json", "html")


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(
        verbs, "leaderboard", "write leaderboards from the records",
        "  python -m benchmark leaderboard\n  python -m benchmark leaderboard --format md,html --output leaderboard\n"
        "  python -m benchmark leaderboard --method kriging,videopde,fno --dataset kolmogorov\n"
        "  python -m benchmark leaderboard --metric crps --samples mean --task cont_3\n"
        "  python -m benchmark leaderboard --suite continuous --format latex --intervals --digits 2\n"
        "  python -m benchmark leaderboard --include my_method\n"
        "  python -m benchmark leaderboard --suite frame_count\n"
        "  python -m benchmark leaderboard --compare paper\n",
    )  # fmt: skip
    add_profile(parser)
    parser.add_argument("--format", metavar="F", help=f"{', '.join(FORMATS)} or all (default: md)")
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results/")
    parser.add_argument("--output", type=Path, metavar="DIR", help="write files there (default: print)")
    parser.add_argument(
        "--runs",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="predictions, for the page's videos (default: runs/)",
    )
    add_shape(parser)
    add_compare(parser)
    add_merge(parser)
    parser.add_argument(
        "--include",
        action="append",
        default=[],
        metavar="NAME",
        help="also records that are not the suite's own, by the name of the method, task or dataset, and variants, by "
        "theirs; or plugins, variants, all (default: none of them)",
    )
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.leaderboard import write_leaderboard
    from benchmark.planning.registry import near

    if arguments.merge:
        return with_merged(arguments, execute)
    arguments.format = _format(arguments)
    formats = FORMATS if arguments.format == "all" else names([arguments.format])
    for name in formats:
        if name not in FORMATS:
            raise UserError(f"unknown format {name!r}{near(name, FORMATS)}")
    if not formats:
        raise UserError(f"--format: expected some of {', '.join(FORMATS)}")
    if arguments.compare:
        return show_comparison(arguments)
    if arguments.output is None and len(formats) > 1:
        raise UserError("several formats need a folder: --output DIR")
    study = study_of(arguments)
    if study:
        return show_study(study, arguments, formats)
    if set(formats) == {"html"}:
        check_page(arguments)
    folder = arguments.results / arguments.profile
    if not folder.is_dir():
        raise UserError(f"{folder}: no records there; run some cells first, or name the folder with --results")
    samples, include, shape = arguments.samples, names(arguments.include), shape_of(arguments)
    written = write_leaderboard(
        arguments.results, arguments.profile, formats, arguments.output, samples, include, shape, arguments.runs
    )
    if written.text is not None:
        sys.stdout.write(written.text)
    else:
        show_files(written.paths, arguments.json)
    if written.left_out:
        print(written.left_out, file=sys.stderr)
    for problem in written.problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if written.problems else 0


def _format(arguments: argparse.Namespace) -> str:
    if not arguments.json:
        return arguments.format or "md"
    if arguments.format not in (None, "json"):
        raise UserError(f"--json is the same as --format json, not {arguments.format}: leave one of them out")
    return "json"


def show_study(study: Study, arguments: argparse.Namespace, formats: Sequence[str]) -> int:
    from benchmark.leaderboard.studies import RENDERERS, compare

    include, shape = names(arguments.include), shape_of(arguments)
    comparison = compare(study, arguments.results, arguments.profile, arguments.samples, include, shape)
    if not comparison.entries:
        folder = arguments.results / "studies" / study.name
        left_out = f" ({'; '.join(comparison.left_out)})" if comparison.left_out else ""
        raise UserError(
            f"{folder}: no records of profile {arguments.profile}{left_out}; "
            f"`python -m benchmark run --suite {arguments.suite}` makes them"
        )
    texts = {f"{study.name}.{RENDERERS[name][0]}": RENDERERS[name][1](comparison) for name in formats}
    show_texts(texts, arguments.output, arguments.json)
    for line in comparison.left_out:
        print(line, file=sys.stderr)
    for problem in comparison.problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if comparison.problems else 0
