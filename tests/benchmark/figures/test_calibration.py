"""Spreads, errors and coverages are the records'."""

from dataclasses import replace

import pytest

from benchmark.errors import UserError
from benchmark.figures.calibration import DODGE, calibration, calibration_of, calibrations
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


def test_coverage_has_ticks_where_it_has_numbers_and_says_why_not_elsewhere():
    figure = calibration({"sda": of("sda")})
    figure.draw_without_rendering()
    assert [text.get_text() for text in figure.axes[1].get_xticklabels()] == ["0", "50", "80"]
    assert figure.get_supxlabel().endswith("; 8 samples, too few for intervals of 95 %")


def test_without_coverage_there_is_no_panel_of_it():
    few = [replace(of("sda")[0], metrics={n: m for n, m in of("sda")[0].metrics.items() if "coverage" not in n})]
    figure = calibration({"sda": few})
    assert len(figure.axes) == 1 and figure.get_supxlabel().endswith("8 samples, too few for intervals of 50, 80, 95 %")
    assert calibrations({"sda": few})[1] == ["no panel of coverage: 8 samples, too few for intervals of 50, 80, 95 %"]
    check_text(figure)


def test_text_is_on_the_page_and_apart():
    names = ("videopde", "videopde_unified", "diffusionpde_ext", "ablation_hierarchical", "sda")
    check_text(calibration({name: of(name) for name in names}))
