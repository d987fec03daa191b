"""Error against the length of a prediction: of the mean over the first n frames, and of the n-th frame alone.

A frame that is given in full is no prediction and does not count. Bands are 95 % intervals over test trajectories; a
record keeps them for single frames, not for means over frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmark.errors import UserError
from benchmark.figures.comparable import ByMethod, comparable
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
    styled,
)
from benchmark.leaderboard.display import display
from benchmark.records.record import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CURVE = "rel_l2_curve"
TRAINED = "end of the training clips"
FORWARD, INVERSE = ("forward", "long_range"), ("inverse",)  # the first, or the last frame is given


@dataclass(frozen=True)
class Errors:
    """Of predicted frames in percent, averaged over seeds; the band encloses the intervals of all seeds."""

    frames: tuple[int, ...]  # 1 is the first frame of the video
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def of_first(self) -> list[float]:
        """The mean over all frames up to each."""
        return [sum(self.mean[: n + 1]) / (n + 1) for n in range(len(self.mean))]


@styled()
def long_range(records: ByMethod, log_errors: bool = False) -> Figure:
    """`records`: those of each method, one a seed, of one task on one dataset."""
    from matplotlib.figure import Figure

    kept, notes = comparable(records, any_frames=True)
    if not kept:
        raise UserError(f"long_range: no record of single frames; {'; '.join(notes)}")
    curves = {name: errors_of(own) for name, own in kept.items()}
    look = looks(list(curves))
    figure = Figure(figsize=(TWO_COLUMNS, PANEL_HEIGHT + 0.45), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    first = next(iter(kept.values()))[0]
    trained = trained_frames(first)
    last = max(curve.frames[-1] for curve in curves.values())
    for name, curve in curves.items():
        style = _style(look[name], len(curve.frames))
        left.plot(curve.frames, list(map(drawn, curve.of_first)), label=display(name), **style)
        right.plot(curve.frames, list(map(drawn, curve.mean)), **style)
        right.fill_between(
            curve.frames,
            list(map(drawn, curve.low)),
            list(map(drawn, curve.high)),
            color=look[name].colour,
            alpha=0.18,
            linewidth=0,
        )
    if log_errors:
        error_axis(left)
        error_axis(right)
    else:
        left.set_ylim(bottom=0)
    for axes, label in ((left, "mean over the frames up to $n$"), (right, "frame $n$ alone")):
        axes.set_title(label)
        axes.set_xlabel("frame $n$")
        if trained and trained < last:
            axes.axvline(trained, color=GREY, linestyle=":", linewidth=0.9, label=TRAINED)
    left.set_ylabel("relative $\\ell_2$ error (%)")
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=legend_columns(labels, TWO_COLUMNS))
    cell = first.cell
    figure.supxlabel(heading(cell.dataset, cell.task, cell.profile), fontsize=SMALL, color=GREY, x=0.01, ha="left")
    return figure


def errors_of(records: Sequence[Record]) -> Errors:
    """Of one method. Frames that were given in full are left out."""
    scores = [record.metrics[CURVE] for record in records if CURVE in record.metrics]
    if not scores:
        raise UserError(f"{records[0].cell.label}: its record has no errors of single frames; run it again --overwrite")
    record = records[0]
    frames = list(record.frames if record.frames is not None else range(len(scores[0].mean)))
    kept = [k for k, t in enumerate(frames) if t not in given_frames(record, frames[-1])]
    return Errors(
        tuple(frames[k] + 1 for k in kept),
        tuple(sum(score.mean[k] for score in scores) / len(scores) for k in kept),
        tuple(min(score.low[k] for score in scores) for k in kept),
        tuple(max(score.high[k] for score in scores) for k in kept),
    )


def given_frames(record: Record, last: int) -> set[int]:
    """Those that are seen at all sites, by the settings of the task."""
    family, rate = record.task.get("family"), record.task.get("rate")
    if rate != 1:
        return set()
    return {0} if family in FORWARD else {last} if family in INVERSE else set()


def trained_frames(record: Record) -> int | None:
    """Frames of a training trajectory."""
    frames = ((record.settings.get("dataset") or {}).get("sizes") or {}).get("frames")
    return frames if isinstance(frames, int) else None


def _style(look: Look, count: int) -> dict[str, Any]:
    every = max(1, count // 8)
    on_top: Any = {"clip_on": False, "zorder": 3}  # an error of 0 is a whole marker on the axis
    return {"color": look.colour, "marker": look.marker, "markevery": every, "markersize": 3.5, **on_top}
