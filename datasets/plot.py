"""Pictures of trajectories: film strips, one row per trajectory, with the colours its field calls for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmark.core import Dataset, Trajectories

SIGNED, PHASES, SPEED = "RdBu_r", "coolwarm", "viridis"
COLOURS = {"allen_cahn": PHASES}


def film_strips(dataset: Dataset, trajectories: Trajectories, path: Path, frames: int = 8) -> None:
    """At most `frames` frames per row, evenly spread; a static field comes first. x runs down, y to the right."""
    from matplotlib.figure import Figure

    u = trajectories.u[..., 0].numpy()  # (B, T, H, W)
    shown = np.unique(np.linspace(0, u.shape[1] - 1, min(frames, u.shape[1])).round().astype(int))
    static = () if trajectories.static is None else trajectories.static.unbind(-1)  # each (B, H, W)
    names = dataset.frame_names
    columns = len(static) + len(shown)
    figure = Figure(figsize=(1.7 * columns + 0.8, 1.8 * len(u) + 0.4), layout="constrained")
    axes = figure.subplots(len(u), columns, squeeze=False)
    for row, video in enumerate(u):
        for k, field in enumerate(static):
            _image(axes[row, k], field[row].numpy(), SPEED, None, dataset.static_names[k], figure)
        limit = None if dataset.steady else np.abs(video).max()
        for k, t in enumerate(shown):
            title = names[t] if names else f"t = {trajectories.grid.times[t]:.4g}"
            bar = figure if dataset.steady or k == len(shown) - 1 else None
            colours = COLOURS.get(dataset.name, SIGNED)
            _image(axes[row, len(static) + k], video[t], colours, limit or np.abs(video[t]).max(), title, bar)
    figure.suptitle(f"{dataset.title}, {u.shape[2]} x {u.shape[3]}")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _image(axis, field: np.ndarray, colours: str, limit: float | None, title: str, bar_on) -> None:
    low = None if limit is None else -limit
    image = axis.imshow(field, cmap=colours, vmin=low, vmax=limit, interpolation="nearest")
    axis.set_title(title, fontsize=8)
    axis.set_xticks([])
    axis.set_yticks([])
    if bar_on is not None:
        bar_on.colorbar(image, ax=axis, shrink=0.8).ax.tick_params(labelsize=6)
