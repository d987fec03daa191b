"""Whether methods that sample know how far they may be off.

Left, each test trajectory: the error that the spread of the samples promises against the error of their mean. A
perfect sampler lies along the diagonal, one below it is over-confident. Right: how many of the hidden sites lie inside
the samples' central interval, against how many should.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmark.errors import UserError
from benchmark.figures.comparable import ByMethod, comparable
from benchmark.figures.style import GREY, SMALL, TWO_COLUMNS, Look, heading, legend_columns, looks, styled
from benchmark.leaderboard.display import display
from benchmark.leaderboard.samplers import SPREAD_SKILL, spread_of
from benchmark.records.record import MetricScore, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SKILL = "rel_l2_mean"
LEVELS = (50, 80, 95)  # of coverage in percent
DODGE = 1.2  # percent between the coverages of two methods, so that all are seen
HEIGHT = 3.4  # inches


@dataclass(frozen=True)
class Calibration:
    """Of one method; errors and spreads in percent of the truth's norm, a value a trajectory."""

    skill: tuple[float, ...]
    spread: tuple[float, ...]
    ratio: float  # spread over skill of all trajectories together
    coverage: Mapping[int, MetricScore]  # by nominal level
    samples: int


@styled()
def calibration(records: ByMethod) -> Figure:
    """`records`: those of each method, of one task on one dataset; of several seeds the first is drawn."""
    from matplotlib.figure import Figure

    found, notes = calibrations(records)
    if not found:
        raise UserError(f"calibration: no method that samples; {'; '.join(notes)}")
    look = looks(list(found))
    figure = Figure(figsize=(TWO_COLUMNS, HEIGHT), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, own in found.items():
        _spread(left, own, look[name], f"{display(name)} ({own.ratio:.2f})")
        _coverage(right, own, look[name], DODGE * (list(found).index(name) - (len(found) - 1) / 2))
    _finish(left, right)
    columns = legend_columns([text.get_label() for text in left.lines if text.get_marker() != "None"], TWO_COLUMNS)
    figure.legend(loc="outside upper center", ncols=columns, title="method (spread over error, pooled)",
                  title_fontsize=SMALL)  # fmt: skip
    cell = next(r.cell for own in records.values() for r in own)
    counts = sorted({own.samples for own in found.values()})
    text = f"{heading(cell.dataset, cell.task, cell.profile)}; {' or '.join(map(str, counts))} samples"
    figure.supxlabel(text, fontsize=SMALL, color=GREY, x=0.01, ha="left")
    return figure


def calibrations(records: ByMethod) -> tuple[dict[str, Calibration], list[str]]:
    """Of the methods that can be compared and have samples, and a line for what is left out."""
    kept, notes = comparable(records, any_frames=True)
    made = {name: calibration_of(own[0]) for name, own in kept.items()}
    notes += [f"{name} left out: it has one answer, no samples" for name, own in made.items() if own is None]
    return {name: own for name, own in made.items() if own is not None}, notes


def calibration_of(record: Record) -> Calibration | None:
    """None for a method with one answer."""
    if record.state != "done" or SPREAD_SKILL not in record.metrics or SKILL not in record.metrics:
        return None
    ratios, skill = record.metrics[SPREAD_SKILL].values, record.metrics[SKILL].values
    coverage = {level: record.metrics[name] for level in LEVELS if (name := f"coverage_{level}") in record.metrics}
    spread = tuple(ratio * error for ratio, error in zip(ratios, skill, strict=True))
    samples = record.settings.get("evaluation", {}).get("samples", 0)
    return Calibration(tuple(skill), spread, spread_of(record), coverage, samples)


def _spread(axes: Axes, own: Calibration, look: Look, label: str) -> None:
    axes.plot(own.skill, own.spread, look.marker, color=look.colour, markersize=3.5, alpha=0.75, markeredgewidth=0,
              label=label)  # fmt: skip


def _coverage(axes: Axes, own: Calibration, look: Look, aside: float) -> None:
    if not own.coverage:
        return
    levels = sorted(own.coverage)
    scores = [own.coverage[level] for level in levels]
    bars = [[max(s.mean - s.low, 0.0) for s in scores], [max(s.high - s.mean, 0.0) for s in scores]]
    places, style = [level + aside for level in levels], {"elinewidth": 0.8, "capsize": 2, "capthick": 0.8}
    axes.errorbar(places, [s.mean for s in scores], bars, color=look.colour, marker=look.marker, markersize=4, **style)


def _finish(left: Axes, right: Axes) -> None:
    from matplotlib.ticker import FixedLocator

    high = 1.05 * max(left.dataLim.xmax, left.dataLim.ymax)
    style: Any = {"color": GREY, "linestyle": ":", "linewidth": 0.9, "zorder": 1}
    left.plot([0, high], [0, high], **style)
    left.set(xlim=(0, high), ylim=(0, high), aspect="equal")
    left.set_xlabel("error of the mean of the samples (%)")
    left.set_ylabel("spread of the samples (%)")
    right.plot([0, 100], [0, 100], **style)
    right.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")
    right.xaxis.set_major_locator(FixedLocator([0, *LEVELS]))
    right.set_xlabel("central interval of the samples (%)")
    right.set_ylabel("hidden sites inside it (%)")
    for axes, x, y, text in ((left, 0.97, 0.04, "over-confident"), (left, 0.03, 0.94, "under-confident")):
        axes.text(x, y, text, transform=axes.transAxes, fontsize=SMALL, color=GREY, ha="right" if x > 0.5 else "left")
