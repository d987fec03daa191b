"""Whole records, as a run leaves them: every mean and interval follows from the values, the key from the settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmark.records.cell import Cell, digest
from benchmark.records.files import write_record
from benchmark.records.record import MetricScore, Record
from benchmark.scoring.stats import bootstrap_interval
from tests.benchmark.leaderboard.synthetic import done

VALUES = [1.25, 2.5, 3.125, 4.0, 0.3333333333333333, 2.0]


def score(values: list[float], unit: str = "%") -> MetricScore:
    return MetricScore(unit, sum(values) / len(values), *bootstrap_interval(values), values)


def whole(method: str = "fno", task: str = "cont_1", seed: int = 0, values: list[float] | None = None) -> Record:
    values = values or VALUES
    record = done(Cell(method, task, "navier_stokes", "laptop", seed), values, scorer_version=2)
    curve = MetricScore("%", [1.0, 2.0, 6.0], [0.5, 1.0, 5.0], [2.0, 3.0, 7.0], [])
    metrics = {
        "rel_l2": score(values),
        "crps": score([value / 7 for value in values]),
        "rel_l2_frame": score([3.0 * value / (sum(values) / len(values)) for value in values]),
        "rel_l2_end": score([6.0 * value / (sum(values) / len(values)) for value in values]),
        "rel_l2_curve": curve,
    }
    evaluation = {"samples": 1, "trajectories": len(values), "mask_seed": 0}
    settings = {**record.settings, "method": {"width": 8}, "evaluation": evaluation}
    provenance = {
        **record.provenance,
        "created": "2026-01-01T00:00:00+00:00",
        "packages": {"pde-video-benchmark": "0.1.0"},
        "method_version": 1,
        "dataset_version": 1,
    }
    return replace(record, metrics=metrics, settings=settings, key=digest(settings), provenance=provenance)


def stored(record: Record, results: Path) -> Path:
    path = record.cell.path(results)
    write_record(path, record)
    return path
