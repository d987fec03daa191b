"""Timing helpers: everything is measured interleaved (A, B, A, B) in one run and reported as a ratio.

Every script takes `--quick`: a tiny size that runs its code in seconds and measures nothing. `test_quick` does so with
each, so that none of them rots.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from tabulate import tabulate

T = TypeVar("T")
QUICK = "--quick" in sys.argv[1:]


def sized(full: T, quick: T) -> T:
    """A size to measure at, or the tiny one of `--quick`."""
    return quick if QUICK else full


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser that knows `--quick`; a script adds its own arguments."""
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--quick", action="store_true", help="run all code at a tiny size; measures nothing")
    return result


def interleaved(functions: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each, after one unmeasured call."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(sized(repeats, 1)):
        for name, function in functions.items():
            began = time.perf_counter()
            function()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in times.items()}


def warn_if_busy() -> None:
    load = os.getloadavg()[0]
    if load > 0.5:
        print(
            f"warning: load average {load:.1f}; close other programs for figures that mean something", file=sys.stderr
        )


def report(rows: list[tuple[str, float, str]]) -> None:
    """(what, value, bound): e.g. ("step / bare transforms", 1.6, "<= 2")."""
    table = []
    for what, value, bound in rows:
        sign, _, limit = bound.partition(" ")
        met = value <= float(limit) if sign == "<=" else value >= float(limit)
        table.append((what, f"{value:.3g}", bound, sized("met" if met else "MISSED", "not measured")))
    print(tabulate(table, ["figure", "measured", "bound", ""]))
