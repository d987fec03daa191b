"""Results and predictions for a page: two references and three learned methods, errors known, videos made up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from benchmark.records.predictions import Predictions, predictions_path, write_predictions
from benchmark.records.record import MetricScore
from tests.benchmark.leaderboard.synthetic import Store, done

METHODS = ("mean", "kriging", "videopde", "fno", "shu")  # the lowest error first, but for the references
DATASETS = ("wave_layer", "kolmogorov")
TASKS = ("cont_1", "cont_3", "long_range")
ERRORS = {"mean": 50.0, "kriging": 8.0, "videopde": 3.0, "fno": 5.0, "shu": 20.0}
HOSTILE = "</script><script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'>{{7*7}}"
FRAMES = 4


def fill(results: Path, runs: Path) -> None:
    for task in TASKS:
        for dataset in DATASETS:
            for method in METHODS:
                cell = Cell(method, task, dataset, "smoke", 0)
                write_record(cell.path(results), record(cell))
                write_predictions(predictions_path(runs, cell), predictions(cell))
    store = Store(results)
    store.empty("pino", "failed", HOSTILE, "cont_1", "wave_layer")
    store.empty("pino", "unsupported", "no forecast", "long_range", "wave_layer")
    faster = Cell("fno", "cont_1", "kolmogorov", "smoke", 0, "budget_5")
    write_record(faster.path(results), replace(record(faster), changes={"steps": 50}))
    Store(results, "laptop").done("fno", [1.0, 2.0], "cont_1", "kolmogorov")


def record(cell: Cell):
    """Of eight trajectories, of which number 5 is the worst."""
    error = ERRORS[cell.method] * (1 + TASKS.index(cell.task) / 10)
    values = [error * (1 + 0.01 * i) for i in range(8)]
    values[5] = 2 * error
    made = done(cell, values, remark=HOSTILE if cell.method == "shu" else None)
    curve = [error * (frame + 1) / FRAMES for frame in range(FRAMES)]
    metrics = {
        **made.metrics,
        "rel_l2_curve": MetricScore("%", curve, [0.9 * y for y in curve], [1.1 * y for y in curve], []),
    }
    cost = {**made.cost, "fit_seconds": 100.0 / ERRORS[cell.method]}
    return replace(made, metrics=metrics, cost=cost, key=f"key {cell}")


def predictions(cell: Cell) -> Predictions:
    """A field that moves to the right, and an answer that is late by as much as the method errs."""
    late = ERRORS[cell.method] / 50
    truth = np.stack([wave(i, 0.0) for i in range(2)])
    mask = np.zeros(truth.shape, dtype=bool)
    mask[:, :, ::4, ::4] = True
    return Predictions(
        cell, f"key {cell}", ("u",), None, tuple(0.5 * t for t in range(FRAMES)), "periodic", (1.0, 1.0), None, 1,
        truth, mask, np.where(mask, truth, 0), np.stack([wave(i, late) for i in range(2)]),
    )  # fmt: skip


def wave(trajectory: int, late: float) -> np.ndarray:
    t, y, x = np.meshgrid(np.arange(FRAMES), np.arange(16), np.arange(16), indexing="ij")
    field = np.sin(2 * np.pi * (x / 16 - (t - late) / 8)) * np.cos(2 * np.pi * (trajectory + 1) * y / 16)
    return field[..., None].astype(np.float32)
