"""Arguments that shape a table: `leaderboard --method --task --dataset --metric --suite --samples --digits`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchmark.cli.arguments import add_filters, filters
from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.leaderboard.shape import Shape, Suite
    from benchmark.planning.suites import Study


NAMES = ("method", "task", "dataset")
USUAL = {
    "metric": "rel_l2",
    "samples": "one",
    "digits": 3,
    "intervals": None,
    "names": None,
}  # of how numbers are shown


def add_shape(parser: argparse.ArgumentParser) -> None:
    add_filters(parser, NAMES, "only these {}s, comma-separated")
    parser.add_argument("--metric", metavar="NAME", help="see `list metrics` (default: rel_l2)")
    parser.add_argument(
        "--suite",
        metavar="NAME|FILE",
        help="only the cells of a suite; of one with variants, a table of them side by side",
    )
    parser.add_argument(
        "--samples",
        choices=("one", "mean"),
        help="what is shown and ranked of methods that sample: one sample, or the mean of all (default: one)",
    )
    parser.add_argument("--digits", type=int, metavar="N", help="significant digits (default: 3)")
    parser.add_argument(
        "--intervals",
        action=argparse.BooleanOptionalAction,
        help="beside the numbers (default: md yes, latex no; of a suite with variants yes)",
    )
    parser.add_argument(
        "--names",
        choices=("id", "display"),
        help="as `run` takes them, or as papers print them (default: latex display, md id)",
    )
    parser.set_defaults(**USUAL)


def check_page(arguments: argparse.Namespace) -> None:
    """What a table can be told, and the page has in a way of its own."""
    told = [name for name in ("digits", "names") if getattr(arguments, name) != USUAL[name]]
    told += ["no-intervals"] if arguments.intervals is False else []
    if told:
        raise UserError(
            f"--{told[0]}: the page (html) has {USUAL['digits']} digits, names as papers print them, and intervals "
            "that its reader turns off; leave it out, or ask for a table: --format md"
        )


def study_of(arguments: argparse.Namespace) -> Study | None:
    """The study that is asked for; None: no suite, or one without variants."""
    from benchmark.planning.suites import read_study, suite_path

    return read_study(suite_path(arguments.suite)) if arguments.suite else None


def shape_of(arguments: argparse.Namespace) -> Shape:
    """What the arguments name, and of the suite the rest."""
    from benchmark.leaderboard.measure import known_measure
    from benchmark.leaderboard.shape import Shape

    chosen = filters(arguments, NAMES)
    return Shape(
        methods=chosen.get("method", ()),
        tasks=chosen.get("task", ()),
        datasets=chosen.get("dataset", ()),
        measure=known_measure(arguments.metric, arguments.digits),
        suite=_suite(arguments.suite) if arguments.suite else None,
        intervals=arguments.intervals,
        names=arguments.names,
    )


def _suite(name: str) -> Suite:
    from benchmark.leaderboard.names import own_names
    from benchmark.leaderboard.shape import Suite
    from benchmark.planning.suites import read_suite, read_title, shows_capabilities, suite_path

    path = suite_path(name)
    cells = read_suite(path)
    return Suite(
        name,
        read_title(path),
        methods=own_names(cells["methods"], "methods"),
        tasks=own_names(cells["tasks"], "tasks"),
        datasets=own_names(cells["datasets"], "datasets"),
        capabilities=shows_capabilities(path),
    )
