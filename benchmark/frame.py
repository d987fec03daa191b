"""All records as one tidy pandas table, for notebooks: a row for each cell, metric and trajectory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.records import read_record, record_paths

if TYPE_CHECKING:
    import pandas as pd


def read_frame(results: Path = Path("results"), profile: str | None = None) -> pd.DataFrame:
    """Columns method, task, dataset, profile, seed, state, metric, unit, trajectory, value.

    A cell without scores has one row with its state. Curves, which have a list a trajectory, are left out.
    """
    import pandas as pd

    rows = [row for path in record_paths(Path(results), profile) for row in _rows(read_record(path))]
    columns = ["method", "task", "dataset", "profile", "seed", "state", "metric", "unit", "trajectory", "value"]
    return pd.DataFrame(rows, columns=columns)


def _rows(record: dict[str, Any]) -> list[dict[str, Any]]:
    cell = {**record["cell"], "state": record["state"]}
    rows = [
        {**cell, "metric": name, "unit": metric["unit"], "trajectory": i, "value": value}
        for name, metric in (record.get("metrics") or {}).items()
        for i, value in enumerate(metric["values"])
        if not isinstance(value, list)
    ]
    return rows or [cell]
