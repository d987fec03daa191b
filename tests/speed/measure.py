"""Timing helpers: everything is measured interleaved (A, B, A, B) in one run and reported as a ratio."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping

from tabulate import tabulate


def interleaved(functions: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each, after one unmeasured call."""
    times: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        function()
    for _ in range(repeats):
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
        table.append((what, f"{value:.3g}", bound, "met" if met else "MISSED"))
    print(tabulate(table, ["figure", "measured", "bound", ""]))
