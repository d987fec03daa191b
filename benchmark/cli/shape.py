"""Arguments that shape a table: `leaderboard --method --task --dataset --metric --suite --samples --digits`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchmark.cli.arguments import names

if TYPE_CHECKING:
    from benchmark.leaderboard.shape import Shape
    from benchmark.planning.suites import Study


def add_shape(parser: argparse.ArgumentParser) -> None:
    for kind in ("method", "task", "dataset"):
        parser.add_argument(
            f"--{kind}",
            action="append",
            default=[],
            metavar=kind[0].upper(),
            help=f"only these {kind}s, comma-separated",
        )
    parser.add_argument("--metric", default="rel_l2", metavar="NAME", help="see `list metrics` (default: rel_l2)")
    parser.add_argument(
        "--suite",
        metavar="NAME|FILE",
        help="only the cells of a suite; of one with variants, a table of them side by side",
    )
    parser.add_argument(
        "--samples",
        choices=("one", "mean"),
        default="one",
        help="what is shown and ranked of methods that sample: one sample, or the mean of all (default: one)",
    )
    parser.add_argument("--digits", type=int, default=3, metavar="N", help="significant digits (default: 3)")
    parser.add_argument(
        "--intervals", action=argparse.BooleanOptionalAction, help="beside the numbers (default: md yes, latex no)"
    )
    parser.add_argument(
        "--names",
        choices=("id", "display"),
        help="as `run` takes them, or as papers print them (default: latex display, md id)",
    )


def study_of(arguments: argparse.Namespace) -> Study | None:
    """The study that is asked for; None: no suite, or one without variants."""
    from benchmark.planning.suites import read_study, suite_path

    return read_study(suite_path(arguments.suite)) if arguments.suite else None


def shape_of(arguments: argparse.Namespace) -> Shape:
    """What the arguments name; those of a suite where they name nothing."""
    from benchmark.leaderboard.measure import known_measure
    from benchmark.leaderboard.shape import Shape
    from benchmark.planning.suites import read_suite, read_title, suite_path

    plain = arguments.suite and not study_of(arguments)  # a study's records lie in folders of their own
    suite = read_suite(suite_path(arguments.suite)) if plain else {}
    chosen = {kind: tuple(names(getattr(arguments, kind))) for kind in ("method", "task", "dataset")}
    return Shape(
        methods=chosen["method"] or suite.get("methods", ()),
        tasks=chosen["task"] or suite.get("tasks", ()),
        datasets=chosen["dataset"] or suite.get("datasets", ()),
        measure=known_measure(arguments.metric, arguments.digits),
        title=read_title(suite_path(arguments.suite)) if suite else "",
        intervals=arguments.intervals,
        names=arguments.names,
    )
