"""Curves are the records' numbers, without frames that were given."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from benchmark.errors import UserError
from benchmark.figures.long_range import errors_of, long_range
from benchmark.figures.style import looks
from tests.benchmark.figures.made import check_text, record

CURVE = [0.0, 10.0, 20.0, 60.0]


def of(method, curve=CURVE, **more):
    made = record(method, [10.0], "long_range", "kolmogorov", curve=curve, **more)
    return replace(made, settings=made.settings | {"dataset": {"sizes": {"frames": 2}}})


def line(axes, method):
    return next(one for one in axes.lines if one.get_color() == looks([method])[method].colour)


def test_single_frames_and_means_up_to_each():
    left, right = long_range({"fno": [of("fno")]}).axes
    assert list(line(right, "fno").get_xdata()) == [2, 3, 4] and list(line(right, "fno").get_ydata()) == [10, 20, 60]
    assert list(line(left, "fno").get_ydata()) == [10, 15, 30]


def test_the_band_is_the_interval_of_single_frames():
    left, right = long_range({"fno": [of("fno")]}).axes
    (band,) = right.collections
    corners = {(round(float(x)), round(float(y), 6)) for x, y in band.get_paths()[0].vertices}
    assert {(2, 9.0), (2, 11.0), (4, 54.0), (4, 66.0)} <= corners and not left.collections


def test_seeds_are_averaged_and_the_band_holds_all():
    errors = errors_of([of("fno"), of("fno", [0.0, 30.0, 40.0, 80.0], seed=1)])
    assert errors.mean == (20.0, 30.0, 70.0) and errors.low[0] == 9.0 and errors.high[0] == pytest.approx(33.0)


def test_frames_that_a_method_does_not_predict_are_no_points():
    partial = replace(of("fno", [20.0, 60.0]), frames=(2, 3))
    assert errors_of([partial]).frames == (3, 4)
    figure = long_range({"fno": [partial], "videopde": [of("videopde")]})
    assert list(line(figure.axes[1], "fno").get_xdata()) == [3, 4]


def test_the_end_of_the_training_clips_is_marked():
    left, right = long_range({"fno": [of("fno")]}).axes
    assert [one.get_xdata()[0] for one in right.lines if one.get_linestyle() == ":"] == [2]
    assert [text.get_text() for text in left.figure.legends[0].get_texts()] == ["FNO", "end of the training clips"]
    assert not left.texts and not right.texts  # nothing lies on the curves


def test_only_comparable_records_stand_together():
    other = replace(of("pino"), provenance=of("pino").provenance | {"data_fingerprint": "test-2"})
    figure = long_range({"fno": [of("fno")], "videopde": [of("videopde")], "pino": [other]})
    assert [text.get_text() for text in figure.legends[0].get_texts()][:2] == ["FNO", "VideoPDE"]


def test_errors_that_are_alike_stand_on_the_floor_of_a_logarithmic_axis():
    figure = long_range({"solver": [of("solver", [0.0, 1e-5, 1e-4, 5.0])]}, log_errors=True)
    ys = [y for one in figure.axes[1].lines for y in one.get_ydata() if one.get_linestyle() == "-"]
    assert ys == [0.01, 0.01, 5.0] and figure.axes[1].get_yscale() == "log"


def test_markers_at_zero_are_whole():
    """Some of their pixels are below the axis."""
    figure = long_range({"videopde": [of("videopde", [0.0] * 4)], "fno": [of("fno")]})
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[..., :3] / 255
    floor = round(pixels.shape[0] - figure.axes[0].bbox.y0)
    own = np.array(to_rgb(looks(["videopde"])["videopde"].colour))
    assert (np.abs(pixels[floor + 2 : floor + 4] - own).max(-1) < 0.1).any()


def test_without_curves_there_is_no_figure():
    made = of("fno")
    with pytest.raises(UserError, match="no errors of single frames"):
        long_range({"fno": [replace(made, metrics={"rel_l2": made.headline})]})


def test_text_is_on_the_page_and_apart():
    names = ("videopde", "videopde_unified", "diffusionpde_ext", "ablation_hierarchical", "residual_min", "solver")
    check_text(long_range({name: [of(name)] for name in names}, log_errors=True))
