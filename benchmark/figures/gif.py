"""GIFs that keep the colours of fields.

A GIF has 256 colours. One palette serves all frames: the colour maps that the film uses, evenly, and greys for lines
and letters. Every pixel takes the colour nearest to its own, without dither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Made: TypeAlias = "tuple[Figure, Callable[[int], None], int]"  # what draws the k-th of so many frames on the figure
COLOURS = 255  # one is left to pillow, for what a frame does not change
GREYS = 18  # from black to white, 15 apart


def save_gif(film: Made, path: Path, fps: float, dots: int) -> None:
    from PIL import Image

    colours = palette(_maps(film))
    images = []
    for pixels in _frames(film, dots):
        images.append(Image.fromarray(nearest(pixels, colours)))
        images[-1].putpalette(colours.tobytes())
    images[0].save(path, save_all=True, append_images=images[1:], duration=round(1000 / fps), loop=0)


def palette(maps: Sequence[Any]) -> np.ndarray:
    """(n, 3) bytes, with both ends of each colour map."""
    each = (COLOURS - GREYS) // max(len(maps), 1)
    greys = np.repeat(np.linspace(0, 255, GREYS).round()[:, None], 3, axis=1)
    own = [np.round(255 * colours(np.linspace(0, 1, each))[:, :3]) for colours in maps]
    return np.concatenate([greys, *own]).astype(np.uint8)


def nearest(pixels: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """The place in `colours` (n, 3) of what is nearest to each pixel of (h, w, 3)."""
    found, inverse = np.unique(pixels.reshape(-1, 3) @ np.array([1 << 16, 1 << 8, 1]), return_inverse=True)
    rgb = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1)
    places = [
        ((rgb[k : k + 1024, None] - colours.astype(int)) ** 2).sum(-1).argmin(1) for k in range(0, len(rgb), 1024)
    ]
    return np.concatenate(places).astype(np.uint8)[inverse].reshape(pixels.shape[:2])


def _maps(film: Made) -> list[Any]:
    """The colour maps of all frames, by their names."""
    figure, draw, count = film
    found: dict[str, Any] = {}
    for k in range(count):
        draw(k)
        drawn: Any = (artist for axes in figure.axes for artist in (*axes.images, *axes.collections))
        found |= {artist.get_cmap().name: artist.get_cmap() for artist in drawn if artist.get_array() is not None}
    return [found[name] for name in sorted(found)]


def _frames(film: Made, dots: int) -> Iterator[np.ndarray]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure, draw, count = film
    figure.set_dpi(dots)
    canvas = FigureCanvasAgg(figure)
    for k in range(count):
        draw(k)
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[..., :3]
