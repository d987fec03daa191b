"""`benchmark.plot` draws what the command line draws."""

import numpy as np
import pytest
from matplotlib.text import Text

import benchmark
from benchmark.errors import UserError
from benchmark.records.predictions import predictions_path, read_predictions


def test_a_figure_of_a_cell_that_has_run(tmp_path):
    folders = {"results": tmp_path / "results", "runs": tmp_path / "runs"}
    case = benchmark.case("nearest", "cont_3", "wave_layer", profile="smoke", data=tmp_path / "data", **folders)
    record = case.run()
    figure = benchmark.plot("nearest", "cont_3", "wave_layer", profile="smoke", trajectory=1, **folders)
    texts = {text.get_text() for text in figure.findobj(Text)}
    assert {"truth", "Nearest sensor"} <= texts and any("test trajectory 1" in text for text in texts)
    p = read_predictions(predictions_path(folders["runs"], record.cell))
    images = [np.asarray(axes.images[0].get_array()) for axes in figure.axes if axes.images]
    assert any(np.array_equal(image, p.prediction[1, 0, ..., 0]) for image in images)
    with pytest.raises(UserError, match="run --method kriging"):
        benchmark.plot("kriging", "cont_3", "wave_layer", profile="smoke", **folders)
