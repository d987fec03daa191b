"""`benchmark.plot` draws what the command line draws."""

import pytest

import benchmark
from benchmark.errors import UserError


def test_a_figure_of_a_cell_that_has_run(tmp_path):
    folders = {"results": tmp_path / "results", "runs": tmp_path / "runs"}
    case = benchmark.case("nearest", "cont_3", "wave_layer", profile="smoke", data=tmp_path / "data", **folders)
    case.run()
    figure = benchmark.plot("nearest", "cont_3", "wave_layer", profile="smoke", trajectory=1, **folders)
    assert any("nearest" in text.get_text().lower() for axes in figure.axes for text in axes.texts) or figure.texts
    with pytest.raises(UserError, match="run --method kriging"):
        benchmark.plot("kriging", "cont_3", "wave_layer", profile="smoke", **folders)
