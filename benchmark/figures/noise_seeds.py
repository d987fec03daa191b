"""What one fit answers to one observation from different noise seeds, with squares where the answers differ most.

rows      frames, or the fields of a steady problem
columns   truth, what is seen, each sample with its error, the standard deviation of all samples
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmark.errors import UserError
from benchmark.figures.panels import draw_bar, draw_field, draw_observation
from benchmark.figures.style import GREY, SMALL, TWO_COLUMNS, heading, styled
from benchmark.figures.videos import (
    ERROR,
    TINY,
    Scale,
    check_alike,
    choose_channel,
    choose_frames,
    field_name,
    field_scale,
    frame_error,
    frame_title,
)
from benchmark.leaderboard.display import display
from benchmark.leaderboard.measure import Measure
from benchmark.records.predictions import Predictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FRAMES = 2  # shown unless asked otherwise
SQUARES, SIDE = 2, 1 / 4  # marked in each row, and their side as a share of the panel's
EDGE, GAP, HEAD, LINE, BELOW, BAR = 0.05, 0.06, 0.34, 0.15, 0.3, 0.06  # inches


@styled()
def noise_seeds(
    p: Predictions, trajectory: int = 0, frames: Sequence[int] | None = None, channel: str | None = None
) -> Figure:
    """Of one method that samples."""
    from matplotlib.figure import Figure

    check_alike({p.cell.label: p}, trajectory)
    if p.samples is None or p.spread is None:
        raise UserError(
            f"{p.cell.label} gives one answer: noise seeds need a method that samples, run with several --samples"
        )
    chosen = [t for t in choose_frames(p, frames, FRAMES) if t in p.scored]
    if not chosen:
        raise UserError(f"{p.cell.label}: none of the frames is predicted; it predicts {p.scored}")
    c, across = choose_channel(p, channel), len(p.samples) + 3
    width = (TWO_COLUMNS - 2 * EDGE - (across - 1) * GAP) / across
    tall = width * p.lengths[0] / p.lengths[1]
    row_height = LINE + tall + LINE + BELOW
    height = HEAD + len(chosen) * row_height
    figure = Figure(figsize=(TWO_COLUMNS, height))
    for row, t in enumerate(chosen):
        top = HEAD + row * row_height + LINE

        def box(k: int, down: float, tall: float, wide: float = width, top: float = top) -> tuple[float, ...]:
            left = EDGE + k * (width + GAP) + (width - wide) / 2
            return left / TWO_COLUMNS, 1 - (top + down + tall) / height, wide / TWO_COLUMNS, tall / height

        panels = [figure.add_axes(box(k, 0, tall), label=f"{row} {k}") for k in range(across)]  # pyright: ignore
        scale, spread = draw_row(panels, p, trajectory, t, c)
        name = field_name(p, t, c)
        for k, shade, label in ((0, scale, name), (across - 1, spread, f"spread of {name}")):
            draw_bar(figure, box(k, tall + 0.08, BAR, 0.85 * width), shade, label)
    _head(figure, p, trajectory, height)
    return figure


def draw_row(panels: Sequence[Axes], p: Predictions, i: int, t: int, c: int) -> tuple[Scale, Scale]:
    """One frame from left to right; the scales of the field and of the spread."""
    assert p.samples is not None and p.spread is not None
    scale, spread = field_scale({"": p}, i, [t], c), p.spread[i, t, ..., c]
    shade = Scale(0.0, max(float(spread.max()), TINY), ERROR)
    truth, samples = p.truth[i, t, ..., c], p.samples[:, i, t, ..., c]
    draw_field(panels[0], truth, scale)
    draw_observation(panels[1], p, i, t, c, scale)
    draw_field(panels[-1], spread, shade)
    for axes, sample in zip(panels[2:-1], samples, strict=True):
        draw_field(axes, sample, scale)
        about = "≈ " if p.thinned else ""  # of the points that are kept
        axes.set_xlabel(f"error {about}{Measure().text(frame_error(sample, truth))} %", fontsize=SMALL - 1, labelpad=2)
    titles = [
        f"truth, {frame_title(p, t)}",
        "seen",
        *(f"noise seed {s + 1}" for s in range(len(samples))),
        "spread of all",
    ]
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, fontsize=SMALL, pad=2)
    for corner in differences(samples):
        for axes in (panels[0], *panels[2:]):
            _square(axes, corner, samples.shape[1:])
    return scale, shade


def differences(samples: np.ndarray, count: int = SQUARES) -> list[tuple[int, int]]:
    """Upper left corners of the squares in which samples (S, H, W) differ most, in mean variance, none on another."""
    variance = samples.astype(np.float64).var(0)
    h, w = side(variance.shape)
    total = np.pad(variance.cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    inside = total[h:, w:] - total[:-h, w:] - total[h:, :-w] + total[:-h, :-w]  # of the square at each corner
    corners = []
    while len(corners) < count and np.isfinite(inside).any() and inside.max() > 0:
        y, x = (int(n) for n in np.unravel_index(inside.argmax(), inside.shape))
        corners.append((y, x))
        inside[max(y - h + 1, 0) : y + h, max(x - w + 1, 0) : x + w] = -np.inf
    return corners


def side(shape: tuple[int, ...]) -> tuple[int, int]:
    """Height and width of a square, in values."""
    return max(2, round(SIDE * shape[0])), max(2, round(SIDE * shape[1]))


def _square(axes: Axes, corner: tuple[int, int], shape: tuple[int, ...]) -> None:
    from matplotlib.patches import Rectangle

    h, w = side(shape)
    y, x = corner
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), w, h, fill=False, edgecolor="black", linewidth=0.9))


def _head(figure: Figure, p: Predictions, i: int, height: float) -> None:
    what = heading(p.cell.dataset, p.cell.task, p.cell.profile)
    text = (
        f"{display(p.cell.label)}: {what}; test trajectory {i // p.masks}\n"
        "one fit, one observation; squares: where the samples differ most"
    )
    figure.text(EDGE / TWO_COLUMNS, 1 - 0.03 / height, text, va="top", fontsize=SMALL, color=GREY, linespacing=1.3)
