"""The notebook runs from top to bottom. `.ci/run` executes it in Jupyter too."""

import json
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

import benchmark

TOUR = Path(benchmark.__file__).parent / "api" / "tour.ipynb"


def test_every_cell_runs_and_none_is_stored_with_output(capsys):
    cells = [cell for cell in json.loads(TOUR.read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells)
    names: dict = {}
    for cell in cells:
        exec("".join(cell["source"]), names)
    assert "kriging" in capsys.readouterr().out
    assert isinstance(names["errors"], pd.DataFrame) and list(names["errors"].index) == ["kriging", "mean", "nearest"]
    assert isinstance(names["figure"], Figure) and len(names["scores"]["rel_l2"].values) == 2
