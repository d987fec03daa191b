"""The Python in README.md runs as printed, here at profile smoke."""

import re
from functools import partial
from pathlib import Path

import pytest

import benchmark

ROOT = Path(__file__).parent.parent
(SNIPPET,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.mark.slow
def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BENCHMARK_DATA", raising=False)
    (tmp_path / "results").symlink_to(ROOT / "results")  # what is read of it is as printed, of profile laptop
    for name in ("open_data", "case", "plot"):
        monkeypatch.setattr(benchmark, name, partial(getattr(benchmark, name), profile="smoke"), raising=False)
    names: dict = {}
    exec(SNIPPET, names)
    table, data, record, figure = (names[name] for name in ("table", "data", "record", "figure"))
    assert {"kriging", "solver"} <= set(table["method"]) and "fit_seconds" in table and table["mean"].notna().any()
    assert data[:4].u.shape[:2] == (4, 4) and data[:4].u.ndim == 5  # (B, T, H, W, C)
    assert names["answer"].u.shape[1:] == data[:4].u.shape
    assert len(names["scores"]["rel_l2"].values) == 4
    assert record.state == "done" and record.cell.path(tmp_path / "mine").exists()
    assert figure.axes and list((tmp_path / "runs").rglob("*.predictions.npz"))
