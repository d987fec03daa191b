"""Energy at each wavenumber: of the truth, of each answer, and of its error as a share of the truth's.

E(k) is the sum of |u_hat|^2 over all modes with |k'| in [k - 1/2, k + 1/2), k in periods per domain, as in
`log_spectral_distance`; all E(k) add up to the mean square. Averages are over the trajectories that were kept. They
are rounded to 16 bits, so that nothing below the energy of that rounding is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.figures.style import (
    BLACK,
    GREY,
    PANEL_HEIGHT,
    SMALL,
    TWO_COLUMNS,
    heading,
    legend_columns,
    log_marks,
    looks,
    plain_log,
    styled,
)
from benchmark.figures.videos import Shown, check_alike, choose_channel, choose_frames, field_name, frame_title, one_of
from benchmark.leaderboard.display import display
from benchmark.records.predictions import STEPS, Predictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FRAMES = 3  # shown unless asked otherwise
MOST = 100.0  # of the share of an error: beyond, the truth has next to nothing
SCIENTIFIC = 1e-4  # energies down to this stand at ticks as plain numbers, lower ones as powers of ten
ROOM = 3.0  # above the rounding: what is lower is left out


@styled()
def spectra(shown: Shown, frames: Sequence[int] | None = None, channel: str | None = None) -> Figure:
    """`shown`: the predictions of each method, by its name."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    count = min(len(p) for p in shown.values()) if shown else 0
    for i in range(max(count, 1)):
        check_alike(shown, i)
    p = one_of(shown)
    chosen, c, look = choose_frames(p, frames, FRAMES), choose_channel(p, channel), looks(list(shown))
    figure = Figure(figsize=(TWO_COLUMNS, 1.75 * PANEL_HEIGHT), layout="constrained")
    grid: Any = figure.subplots(2, len(chosen), sharex=True, sharey="row", squeeze=False,
                                gridspec_kw={"height_ratios": [1.3, 1]})  # fmt: skip
    for column, t in enumerate(chosen):
        _draw(grid[:, column], shown, t, c, count, look)
        grid[0, column].set_title(frame_title(p, t), color=GREY)
        grid[1, column].set_xlabel("wavenumber $k$ (periods per domain)")
    _scale(*grid[:, 0])
    quantity = "the field" if p.frame_names else field_name(p, 0, c)
    grid[0, 0].set_ylabel(f"energy $E(k)$ of {quantity}")
    grid[1, 0].set_ylabel("energy of the error\nover that of the truth")
    handles = [Line2D([], [], color=BLACK, linewidth=2.2, alpha=0.5, label="truth")]
    handles += [Line2D([], [], color=look[n].colour, marker=look[n].marker, label=display(n)) for n in shown]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=legend_columns(["truth", *map(display, shown)], TWO_COLUMNS)
    )
    what = heading(p.cell.dataset, p.cell.task, p.cell.profile)
    text = f"{what}; mean of {count} test trajector{'ies' if count > 1 else 'y'}{_folded(p)}"
    figure.supxlabel(text, fontsize=SMALL, color=GREY, x=0.01, ha="left")
    return figure


def _folded(p: Predictions) -> str:
    """Thinned fields are not smoothed before, so that they keep their energy, but at other wavenumbers."""
    if p.thinned is None or p.thinned.step == 1:
        return ""
    return f"\n{p.thinned}: energy beyond $k$ = {min(p.truth.shape[2:4]) // 2} is folded back"


def energy(u: np.ndarray) -> np.ndarray:
    """Frames (N, H, W) -> (K + 1,): mean over N of E(0), ..., E(K), K = min(H, W) / 2 complete shells."""
    h, w = u.shape[1:]
    k = np.hypot(np.fft.fftfreq(h, 1 / h)[:, None], np.fft.fftfreq(w, 1 / w)[None])
    power = (np.abs(np.fft.fft2(u.astype(np.float64))) ** 2).mean(0) / (h * w) ** 2
    shells = np.floor(k + 0.5).astype(int).ravel()
    return np.bincount(shells, power.ravel())[: min(h, w) // 2 + 1]


def rounding(p: Predictions, c: int, count: int) -> np.ndarray:
    """The energy of rounding to 16 bits (K + 1,): white noise, evenly spread within a step."""
    extent = np.ptp(p.truth[:count, ..., c], axis=(1, 2, 3)).astype(np.float64)
    h, w = p.truth.shape[2:4]
    k = np.hypot(np.fft.fftfreq(h, 1 / h)[:, None], np.fft.fftfreq(w, 1 / w)[None])
    modes = np.bincount(np.floor(k + 0.5).astype(int).ravel())[: min(h, w) // 2 + 1]
    return ((extent / STEPS) ** 2).mean() / 12 * modes / (h * w)


def _draw(panels: Sequence[Axes], shown: Shown, t: int, c: int, count: int, look: Any) -> None:
    top, bottom = panels
    p = one_of(shown)
    truth = p.truth[:count, t, ..., c]
    own, floor = energy(truth), ROOM * rounding(p, c, count)
    k = np.arange(1, len(own))
    visible = (own > floor)[1:]
    top.plot(k, np.where(visible, own[1:], np.nan), color=BLACK, linewidth=2.2, alpha=0.5)
    for name, other in shown.items():
        if t not in other.scored:
            continue
        u = other.prediction[:count, t, ..., c]
        style: Any = {"color": look[name].colour, "marker": look[name].marker, "markersize": 3, "linewidth": 1.0}
        answer, error = energy(u)[1:], energy(u - truth)[1:]
        top.plot(k, np.where(answer > floor[1:], answer, np.nan), **style)
        bottom.plot(k, np.where(visible & (error > floor[1:]), error / own[1:], np.nan), **style)
    bottom.axhline(1, color=GREY, linestyle=":", linewidth=0.8)
    for axes in panels:
        axes.set_xscale("log")
        axes.set_yscale("log")
    _ticks(bottom, len(own) - 1)


def _scale(top: Axes, bottom: Axes) -> None:
    """Of the first column, when all are drawn: a row shares its limits."""
    from matplotlib.ticker import LogFormatterSciNotation

    bottom.set_ylim(top=min(bottom.get_ylim()[1], MOST))
    for axes in (top, bottom):
        plain_log(axes.yaxis, log_marks(*axes.get_ylim()))
    if top.get_ylim()[0] < SCIENTIFIC:
        plain_log(top.yaxis)
        top.yaxis.set_major_formatter(LogFormatterSciNotation())


def _ticks(axes: Axes, last: int) -> None:
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, ScalarFormatter

    axes.xaxis.set_major_locator(FixedLocator([k for k in (1, 2, 4, 8, 16, 32, 64, 128) if k <= last]))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
