"""Keeping what a cell answered on its first test trajectories, for pictures and for looking at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from benchmark.planning.resolve import Resolved
from benchmark.records.cell import Cell
from benchmark.records.predictions import SAMPLES, Predictions, predictions_path, write_predictions
from benchmark.records.record import HEADLINE
from benchmark.records.thin import thinned
from benchmark.running.evaluate import Evaluation, Question, observe


def keep_predictions(kept: Path, cell: Resolved, question: Question, done: Evaluation) -> None:
    """The videos of `question`, the first of those that were answered, beside the cell's log."""
    first = first_predictions(cell, question, done)
    errors = done.metrics[HEADLINE].values[: len(first)]
    write_predictions(predictions_path(kept, cell.cell), thinned(first, errors))


def forget_predictions(kept: Path, cell: Cell) -> None:
    """What an earlier run kept no longer belongs to the record."""
    predictions_path(kept, cell).unlink(missing_ok=True)


def first_predictions(cell: Resolved, question: Question, done: Evaluation) -> Predictions:
    truth, seen = observe(question)
    count = len(truth)
    u = done.prediction.u[:, :count]  # (S, N, T, H, W, C)
    prediction = u[0] if done.prediction.point is None else done.prediction.point[:count]
    several = len(u) > 1
    return Predictions(
        cell.cell,
        cell.key,
        channels=cell.dataset.channels,
        frame_names=cell.dataset.frame_names,
        times=truth.grid.times,
        boundary=truth.grid.boundary,
        lengths=truth.grid.lengths,
        frames=None if done.prediction.frames is None else tuple(done.prediction.frames),
        masks=question.masks.masks,
        truth=truth.u.numpy(),
        mask=seen.mask.numpy(),
        values=torch.where(seen.mask, seen.values, 0).numpy(),
        prediction=_finite(prediction),
        samples=_finite(u[:SAMPLES]) if several else None,
        spread=_finite(u.std(0)) if several else None,
    )


def _finite(u: Tensor) -> np.ndarray:
    """Frames that a method does not predict may hold anything."""
    return torch.nan_to_num(u, nan=0.0, posinf=0.0, neginf=0.0).numpy()
