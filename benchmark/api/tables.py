"""Records as tables."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.errors import UserError

if TYPE_CHECKING:
    import pandas as pd


def load_records(
    results: str | Path = "results", profile: str = "laptop", include: Collection[str] = ("all",)
) -> pd.DataFrame:
    """A tidy table: a row for each record and metric, with interval, cost and provenance; one row without numbers for
    a cell that has none. The columns are those of `leaderboard --format csv`."""
    import io

    import pandas as pd

    from benchmark.leaderboard import read_leaderboard, render

    _check_folder(Path(results), profile)
    table = pd.read_csv(io.StringIO(render(read_leaderboard(Path(results), profile, include=include), "csv")))
    table = table.dropna(subset=["seed"]).astype({"seed": int}).reset_index(drop=True)
    for name in ("mean", "low", "high"):  # of a curve, which has a number a frame, there is none
        table[name] = pd.to_numeric(table[name], errors="coerce")
    return table


def load_values(results: str | Path = "results", profile: str = "laptop", metric: str = "rel_l2") -> pd.DataFrame:
    """One row for each test trajectory of each record that has the metric."""
    import pandas as pd

    from benchmark.leaderboard.collect import read_records
    from benchmark.planning.registry import near

    _check_folder(Path(results), profile)
    records, _ = read_records(Path(results), profile)
    rows = [
        {**record.cell.to_json(), "variant": record.cell.variant, "trajectory": number, "value": value}
        for record in records
        if metric in record.metrics
        for number, value in enumerate(record.metrics[metric].values)
    ]
    if not rows:
        known = sorted({name for record in records for name in record.metrics})
        raise UserError(f"{Path(results) / profile}: no record there has the metric {metric!r}{near(metric, known)}")
    return pd.DataFrame(rows)


def _check_folder(results: Path, profile: str) -> None:
    if not (results / profile).is_dir():
        raise UserError(f"{results / profile}: no records there; run some cells first")
