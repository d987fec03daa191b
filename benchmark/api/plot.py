"""Figures as matplotlib figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(
    methods: str | Sequence[str],
    task: str | Sequence[str] = (),
    dataset: str | Sequence[str] = "navier_stokes",
    figure: str = "errors",
    profile: str = "laptop",
    results: str | Path = "results",
    runs: str | Path = "runs",
    **options: Any,
) -> Figure:
    """What `python -m benchmark plot` draws; `options` are `trajectory`, `frames`, `channel`, `seeds`, `samples` ..."""
    from benchmark.figures.plot import Wanted
    from benchmark.figures.plot import plot as draw

    tasks, datasets = _names(task), _names(dataset)
    folders = {"results": Path(results), "runs": Path(runs)}
    return draw(Wanted(figure, _names(methods), tasks, datasets, profile, **folders, **options)).figure


def _names(given: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(",")) if isinstance(given, str) else tuple(given)
