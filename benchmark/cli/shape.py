"""Arguments that shape a table: `leaderboard --method --task --dataset --metric --suite --samples --digits`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchmark.cli.arguments import add_filters, filters

if TYPE_CHECKING:
    from benchmark.leaderboard.shape import Shape
    from benchmark.planning.suites import Study


NAMES = ("method", "task", "dataset")


def add_shape(parser: argparse.ArgumentParser) -> None:
    add_filters(parser, NAMES, "only these {}s, comma-separated")
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


def shape_of(arguments: argparse.Namespace, suite: str | None = None) -> Shape:
    """What the arguments name; the cells of the suite where they name nothing."""
    from benchmark.leaderboard.measure import known_measure
    from benchmark.leaderboard.shape import Shape
    from benchmark.planning.suites import read_suite, read_title, suite_path

    path = suite_path(suite) if suite else None
    of_suite = read_suite(path) if path else {}
    chosen = filters(arguments, NAMES)
    return Shape(
        methods=chosen.get("method") or of_suite.get("methods", ()),
        tasks=chosen.get("task") or of_suite.get("tasks", ()),
        datasets=chosen.get("dataset") or of_suite.get("datasets", ()),
        measure=known_measure(arguments.metric, arguments.digits),
        title=read_title(path) if path else "",
        intervals=arguments.intervals,
        names=arguments.names,
    )
