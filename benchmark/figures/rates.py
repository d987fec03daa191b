"""Error against the share of sites that is observed: a panel a dataset, a line a method, bars of 95 %."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

from benchmark.errors import UserError
from benchmark.figures.comparable import comparable
from benchmark.figures.style import (
    GREY,
    ONE_COLUMN,
    SMALL,
    TWO_COLUMNS,
    drawn,
    error_axis,
    heading,
    legend_columns,
    looks,
    plain_log,
    styled,
)
from benchmark.leaderboard.display import display
from benchmark.leaderboard.entries import Entry, Samples, pool
from benchmark.leaderboard.names import ordered
from benchmark.records.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 3  # of panels
PANEL = 1.9  # inches high
LOW = 0.2  # of the mean: how far down a bar goes at most, on a logarithmic axis


@styled()
def rates(records: Sequence[Record], samples: Samples = "one") -> Figure:
    """`records`: of any methods, seeds, tasks and datasets; `entries_by_rate` says which are left out."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    points, _ = entries_by_rate(records, samples)
    if not points:
        raise UserError("rates: no record with an error and an observation rate")
    names = ordered((name for name, _, _ in points), "methods")
    places, look = ordered((dataset for _, dataset, _ in points), "datasets"), looks(names)
    across = min(COLUMNS, len(places))
    down = ceil(len(places) / across)
    size = (ONE_COLUMN if across == 1 else TWO_COLUMNS, down * PANEL + 0.75)
    figure = Figure(figsize=size, layout="constrained")
    grid: Any = figure.subplots(down, across, squeeze=False)
    for axes, dataset in zip(grid.flat, places, strict=False):
        for name in names:
            own = {rate: entry for (n, d, rate), entry in points.items() if (n, d) == (name, dataset)}
            _line(axes, own, look[name])
        _scale(axes, sorted({rate for _, d, rate in points if d == dataset}))
        axes.set_title(display(dataset))
    for axes in grid.flat[len(places) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel("relative $\\ell_2$ error (%)")
    for axes in [*grid[-1][: len(places) - across * (down - 1)], *grid[-2 if down > 1 else -1]]:
        axes.set_xlabel("observed sites (%)")
    handles = [Line2D([], [], color=look[n].colour, marker=look[n].marker, label=display(n)) for n in names]
    columns = legend_columns([display(name) for name in names], size[0])
    figure.legend(handles=handles, loc="outside upper center", ncols=columns)
    profile = records[0].cell.profile
    figure.supxlabel(heading("", "continuous observation", profile), fontsize=SMALL, color=GREY, x=0.01, ha="left")
    return figure


Points = dict[tuple[str, str, float], Entry]  # (method, dataset, observed share in percent)


def entries_by_rate(records: Sequence[Record], samples: Samples = "one") -> tuple[Points, list[str]]:
    """Seeds pooled as in tables, each column on the basis that most of its methods share."""
    columns: dict[tuple[str, str], dict[str, list[Record]]] = {}
    for record in records:
        own = columns.setdefault((record.cell.dataset, record.cell.task), {})
        own.setdefault(record.cell.label, []).append(record)
    points: Points = {}
    notes = []
    for (dataset, task), column in columns.items():
        kept, why = comparable(column)
        notes += [f"{dataset} {task}: {line}" for line in why]
        for name, own in kept.items():
            entry, rate = pool(own, own[0].basis, samples), own[0].task.get("rate")
            if entry.mean and isinstance(rate, (int, float)):
                points[name, dataset, 100 * rate] = entry
            else:
                notes.append(f"{dataset} {task}: {name} left out: no observation rate, or an error of 0")
    return points, notes


def _line(axes: Axes, own: dict[float, Entry], look: Any) -> None:
    x = sorted(own)
    means = [drawn(own[rate].mean or 0.0) for rate in x]
    bounds = [interval(own[rate]) for rate in x]
    bars = [[min(mean - drawn(low), (1 - LOW) * mean) for mean, (low, _) in zip(means, bounds, strict=True)],
            [drawn(high) - mean for mean, (_, high) in zip(means, bounds, strict=True)]]  # fmt: skip
    axes.errorbar(x, means, [[max(v, 0.0) for v in side] for side in bars], color=look.colour, marker=look.marker,
                  markersize=3.5, elinewidth=0.8, capsize=1.5, capthick=0.8)  # fmt: skip


def interval(entry: Entry) -> tuple[float, float]:
    """Over trajectories and seeds where there are several, else over trajectories."""
    pair = (entry.low, entry.high) if entry.total_low is None else (entry.total_low, entry.total_high)
    return pair[0] or 0.0, pair[1] or 0.0


def _scale(axes: Axes, marks: Sequence[float]) -> None:
    from matplotlib.ticker import FixedLocator

    axes.set_xscale("log")
    axes.margins(x=0.12)
    plain_log(axes.xaxis)
    axes.xaxis.set_major_locator(FixedLocator(marks))
    error_axis(axes)
