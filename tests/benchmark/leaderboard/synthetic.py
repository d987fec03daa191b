"""Records made up for tests: the errors are given, everything else has a plain default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmark.records.record import Cell, new_record, write_json

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


def score(values: list[float], unit: str = "%") -> dict[str, Any]:
    mean = sum(values) / len(values)
    return {"unit": unit, "mean": mean, "low": 0.9 * mean, "high": 1.1 * mean, "values": values}


def done(
    cell: Cell,
    values: list[float],
    frames: list[int] | None = None,
    noise: float = 0.0,
    remark: str | None = None,
    **provenance: Any,
) -> dict[str, Any]:
    metrics = {
        "rel_l2": score(values),
        "vrmse": score([0.01 * value for value in values], unit=""),
        "rel_l2_curve": {"unit": "%", "mean": None, "low": None, "high": None, "values": [[1.0, 2.0] for _ in values]},
    }
    return new_record(
        cell,
        "done",
        settings={"task": {"name": cell.task, "noise": noise}},
        remark=remark,
        frames=frames,
        metrics=metrics,
        cost=COST,
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
        return self._write(cell, new_record(cell, state, reason=reason, provenance=PROVENANCE))

    def _write(self, cell: Cell, record: dict[str, Any]) -> Path:
        write_json(cell.path(self.results), record)
        return cell.path(self.results)
