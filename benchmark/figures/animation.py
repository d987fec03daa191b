"""The same as a film, a frame at a time: GIF by `gif`, MP4 by ffmpeg.

truth         | answer | answer | ...
what is seen  | error  | error  | ...
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

from benchmark.errors import UserError
from benchmark.figures.gif import Made, save_gif
from benchmark.figures.panels import draw_answer, draw_bar, draw_error, draw_field, draw_observation
from benchmark.figures.style import GREY, NORMAL, SMALL, heading, styled
from benchmark.figures.videos import (
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
)
from benchmark.leaderboard.display import display
from benchmark.leaderboard.measure import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Film = Literal["gif", "mp4"]
PANEL, GAP, LINE, BELOW, HEAD = 1.5, 0.1, 0.2, 0.5, 0.42  # inches
NARROWEST = 3.7  # inches: the room that the heading takes
DOTS = 120  # an inch
SECONDS = 6.0  # a film lasts, within a second and a twentieth a frame
NO_FFMPEG = "mp4 needs ffmpeg, which is not there: install it (apt-get install ffmpeg, brew install ffmpeg or conda " \
    "install ffmpeg), or take --format gif"  # fmt: skip


@styled()
def film(
    shown: Shown,
    trajectory: int = 0,
    frames: Sequence[int] | None = None,
    channel: str | None = None,
    log_errors: bool = False,
) -> Made:
    """A figure, what draws the k-th of its frames, and how many there are: all unless asked otherwise."""
    from matplotlib.figure import Figure

    check_alike(shown, trajectory)
    p = one_of(shown)
    chosen, c = choose_frames(p, frames, len(p.times)), choose_channel(p, channel)
    tall, across = PANEL * p.lengths[0] / p.lengths[1], 1 + len(shown)
    width, height = max(across * (PANEL + GAP) + GAP, NARROWEST), HEAD + 2 * (tall + LINE) + BELOW
    figure = Figure(figsize=(width, height))

    def add(row: int, column: int) -> Axes:
        top = HEAD + row * (tall + LINE) + LINE
        place = (GAP + column * (PANEL + GAP)) / width, 1 - (top + tall) / height, PANEL / width, tall / height
        return figure.add_axes(place, label=f"{row} {column}")

    grid = [[add(row, column) for column in range(across)] for row in (0, 1)]
    scales = {
        chosen[k]: (field_scale(shown, trajectory, own, c), error_scale(shown, trajectory, own, c, log_errors))
        for group in groups(p, chosen)
        for own in [[chosen[k] for k in group]]
        for k in group
    }

    def draw(k: int) -> None:
        with styled():
            t = chosen[k]
            _clear(figure, grid)
            _draw(figure, grid, shown, trajectory, t, c, *scales[t])

    draw(0)
    return figure, draw, len(chosen)


def _clear(figure: Figure, grid: list[list[Axes]]) -> None:
    for axes in figure.axes:
        if axes.get_label() == "bar":
            axes.remove()
    for axes in (axes for row in grid for axes in row):
        axes.clear()
    for text in list(figure.texts):
        text.remove()


def _draw(figure: Figure, grid: Any, shown: Shown, i: int, t: int, c: int, field: Any, error: Any) -> None:
    p, (top, bottom) = one_of(shown), grid
    draw_field(top[0], p.truth[i, t, ..., c], field)
    draw_observation(bottom[0], p, i, t, c, field)
    _name(top[0], "truth")
    _name(bottom[0], "seen")
    for k, (name, own) in enumerate(shown.items(), 1):
        draw_answer(top[k], own, i, t, c, field)
        draw_error(bottom[k], own, i, t, c, error)
        _name(top[k], display(name))
        _name(bottom[k], f"error: {Measure().text(relative_error(own, i))} %")
    width, height = figure.get_size_inches()
    what = heading(p.cell.dataset, p.cell.task, p.cell.profile)
    text = f"{frame_title(p, t)}; test trajectory {i // p.masks}\n{what}"
    figure.text(GAP / width, 1 - 0.06 / height, text, va="top", fontsize=SMALL, color=GREY, linespacing=1.4)
    name = field_name(p, t, c)
    for left, scale, label in ((0, field, name), (1, error, error_name(p, t, c))):
        place = (GAP + left * (PANEL + GAP) + 0.1, BELOW - 0.16, PANEL - 0.2, 0.07)
        draw_bar(figure, (place[0] / width, place[1] / height, place[2] / width, place[3] / height), scale, label)


def _name(axes: Axes, text: str) -> None:
    axes.set_title(text, fontsize=NORMAL, loc="left", pad=3)


def save_film(made: Made, stem: Path, kind: Film, fps: float | None = None) -> Path:
    """Write `stem.gif` or `stem.mp4`."""
    from matplotlib.animation import FFMpegWriter

    if kind == "mp4" and not FFMpegWriter.isAvailable():
        raise UserError(NO_FFMPEG)
    rate = fps or min(20.0, max(1.0, made[2] / SECONDS))
    path = stem.with_name(f"{stem.name}.{kind}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=".") as folder, styled():
        part = Path(folder) / path.name  # the writers go by the ending
        save_gif(made, part, rate, DOTS) if kind == "gif" else _save_mp4(made, part, rate)
        part.replace(path)
    return path


def _save_mp4(made: Made, path: Path, fps: float) -> None:
    from matplotlib.animation import FFMpegWriter

    figure, draw, count = made
    writer = FFMpegWriter(fps=fps)  # pyright: ignore[reportArgumentType]
    with writer.saving(figure, str(path), DOTS):
        for k in range(count):
            draw(k)
            writer.grab_frame()
