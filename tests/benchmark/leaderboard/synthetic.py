"""Records made up for tests: the errors are given, everything else has a plain default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from benchmark.records.record import About, MetricScore, Record

COST = {
    "parameters": 1000,
    "steps": 10,
    "fit_seconds": 2.0,
    "predict_seconds": 0.5,
    "evaluations": 18,
    "peak_memory_mb": 256.0,
}
PROVENANCE = {
    "commit": "0123456789abcdef",
    "dirty": False,
    "data": {split: {"fingerprint": f"{split}-1", "source": "generated"} for split in ("train", "valid", "test")},
    "data_fingerprint": "test-1",
    "data_source": "generated",
    "mask_hash": "masks-1",
    "scorer_version": 1,
}


REFERENCES = ("mean", "persistence", "nearest", "kriging", "solver")
TASKS = {
    "cont": {"family": "continuous", "rate": 0.03},
    "fwd_full": {"family": "forward", "rate": 1.0},
    "inv_full": {"family": "inverse", "rate": 1.0},
    "fwd_partial": {"family": "forward", "rate": 0.03},
    "long_range": {"family": "long_range", "rate": 1.0},
}


def about(method: str) -> About:
    return About("reference" if method in REFERENCES else "learned", method in ("solver", "pino"), "task")


def score(values: list[float], unit: str = "%") -> MetricScore:
    mean = sum(values) / len(values)
    return MetricScore(unit, mean, 0.9 * mean, 1.1 * mean, values)


def settings(task: str, noise: float = 0.0) -> dict[str, Any]:
    known = TASKS.get("cont" if task.startswith("cont") else task, {})
    return {"task": {"name": task, "noise": noise, **known}}


def done(
    cell: Cell,
    values: list[float],
    frames: list[int] | None = None,
    noise: float = 0.0,
    remark: str | None = None,
    mean_of_samples: list[float] | None = None,
    diagnostics: dict[str, Any] | None = None,
    **provenance: Any,
) -> Record:
    metrics = {
        "rel_l2": score(values),
        "vrmse": score([0.01 * value for value in values], unit=""),
        "rel_l2_curve": MetricScore("%", [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], []),
    }
    if mean_of_samples:
        metrics["rel_l2_mean"] = score(mean_of_samples)
    return Record(
        cell,
        "done",
        about=about(cell.method),
        settings=settings(cell.task, noise),
        remark=remark or "",
        frames=None if frames is None else tuple(frames),
        metrics=metrics,
        cost=COST | ({"diagnostics": diagnostics} if diagnostics else {}),
        provenance={**PROVENANCE, **provenance},
    )


class Store:
    """A results folder to fill."""

    def __init__(self, results: Path, profile: str = "smoke"):
        self.results, self.profile = results, profile

    def cell(self, method: str, task: str, dataset: str, seed: int) -> Cell:
        return Cell(method, task, dataset, self.profile, seed)

    def done(
        self,
        method: str,
        values: list[float],
        task: str = "cont_1",
        dataset: str = "navier_stokes",
        seed: int = 0,
        **more: Any,
    ) -> Path:
        cell = self.cell(method, task, dataset, seed)
        return self._write(cell, done(cell, values, **more))

    def empty(
        self,
        method: str,
        state: str,
        reason: str,
        task: str = "cont_1",
        dataset: str = "navier_stokes",
        seed: int = 0,
    ) -> Path:
        cell = self.cell(method, task, dataset, seed)
        return self._write(
            cell,
            Record(cell, state, reason, about=about(method), settings=settings(task), provenance=PROVENANCE),
        )

    def _write(self, cell: Cell, record: Record) -> Path:
        write_record(cell.path(self.results), record)
        return cell.path(self.results)
