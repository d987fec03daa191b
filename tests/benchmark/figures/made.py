"""Predictions and records made up for figures, and what must hold of the text of any figure."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text

from benchmark.records.cell import Cell
from benchmark.records.predictions import Predictions
from benchmark.records.record import MetricScore, Record
from tests.benchmark.leaderboard.synthetic import done, score

TIMES = (0.0, 0.25, 0.5, 0.75, 1.0)
SITES = 16


def predictions(method: str = "kriging", off: float = 0.1, samples: int = 0, **changes: Any) -> Predictions:
    """Two waves that move; the answer is off by so much of the truth. The same truth and sensors for all methods."""
    draw = np.random.default_rng(0)
    x, y = np.meshgrid(*2 * [np.arange(SITES) / SITES], indexing="ij")
    t = np.array(TIMES)[:, None, None]
    waves = [np.sin(2 * np.pi * (n * x + t)) + 0.5 * np.cos(2 * np.pi * (2 * y - t)) for n in (1, 2)]
    truth = np.stack(waves)[..., None].astype(np.float32)  # (2, 5, 16, 16, 1)
    sensors = draw.random((2, 1, SITES, SITES, 1)) < 0.05
    mask = np.broadcast_to(sensors, truth.shape).copy()
    several = truth + 0.3 * draw.normal(size=(max(samples, 1), *truth.shape)).astype(np.float32)
    cell = Cell(method, "cont_3", "navier_stokes", "laptop", 0)
    made = Predictions(
        cell, "key", ("w",), None, TIMES, "periodic", (1.0, 1.0), None, 1,
        truth, mask, np.where(mask, truth, 0).astype(np.float32), (1 + off) * truth,
        samples=several if samples else None, spread=several.std(0) if samples else None,
    )  # fmt: skip
    return replace(made, **changes)


def steady(method: str = "kriging", off: float = 0.1, **changes: Any) -> Predictions:
    """Two fields of different size where frames stand."""
    made = predictions(method)
    truth = made.truth[:, :2] * np.array([5.0, 0.01], dtype=np.float32)[:, None, None, None]
    mask = made.mask[:, :2]
    cell = replace(made.cell, dataset="helmholtz")
    values = np.where(mask, truth, 0).astype(np.float32)
    fields = {"truth": truth, "mask": mask, "values": values, "prediction": (1 + off) * truth}
    return replace(made, **{**fields, "times": (0.0, 1.0), "frame_names": ("a", "u"), "cell": cell, **changes})


def record(
    method: str,
    errors: list[float],
    task: str = "cont_3",
    dataset: str = "navier_stokes",
    seed: int = 0,
    curve: list[float] | None = None,
    cost: dict[str, Any] | None = None,
    metrics: dict[str, MetricScore] | None = None,
    profile: str = "laptop",
    variant: str = "",
    rate: float | None = None,
) -> Record:
    made = done(Cell(method, task, dataset, profile, seed, variant), errors)
    own = dict(made.metrics) | (metrics or {})
    if curve:
        own["rel_l2_curve"] = MetricScore("%", curve, [0.9 * c for c in curve], [1.1 * c for c in curve], [])
    settings = dict(made.settings) | {"evaluation": {"samples": 8}}
    settings["task"] = settings["task"] | ({"rate": rate} if rate else {})
    return replace(made, metrics=own, settings=settings, cost=made.cost | (cost or {}))


__all__ = ["check_text", "predictions", "record", "score", "steady"]


def check_text(figure: Figure) -> None:
    """All of it is on the page, and none of it on other text."""
    figure.draw_without_rendering()
    width, height = figure.bbox.size
    hidden = _beyond_the_limits(figure)
    words = [t for t in figure.findobj(Text) if isinstance(t, Text) and t.get_visible() and t.get_text().strip()]
    boxes = [(t.get_text(), t.get_window_extent()) for t in words if id(t) not in hidden]
    assert boxes
    for text, box in boxes:
        assert box.x0 >= -0.5 and box.y0 >= -0.5 and box.x1 <= width + 0.5 and box.y1 <= height + 0.5, text
    for (one, a), (other, b) in combinations(boxes, 2):
        across, down = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 1 or down <= 1, f"{one!r} is on {other!r}"


def _beyond_the_limits(figure: Figure) -> set[int]:
    """Labels of ticks that have text and are not drawn."""
    axes = [(axis, axes.axison) for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    every = {id(t.label1) for axis, _ in axes for t in [*axis.majorTicks, *axis.minorTicks]}
    return every - {id(t.label1) for axis, is_on in axes if is_on for t in axis._update_ticks()}  # pyright: ignore
