"""Spreads, errors and coverages are the records'."""

import pytest

from benchmark.errors import UserError
from benchmark.figures.calibration import DODGE, calibration, calibration_of
from benchmark.figures.style import looks
from tests.benchmark.figures.made import check_text, record, score

METRICS = {
    "spread_skill": score([0.5, 1.0], ""),
    "rel_l2_mean": score([20.0, 10.0]),
    "coverage_50": score([40.0, 44.0]),
    "coverage_80": score([70.0, 74.0]),
}


def of(method):
    return [record(method, [25.0, 15.0], metrics=METRICS)]


def test_points_are_the_trajectories():
    figure = calibration({"sda": of("sda"), "shu": of("shu")})
    left, right = figure.axes
    look = looks(["sda", "shu"])["sda"]
    (dots,) = [line for line in left.lines if line.get_color() == look.colour]
    assert list(dots.get_xdata()) == [20.0, 10.0] and list(dots.get_ydata()) == [10.0, 10.0]
    (line,) = [line for line in right.lines if line.get_color() == look.colour and len(line.get_xdata()) == 2][:1]
    assert list(line.get_xdata()) == [50 - DODGE / 2, 80 - DODGE / 2] and list(line.get_ydata()) == [42.0, 72.0]


def test_the_ratio_is_that_of_all_trajectories_together():
    ratio = calibration_of(of("sda")[0]).ratio
    assert ratio == pytest.approx(((10**2 + 10**2) / (20**2 + 10**2)) ** 0.5)
    assert f"SDA ({ratio:.2f})" in [t.get_text() for t in calibration({"sda": of("sda")}).legends[0].get_texts()]


def test_methods_with_one_answer_are_left_out():
    figure = calibration({"sda": of("sda"), "fno": [record("fno", [1.0, 2.0])]})
    assert len(figure.legends[0].get_texts()) == 1
    with pytest.raises(UserError, match="no method that samples; fno left out: it has one answer"):
        calibration({"fno": [record("fno", [1.0, 2.0])]})


def test_text_is_on_the_page_and_apart():
    names = ("videopde", "videopde_unified", "diffusionpde_ext", "ablation_hierarchical", "sda")
    check_text(calibration({name: of(name) for name in names}))
