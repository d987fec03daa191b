"""One picture of a field: its image, what the sensors say of it, how far off an answer is.

x runs down and y to the right, as arrays are printed and as `data` plots them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.figures.style import GREY, LIGHT, SMALL
from benchmark.figures.videos import Scale, sensors
from benchmark.records.predictions import Predictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NOTHING = "#eeeeee"  # where nothing is known
EDGE = 0.09  # of the root of a sensor's area: how thick its edge is
TICKS, NARROW = 4, 0.8  # marks of a bar of colours, at least so many inches wide


def draw_field(axes: Axes, field: np.ndarray, scale: Scale) -> Any:
    """An image (H, W) that fills its axes, a square a value."""
    bare(axes)
    return axes.imshow(
        field, cmap=scale.colours, norm=_norm(scale), interpolation="nearest", aspect="auto", rasterized=True
    )


def draw_observation(axes: Axes, p: Predictions, i: int, t: int, channel: int, scale: Scale) -> None:
    """What is seen of a frame: an image where all of it is, else sensors in the colours of what they say."""
    seen = p.mask[i, t, :, :, channel]
    if not seen.any():
        draw_nothing(axes, "not observed")
    elif seen.all():
        draw_field(axes, p.values[i, t, :, :, channel], scale)
    else:
        draw_nothing(axes)
        draw_sensors(axes, p, i, t, channel, scale)


def draw_sensors(axes: Axes, p: Predictions, i: int, t: int, channel: int, scale: Scale) -> None:
    rows, columns = sensors(p, i, t, channel).T
    said = p.values[i, t, rows, columns, channel]
    area, (h, w) = sensor_size(axes, len(rows)), p.mask.shape[2:4]
    axes.scatter(
        columns, rows, area, said, cmap=scale.colours, norm=_norm(scale), linewidths=EDGE * area**0.5,
        edgecolors="black", clip_on=False,
    )  # fmt: skip
    axes.set_xlim(-0.5, w - 0.5)
    axes.set_ylim(h - 0.5, -0.5)


def sensor_size(axes: Axes, count: int) -> float:
    """Area of a marker in square points: half of what each sensor has of the panel, within bounds."""
    figure: Any = axes.get_figure()
    box = axes.get_position()
    width, height = box.width * figure.get_figwidth() * 72, box.height * figure.get_figheight() * 72
    return float(np.clip(width * height / max(count, 1) / 2, 1.5, 18.0))


def draw_error(axes: Axes, p: Predictions, i: int, t: int, channel: int, scale: Scale) -> None:
    if t not in p.scored:
        draw_nothing(axes, "not predicted")
        return
    error = np.abs(p.prediction[i, t, ..., channel] - p.truth[i, t, ..., channel])
    draw_field(axes, error.clip(min=scale.low) if scale.logarithmic else error, scale)


def draw_answer(axes: Axes, p: Predictions, i: int, t: int, channel: int, scale: Scale) -> None:
    if t in p.scored:
        draw_field(axes, p.prediction[i, t, ..., channel], scale)
    else:
        draw_nothing(axes, "not predicted")


def draw_nothing(axes: Axes, why: str = "") -> None:
    bare(axes)
    axes.set_facecolor(NOTHING)
    axes.text(0.5, 0.5, why.replace(" ", "\n"), transform=axes.transAxes, ha="center", va="center", fontsize=SMALL - 1,
              color=GREY)  # fmt: skip


def bare(axes: Axes) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(LIGHT)


def draw_bar(figure: Figure, place: Sequence[float], scale: Scale, label: str) -> None:
    """A horizontal bar of colours at (left, bottom, width, height) of the figure."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    left, bottom, width, height = place
    axes = figure.add_axes((left, bottom, width, height), label="bar")
    mappable = ScalarMappable(_norm(scale), scale.colours)
    bar = figure.colorbar(mappable, cax=axes, orientation="horizontal", extend=scale.extend, extendfrac=0.03)
    bar.outline.set_linewidth(0.4)  # pyright: ignore[reportCallIssue]
    unit, power = (1.0, 0) if scale.logarithmic else _unit(max(abs(scale.low), abs(scale.high)))
    if not scale.logarithmic:
        is_narrow = width * figure.get_figwidth() < NARROW
        axes.xaxis.set_major_locator(MaxNLocator(2 if is_narrow else TICKS, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / unit:.3g}".replace("-", "−")))
    axes.tick_params(labelsize=SMALL - 1, width=0.4, length=2, pad=1)
    axes.minorticks_off()
    axes.set_xlabel(f"{label} ($10^{{{power}}}$)" if power else label, fontsize=SMALL, labelpad=1)


def _unit(largest: float) -> tuple[float, int]:
    """A power of ten that leaves short labels, and its exponent."""
    power = 0 if 0.1 <= largest < 1e4 else floor(log10(largest))
    return 10.0**power, power


def _norm(scale: Scale) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    return LogNorm(scale.low, scale.high) if scale.logarithmic else Normalize(scale.low, scale.high)
