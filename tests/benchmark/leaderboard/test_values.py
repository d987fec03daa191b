"""Every value of every trajectory, as csv and parquet."""

import sys
from dataclasses import replace

import pandas as pd
import pytest

from benchmark.cli import main
from benchmark.leaderboard.values import COLUMNS, values_table, write_values
from tests.benchmark.verify.made import VALUES, stored, whole


@pytest.fixture
def results(tmp_path):
    stored(whole(), tmp_path / "results")
    stored(replace(whole("pino"), state="failed", reason="memory", metrics={}), tmp_path / "results")
    return tmp_path / "results"


def test_a_row_is_a_value():
    record = whole()
    grouped = replace(record, provenance={**record.provenance, "groups": [0, 0, 1, 1, 2, 2]})
    table = values_table([grouped, whole(seed=1)])
    assert tuple(table.columns) == COLUMNS and len(table) == 2 * 4 * 6  # metrics with values x trajectories
    one = table[(table.metric == "rel_l2") & (table.seed == 0)]
    assert one.value.tolist() == VALUES and one.trajectory.tolist() == list(range(6))
    assert one.run.tolist() == [0, 0, 1, 1, 2, 2] and set(one.unit) == {"%"} and set(one.key) == {record.key}
    assert set(values_table([record], ["crps"]).metric) == {"crps"}
    assert list(values_table([]).columns) == list(COLUMNS)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_command(results, tmp_path, capsys, ending):
    file = tmp_path / f"values.{ending}"
    assert main(["records", "export", str(file), "--results", str(results), "--metric", "rel_l2"]) == 0
    assert "6 values of 1 records" in capsys.readouterr().out
    table = pd.read_csv(file) if ending == "csv" else pd.read_parquet(file)
    assert table.value.tolist() == VALUES and set(table.method) == {"fno"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["values.xlsx"], ".csv or .parquet"),
        (["values.csv", "--metric", "rel_l3"], "did you mean"),
        (["values.csv", "--method", "shu"], "no values"),
    ],
)
def test_mistakes(results, capsys, arguments, message):
    assert main(["records", "export", *arguments, "--results", str(results)]) == 2
    assert message in capsys.readouterr().err


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match=r"pip install 'pde-video-benchmark\[parquet\]'"):
        write_values(values_table([whole()]), tmp_path / "values.parquet")
    assert not list(tmp_path.iterdir())
