"""Whether methods that sample know how far they may be off.

Left, each test trajectory: the error that the spread of the samples promises against the error of their mean. A
perfect sampler lies along the diagonal, one below it is over-confident. Right: how many of the hidden sites lie inside
the samples' central interval, against how many should, for the intervals that so many samples can tell. Of two they
tell none, and there is no such panel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmark.errors import UserError
from benchmark.figures.comparable import ByMethod, comparable
from benchmark.figures.style import GREY, ONE_COLUMN, SMALL, TWO_COLUMNS, Look, heading, legend_columns, looks, styled
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
DIAGONAL: Any = {"color": GREY, "linestyle": ":", "linewidth": 0.9, "zorder": 1}


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
    look, has_coverage = looks(list(found)), any(own.coverage for own in found.values())
    width = TWO_COLUMNS if has_coverage else ONE_COLUMN
    figure = Figure(figsize=(width, HEIGHT), layout="constrained")
    left, *right = figure.subplots(1, 1 + has_coverage, squeeze=False)[0]
    for i, (name, own) in enumerate(found.items()):
        _spread(left, own, look[name], f"{display(name)} ({own.ratio:.2f})")
        for axes in right:
            _coverage(axes, own, look[name], DODGE * (i - (len(found) - 1) / 2))
    columns = legend_columns([line.get_label() for line in left.lines], width)
    _finish_spread(left)
    for axes in right:
        _finish_coverage(axes, [level for level in LEVELS if level not in missing_levels(found)])
    figure.legend(loc="outside upper center", ncols=columns, title="method (spread over error, pooled)",
                  title_fontsize=SMALL)  # fmt: skip
    cell = next(r.cell for own in records.values() for r in own)
    parts = heading(cell.dataset, cell.task, cell.profile), samples_in_words(found)
    text = ("; " if has_coverage else "\n").join(parts)
    figure.supxlabel(text, fontsize=SMALL, color=GREY, x=0.01, ha="left")
    return figure


def calibrations(records: ByMethod) -> tuple[dict[str, Calibration], list[str]]:
    """Of the methods that can be compared and have samples, and a line for what is left out."""
    kept, notes = comparable(records, any_frames=True)
    made = {name: calibration_of(own[0]) for name, own in kept.items()}
    notes += [f"{name} left out: it has one answer, no samples" for name, own in made.items() if own is None]
    found = {name: own for name, own in made.items() if own is not None}
    if found and len(missing_levels(found)) == len(LEVELS):
        notes.append(f"no panel of coverage: {samples_in_words(found)}")
    return found, notes


def missing_levels(found: Mapping[str, Calibration]) -> list[int]:
    """That no record has a coverage of."""
    return [level for level in LEVELS if not any(level in own.coverage for own in found.values())]


def samples_in_words(found: Mapping[str, Calibration]) -> str:
    """`8 samples, too few for intervals of 80, 95 %`."""
    counts = " or ".join(map(str, sorted({own.samples for own in found.values()})))
    missing = ", ".join(map(str, missing_levels(found)))
    return f"{counts} samples{f', too few for intervals of {missing} %' if missing else ''}"


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


def _finish_spread(axes: Axes) -> None:
    high = 1.05 * max(axes.dataLim.xmax, axes.dataLim.ymax)
    axes.plot([0, high], [0, high], **DIAGONAL)
    axes.set(xlim=(0, high), ylim=(0, high), aspect="equal")
    axes.set_xlabel("error of the mean of the samples (%)")
    axes.set_ylabel("spread of the samples (%)")
    axes.text(0.97, 0.04, "over-confident", transform=axes.transAxes, fontsize=SMALL, color=GREY, ha="right")
    axes.text(0.03, 0.94, "under-confident", transform=axes.transAxes, fontsize=SMALL, color=GREY)


def _finish_coverage(axes: Axes, levels: Sequence[int]) -> None:
    from matplotlib.ticker import FixedLocator

    axes.plot([0, 100], [0, 100], **DIAGONAL)
    axes.set(xlim=(0, 100), ylim=(0, 100), aspect="equal")
    axes.xaxis.set_major_locator(FixedLocator([0, *levels]))
    axes.set_xlabel("central interval of the samples (%)")
    axes.set_ylabel("hidden sites inside it (%)")
