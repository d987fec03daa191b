"""The command line: one file per verb, each with `add(subparsers)` and `execute(arguments) -> exit code`.

Exit codes: 0 all fine, 1 something failed, 2 usage, 130 interrupted. Messages and progress go to stderr; with --json
one JSON document, and nothing else, goes to stdout, but for wrong usage. Verbs import what they need inside `execute`,
so that `list` is instant.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

from benchmark.errors import UserError
from benchmark.records.strict import visible
from benchmark.running.team import as_team

VERBS = {
    "list": "listing",
    "describe": "describe",
    "run": "run",
    "status": "status",
    "sweep": "sweep",
    "budget": "budget",
    "curve": "curve",
    "leaderboard": "leaderboard",
    "plot": "plot",
    "records": "records",
    "verify": "verify",
    "data": "data",
    "check": "check",
    "doctor": "doctor",
}

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.EIO)

EXAMPLES = """examples:
  python -m benchmark list methods
  python -m benchmark run --method kriging --task cont_3
  python -m benchmark run --method all --task all --dataset all --profile smoke
  python -m benchmark leaderboard --format md
  python -m benchmark check my_method.py
"""


class _Version(argparse.Action):
    """Looks the version up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: object) -> None:
        from importlib.metadata import version

        print(version("pde-video-benchmark"))
        parser.exit()


def parser(verbs_wanted: Sequence[str] = tuple(VERBS)) -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m benchmark",
        description="Compare learned PDE solvers on the same data, the same observations and the same scores.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("--version", action=_Version, nargs=0, help="show the suite's version and exit")
    result.set_defaults(requests=lambda arguments: {})  # of verbs that make no fits
    verbs = result.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name in verbs_wanted:
        importlib.import_module(f"benchmark.cli.{VERBS[name]}").add(verbs)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a character gets its number
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if not argv:
        parser().print_help()
        return 0
    wanted = argv[:1] if argv and argv[0] in VERBS else tuple(VERBS)  # one verb's file is read, not all
    arguments = argparse.Namespace()
    try:
        arguments = _parsed(parser(wanted), argv)
        return as_team(lambda: arguments.execute(arguments), lambda: arguments.requests(arguments).values())
    except KeyboardInterrupt:
        with suppress(ValueError):  # not of the main thread
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # we are ending already
        print("interrupted; run the same command again to go on", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UserError as error:  # anything else is a bug, and keeps its traceback
        return _failed(error, error.exit_code, arguments)
    except OSError as error:  # but for what a file or the machine denies us
        if error.filename is None and error.errno not in NO_ROOM:
            raise
        return _failed(error, 1, arguments)


def _failed(error: Exception, code: int, arguments: argparse.Namespace) -> int:
    message = visible(str(error))
    print(f"error: {message}", file=sys.stderr)
    if code == 1 and getattr(arguments, "json", False):
        print(json.dumps({"error": message}, indent=1))
    return code


def _parsed(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    if any(word.endswith("=--") for word in argv):  # argparse takes it for an empty list
        parser.error("'--' is no value of an option")
    return parser.parse_args(argv)
