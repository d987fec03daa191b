"""Truth and sensors, and of each method its answer and how far off it is: frames side by side, one trajectory.

    truth           | what the sensors say
    first answer    | its error
    ...             | ...

All answers share the truth's scale of colours, all errors another; the fields of a steady problem have their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmark.errors import UserError
from benchmark.figures.panels import draw_answer, draw_bar, draw_error, draw_field, draw_observation
from benchmark.figures.style import NORMAL, ONE_COLUMN, SMALL, TWO_COLUMNS, heading, styled
from benchmark.figures.videos import (
    Scale,
    Shown,
    check_alike,
    choose_channel,
    choose_frames,
    error_name,
    error_scale,
    field_name,
    field_scale,
    frame_title,
    groups,
    one_of,
    relative_error,
    sensors,
)
from benchmark.leaderboard.display import display
from benchmark.leaderboard.measure import Measure
from benchmark.records.predictions import Predictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FRAMES, MOST = 4, 8  # shown unless asked otherwise, and at most
EDGE, BETWEEN, GAP = 0.05, 0.18, 0.04  # inches: around all, between the two blocks, between panels
LINE = 0.15  # inches, of a line of text
BAR, BELOW = 0.07, 0.42  # inches: height of a bar of colours, and room for it


@dataclass(frozen=True)
class Layout:
    """Places in inches, counted from the top left corner."""

    frames: int
    rows: int  # truth, then methods
    ratio: float  # of a panel's height to its width

    @property
    def width(self) -> float:
        return ONE_COLUMN if self.frames <= 2 else TWO_COLUMNS

    @property
    def panel(self) -> tuple[float, float]:
        gaps = 2 * EDGE + BETWEEN + 2 * (self.frames - 1) * GAP
        width = (self.width - gaps) / (2 * self.frames)
        return width, width * self.ratio

    @property
    def head(self) -> float:
        """The heading, on two lines where the page is narrow."""
        return LINE * (1.4 if self.width == TWO_COLUMNS else 2.4)

    @property
    def height(self) -> float:
        return self.head + LINE + self.rows * (self.panel[1] + LINE + GAP) + BELOW

    def left(self, block: int, k: int) -> float:
        width = self.panel[0]
        return EDGE + block * (self.frames * (width + GAP) - GAP + BETWEEN) + k * (width + GAP)

    def top(self, row: int) -> float:
        """Of a row's panels: below their words, in the first row also below the names of the frames."""
        return self.head + LINE + row * (self.panel[1] + LINE + GAP) + LINE

    def box(self, left: float, top: float, width: float, height: float) -> tuple[float, float, float, float]:
        """As matplotlib takes it: shares of the figure, from the bottom."""
        return left / self.width, 1 - (top + height) / self.height, width / self.width, height / self.height


@styled()
def error_maps(
    shown: Shown,
    trajectory: int = 0,
    frames: Sequence[int] | None = None,
    channel: str | None = None,
    log_errors: bool = False,
) -> Figure:
    """`shown`: the predictions of each method, by its name."""
    from matplotlib.figure import Figure

    check_alike(shown, trajectory)
    p = one_of(shown)
    chosen, c = choose_frames(p, frames, FRAMES), choose_channel(p, channel)
    if len(chosen) > MOST:
        raise UserError(f"frames: a page has room for {MOST}, got {len(chosen)}; --format gif shows all")
    scales = _scales(shown, trajectory, chosen, c, log_errors)
    layout = Layout(len(chosen), 1 + len(shown), p.lengths[0] / p.lengths[1])
    figure = Figure(figsize=(layout.width, layout.height))
    _head(figure, layout, p, trajectory)
    draw_rows(figure, layout, shown, trajectory, chosen, c, scales)
    _bars(figure, layout, p, chosen, c, scales)
    return figure


Scales = list[tuple[list[int], Scale, Scale]]  # places of the frames that share them, of the field, of the error


def _scales(shown: Shown, i: int, frames: Sequence[int], c: int, log_errors: bool) -> Scales:
    return [
        (group, field_scale(shown, i, own, c), error_scale(shown, i, own, c, log_errors))
        for group in groups(one_of(shown), frames)
        for own in [[frames[k] for k in group]]
    ]


def draw_rows(
    figure: Figure, layout: Layout, shown: Shown, i: int, frames: Sequence[int], c: int, scales: Scales
) -> None:
    p = one_of(shown)
    _words(figure, layout, 0, "truth", seen_in_words(p, i, c))
    for row, (name, own) in enumerate(shown.items(), 1):
        _words(figure, layout, row, display(name), f"error: {Measure().text(relative_error(own, i))} %")
    for group, field, error in scales:
        for k in group:
            t = frames[k]
            for block in (0, 1):
                _name(figure, layout, block, k, frame_title(p, t))
            draw_field(_panel(figure, layout, 0, 0, k), p.truth[i, t, ..., c], field)
            draw_observation(_panel(figure, layout, 0, 1, k), p, i, t, c, field)
            for row, own in enumerate(shown.values(), 1):
                draw_answer(_panel(figure, layout, row, 0, k), own, i, t, c, field)
                draw_error(_panel(figure, layout, row, 1, k), own, i, t, c, error)


def seen_in_words(p: Predictions, i: int, c: int) -> str:
    """`seen: 31 sensors`, or `seen: all sites, t = 0`."""
    frames = [t for t in range(len(p.times)) if p.mask[i, t, ..., c].any()]
    count = max((len(sensors(p, i, t, c)) for t in frames), default=0)
    what = "all sites" if count == p.mask[i, 0, ..., c].size else f"{count} sensors"
    return ", ".join([f"seen: {what}", *(frame_title(p, t) for t in frames if len(frames) < len(p.times))])


def _panel(figure: Figure, layout: Layout, row: int, block: int, k: int) -> Axes:
    return figure.add_axes(
        layout.box(layout.left(block, k), layout.top(row), *layout.panel), label=f"{row} {block} {k}"
    )


def _words(figure: Figure, layout: Layout, row: int, left: str, right: str) -> None:
    """Above the two blocks of a row, in the first one also above the names of the frames."""
    for block, text in enumerate((left, right)):
        top = layout.top(row) - LINE * (1.85 if row == 0 else 0.85)
        x, y, _, _ = layout.box(layout.left(block, 0), top, 0, 0)
        figure.text(
            x, y, text, va="top", fontsize=NORMAL if block == 0 else SMALL, weight="bold" if block == 0 else None
        )


def _name(figure: Figure, layout: Layout, block: int, k: int, text: str) -> None:
    x, y, _, _ = layout.box(layout.left(block, k) + layout.panel[0] / 2, layout.top(0) - 0.02, 0, 0)
    figure.text(x, y, text, ha="center", va="bottom", fontsize=SMALL - 1)


def _head(figure: Figure, layout: Layout, p: Predictions, i: int) -> None:
    number = i // p.masks
    again = f", mask {i % p.masks}" if p.masks > 1 else ""
    parts = [heading(p.cell.dataset, p.cell.task, p.cell.profile), f"test trajectory {number}{again}"]
    x, y, _, _ = layout.box(EDGE, 0.03, 0, 0)
    text = ("; " if layout.width == TWO_COLUMNS else "\n").join(parts)
    figure.text(x, y, text, va="top", fontsize=SMALL, color="#555555", linespacing=1.3)


def _bars(figure: Figure, layout: Layout, p: Predictions, frames: Sequence[int], c: int, scales: Scales) -> None:
    top = layout.height - BELOW + GAP
    for group, field, error in scales:
        name = field_name(p, frames[group[0]], c)
        for block, scale, label in ((0, field, name), (1, error, error_name(p, frames[group[0]], c))):
            left = layout.left(block, group[0])
            width = layout.left(block, group[-1]) + layout.panel[0] - left
            inset = 0.12 * width
            draw_bar(figure, layout.box(left + inset, top, width - 2 * inset, BAR), scale, label)
