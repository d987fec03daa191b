"""The figure of a curve: error against the seconds of a fit, and against its FLOP where they are counted.

a line a method    a point a budget, filled at the profile's own; bars are 95 % intervals
dashed levels      references, named at the right edge with their errors, with an arrow where they lie beyond it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchmark.figures.style import (
    DASHES,
    GREY,
    ONE_COLUMN,
    PANEL_HEIGHT,
    SMALL,
    TWO_COLUMNS,
    Look,
    heading,
    looks,
    save,
    styled,
)
from benchmark.leaderboard.curve import Curve, Line, Point
from benchmark.leaderboard.display import display
from benchmark.leaderboard.entries import Entry
from benchmark.leaderboard.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Cost = Literal["seconds", "flop"]

NEAR = 2.5  # a level is on the axis if it is within this factor of the points
MARGIN = 1.12  # of the axis around what is drawn, as a factor
LINE = 0.058  # height of a label, as a share of the panel's
TICKS = ((1.2, (1, 2, 3, 5)), (2.5, (1, 2, 5)), (99, (1,)))  # decades -> the multiples of ten's powers that are marked
COLUMNS = 5  # of the legend
UNITS = ((1e18, "EFLOP"), (1e15, "PFLOP"), (1e12, "TFLOP"), (1e9, "GFLOP"), (1e6, "MFLOP"))


@dataclass(frozen=True)
class Panel:
    """What is on the horizontal axis."""

    cost: Cost
    label: str
    unit: float = 1.0


def draw(curve: Curve, stem: Path) -> list[Path]:
    """Write the figure as `stem.png` and `stem.pdf`."""
    with styled():
        return save(make(curve), stem)


def make(curve: Curve) -> Figure:
    from matplotlib.figure import Figure

    panels = panels_of(curve)
    width = TWO_COLUMNS if len(panels) > 1 else ONE_COLUMN * 1.3
    figure = Figure(figsize=(width, PANEL_HEIGHT + 0.5), layout="constrained")
    grid: Any = figure.subplots(1, len(panels), sharey=True, squeeze=False)
    look, limits = looks([line.method for line in curve.lines]), error_limits(curve)
    for axes, panel in zip(grid[0], panels, strict=True):
        for line in curve.lines:
            _draw_line(axes, line, panel, look[line.method])
        _draw_levels(axes, curve.references, limits)
        _scale(axes, panel, limits)
    grid[0][0].set_ylabel("relative $\\ell_2$ error (%)")
    what = heading(curve.dataset, curve.task, curve.profile)
    grid[0][0].set_title(what, loc="left", color=GREY, fontsize=SMALL)
    _name_levels(grid[0][-1], curve.references, limits)
    _legend(figure, curve, look)
    return figure


def panels_of(curve: Curve) -> list[Panel]:
    """Seconds always; FLOP if any fit has them, in a unit that suits the middle of the axis."""
    flop = [point.flop for line in curve.lines for point in line.points if point.flop]
    panels = [Panel("seconds", f"training compute ({'CPU-' * curve.on_cpu}seconds)")]
    if flop:
        middle = sqrt(min(flop) * max(flop))
        unit, name = next((unit for unit in UNITS if middle >= unit[0]), UNITS[-1])
        panels.append(Panel("flop", f"training compute ({name})", unit))
    return panels


def shown(line: Line, cost: Cost) -> Iterator[tuple[Point, float]]:
    """The points with a number and a cost, as logarithms need them."""
    for point in line.points:
        value = getattr(point, cost)
        if point.entry.mean and value:
            yield point, value


def interval(entry: Entry) -> tuple[float, float]:
    """Over trajectories and seeds where there are several, else over trajectories."""
    pair = (entry.low, entry.high) if entry.total_low is None else (entry.total_low, entry.total_high)
    return pair[0] or 0.0, pair[1] or 0.0


def error_limits(curve: Curve) -> tuple[float, float]:
    """Of the points with their intervals, and of levels that are not far off."""
    points = [point.entry for line in curve.lines for point, _ in shown(line, "seconds")]
    means = [entry.mean for entry in points if entry.mean]
    if not means:
        raise ValueError("curve: expected a point with an error and a cost")
    low = min([*means, *(max(interval(entry)[0], 0.2 * (entry.mean or 0.0)) for entry in points)])
    high = max([*means, *(interval(entry)[1] for entry in points)])
    near = [level.mean for level in curve.references if level.mean and low / NEAR < level.mean < high * NEAR]
    return min([low, *near]) / MARGIN, max([high, *near]) * MARGIN


def _draw_line(axes: Axes, line: Line, panel: Panel, look: Look) -> None:
    points = list(shown(line, panel.cost))
    x = [value / panel.unit for _, value in points]
    y = [point.entry.mean or 0.0 for point, _ in points]
    bounds = [interval(point.entry) for point, _ in points]
    bars = [[max(m - low, 0.0) for m, (low, _) in zip(y, bounds, strict=True)],
            [max(high - m, 0.0) for m, (_, high) in zip(y, bounds, strict=True)]]  # fmt: skip
    axes.errorbar(x, y, bars, color=look.colour, linestyle="-", elinewidth=0.8, capsize=1.5, capthick=0.8)
    for (point, _), at, error in zip(points, x, y, strict=True):
        inside = look.colour if point.budget == 1 else "white"
        axes.plot(at, error, look.marker, markeredgecolor=look.colour, markerfacecolor=inside, zorder=3)


def _scale(axes: Axes, panel: Panel, limits: tuple[float, float]) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(*limits)
    axes.set_xlabel(panel.label)
    axes.margins(x=0.08)
    wide = limits[1] > 8 * limits[0]
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)) if wide else MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=next(subs for decades, subs in TICKS if high < 10**decades * low)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


# -- references


def _draw_levels(axes: Axes, references: Sequence[Entry], limits: tuple[float, float]) -> None:
    for level, dashes in zip(references, _dashes(len(references)), strict=True):
        if level.mean and limits[0] <= level.mean <= limits[1]:
            axes.axhline(level.mean, color=GREY, linewidth=0.8, dashes=dashes, zorder=1)


def _dashes(count: int) -> list[tuple[float, ...]]:
    return [DASHES[i % len(DASHES)] for i in range(count)]


def _name_levels(axes: Axes, references: Sequence[Entry], limits: tuple[float, float]) -> None:
    """In the right margin, each at its height as far as they do not meet."""

    named = sorted((level.mean or 0.0, level.method) for level in references if level.mean is not None)
    low, high = limits
    wanted = [min(max(log(max(mean, 1e-30) / low) / log(high / low), 0.0), 1.0) for mean, _ in named]
    for (mean, name), height in zip(named, spread(wanted, LINE), strict=True):
        beyond = " ↓" if mean < low else " ↑" if mean > high else ""
        text, place = f"{display(name)} {number(mean)}{beyond}", (1.02, height)
        axes.annotate(
            text, place, xycoords="axes fraction", va="center", fontsize=SMALL, color=GREY, annotation_clip=False
        )


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """Rising heights moved as little as keeps them a gap apart and, where there is room, between 0 and 1.

    Those that meet form a block around their middle; blocks that meet are merged.
    """
    blocks: list[list[float]] = []
    for height in heights:
        blocks.append([height])
        while len(blocks) > 1 and _ends(blocks[-2], gap)[1] + gap > _ends(blocks[-1], gap)[0]:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [_ends(block, gap)[0] + i * gap for block in blocks for i in range(len(block))]


def _ends(block: Sequence[float], gap: float) -> tuple[float, float]:
    """Where the first and the last of a block come to lie."""
    length = (len(block) - 1) * gap
    low = max(0.0, min(sum(block) / len(block) - length / 2, 1.0 - length))
    return low, low + length


def _legend(figure: Figure, curve: Curve, look: dict[str, Look]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look[line.method].colour, marker=look[line.method].marker, markerfacecolor="white",
               label=f"{display(line.method)}{' (per trajectory)' * line.per_trajectory}")
        for line in curve.lines
    ]  # fmt: skip
    if any(point.budget == 1 for line in curve.lines for point, _ in shown(line, "seconds")):
        handles.append(Line2D([], [], color=GREY, marker="o", linestyle="", label="profile's own budget"))
    figure.legend(handles=handles, loc="outside upper center", ncols=min(COLUMNS, len(handles)))
