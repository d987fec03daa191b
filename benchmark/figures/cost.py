"""Error against what a method costs: of one prediction, and of the fit, with the Pareto front of each.

On the front is whom nobody beats in both: no other method that is shown has less error and costs less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmark.errors import UserError
from benchmark.figures.comparable import ByMethod, comparable
from benchmark.figures.rates import interval
from benchmark.figures.style import (
    GREY,
    PANEL_HEIGHT,
    SMALL,
    TWO_COLUMNS,
    Look,
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
from benchmark.records.cost import cost as cost_of
from benchmark.records.cost import runs_on_cpu
from benchmark.records.record import Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = (("predict_seconds", "prediction of one sample ({}seconds)"), ("fit_seconds", "training, one fit ({}seconds)"))
FRONT = "#444444"


@dataclass(frozen=True)
class Point:
    name: str
    entry: Entry
    costs: Mapping[str, float]  # medians over seeds; without those that are 0 or not known
    is_reference: bool

    @property
    def error(self) -> float:
        return self.entry.mean or 0.0


@styled()
def cost(records: ByMethod, samples: Samples = "one") -> Figure:
    """`records`: those of each method, one a seed, of one task on one dataset; `points_of` says which are left out."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    points, notes = points_of(records, samples)
    if not points:
        raise UserError(f"cost: no method with an error and a cost; {'; '.join(notes)}")
    look, on_cpu = looks([point.name for point in points]), all(map(runs_on_cpu, _all(records)))
    figure = Figure(figsize=(TWO_COLUMNS, PANEL_HEIGHT + 0.7), layout="constrained")
    grid: Any = figure.subplots(1, 2, sharey=True)
    for axes, (name, label) in zip(grid, PANELS, strict=True):
        _draw(axes, points, name, look)
        axes.set_xlabel(label.format("CPU-" if on_cpu else ""))
    grid[0].set_ylabel("relative $\\ell_2$ error (%)")
    handles = [_handle(point, look[point.name]) for point in points]
    handles.append(Line2D([], [], color=FRONT, linestyle="--", linewidth=0.9, label="Pareto front"))
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=legend_columns([handle.get_label() for handle in handles], TWO_COLUMNS),
    )
    cell = next(iter(_all(records))).cell
    what = heading(cell.dataset, cell.task, cell.profile)
    hollow = "; hollow: references" if any(point.is_reference for point in points) else ""
    figure.supxlabel(f"{what}{hollow}", fontsize=SMALL, color=GREY, x=0.01, ha="left")
    return figure


def points_of(records: ByMethod, samples: Samples = "one") -> tuple[list[Point], list[str]]:
    """Of the methods that can be compared and have an error above 0, and a line for what is left out."""
    kept, notes = comparable(records)
    points = []
    for name, own in kept.items():
        entry = pool(own, own[0].basis, samples)
        if not entry.mean:
            notes.append(f"{name} left out: an error of 0 is not on a logarithmic axis")
            continue
        costs = {key: value for key, _ in PANELS if (value := _middle(key, own))}
        points.append(Point(name, entry, costs, own[0].is_reference))
        notes += [f"{name}: no cost of {key.split('_')[0]}" for key, _ in PANELS if key not in costs]
    return points, notes


def front(points: Sequence[Point], key: str) -> list[Point]:
    """From the cheapest to the best, each better than all that cost less."""
    best: list[Point] = []
    for point in sorted((p for p in points if key in p.costs), key=lambda p: (p.costs[key], p.error)):
        if not best or point.error < best[-1].error:
            best.append(point)
    return best


def _all(records: ByMethod) -> Any:
    return (record for own in records.values() for record in own)


def _middle(key: str, records: Sequence[Record]) -> float | None:
    """An instance method fits nothing before it predicts."""
    if key == "fit_seconds" and any(r.about is not None and r.about.scope == "instance" for r in records):
        return None
    values = [value for record in records if (value := cost_of(key, record)) is not None]
    return median(values) if values else None


def _draw(axes: Axes, points: Sequence[Point], key: str, look: Mapping[str, Look]) -> None:
    from matplotlib.ticker import LogFormatterSciNotation

    best = front(points, key)
    axes.step([p.costs[key] for p in best], [drawn(p.error) for p in best], where="post", color=FRONT, linestyle="--",
              linewidth=0.9, zorder=1, label="front")  # fmt: skip
    for point in points:
        if key in point.costs:
            _mark(axes, point, point.costs[key], look[point.name])
    axes.set_xscale("log")
    axes.margins(x=0.08, y=0.08)
    plain_log(axes.xaxis)
    axes.xaxis.set_major_formatter(LogFormatterSciNotation())
    error_axis(axes)


def _mark(axes: Axes, point: Point, at: float, look: Look) -> None:
    error, (low, high) = drawn(point.error), map(drawn, interval(point.entry))
    bars = [[min(max(error - low, 0.0), 0.8 * error)], [max(high - error, 0.0)]]
    axes.errorbar([at], [error], bars, color=look.colour, elinewidth=0.8, capsize=1.5, capthick=0.8, zorder=2)
    inside = "white" if point.is_reference else look.colour
    axes.plot(at, error, look.marker, markeredgecolor=look.colour, markerfacecolor=inside, zorder=3)


def _handle(point: Point, look: Look) -> Any:
    from matplotlib.lines import Line2D

    inside = "white" if point.is_reference else look.colour
    return Line2D([], [], color=look.colour, marker=look.marker, markerfacecolor=inside, linestyle="",
                  label=display(point.name))  # fmt: skip
