"""Records made up for the paper's cells: an error level each, the same hard and easy trajectories for all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from benchmark.records.cell import Cell
from benchmark.records.record import Record
from tests.benchmark.leaderboard.synthetic import done, score

N = 16
HARD = np.exp(np.random.default_rng(0).normal(size=N))


def errors(level: float, noise: float = 0.05, n: int = N, seed: int = 1) -> list[float]:
    """About `level` percent, each method with a little noise of its own."""
    own = np.random.default_rng(int(1000 * level) + seed).normal(size=n)
    return (level * HARD[:n] * np.exp(noise * own)).tolist()


def made(
    method: str,
    level: float,
    task: str = "cont_1",
    dataset: str = "navier_stokes",
    profile: str = "laptop",
    seed: int = 0,
    noise: float = 0.05,
    n: int = N,
    metrics: dict[str, list[float]] | None = None,
    **provenance: object,
) -> Record:
    values = errors(level, noise, n, seed + 1)
    record = done(Cell(method, task, dataset, profile, seed), values, **provenance)
    more = {name: score(values) for name, values in (metrics or {}).items()}
    return replace(record, metrics={**record.metrics, **more})
