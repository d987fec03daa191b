"""What is drawn where."""

import subprocess
import sys
from dataclasses import replace

import pytest

from benchmark.figures.curve import LINE, draw, error_limits, make, panels_of, spread
from benchmark.figures.style import looks, styled
from benchmark.leaderboard.curve import Curve, Line, Point
from benchmark.leaderboard.entries import Entry


def entry(method, mean, width=0.1):
    low, high = mean * (1 - width), mean * (1 + width)
    return Entry(method, "cont_3", "kolmogorov", "done", seeds=(0,), mean=mean, low=low, high=high)


def line(method, errors, flop=1e12, **more):
    budgets = (1.0, 5.0, 25.0)[: len(errors)]
    points = [
        Point(b, entry(method, e), 10 * b, 3 * b, flop and flop * b) for b, e in zip(budgets, errors, strict=True)
    ]
    return Line(method, tuple(points), **more)


def figure(*lines, levels=()):
    with styled():
        made = make(curve(*lines, levels=levels))
        made.draw_without_rendering()
        return made


def curve(*lines, levels=()):
    return Curve("laptop", "kolmogorov", "cont_3", tuple(lines), tuple(entry(name, mean) for name, mean in levels))


def drawn(axes, method):
    """The line through a method's points."""
    colour = looks([method])[method].colour
    return next(one for one in axes.lines if one.get_color() == colour and len(one.get_xdata()) > 1)


def test_points_are_at_their_cost_and_their_error():
    seconds, flop = figure(line("fno", [40.0, 30.0])).axes
    assert list(drawn(seconds, "fno").get_xdata()) == [3.0, 15.0]
    assert list(drawn(flop, "fno").get_xdata()) == [1.0, 5.0] and "TFLOP" in flop.get_xlabel()
    assert list(drawn(flop, "fno").get_ydata()) == [40.0, 30.0]


def test_the_profiles_own_budget_is_filled():
    axes = figure(line("fno", [40.0, 30.0])).axes[0]
    markers = [one.get_markerfacecolor() for one in axes.lines if one.get_marker() == looks(["fno"])["fno"].marker]
    assert markers == [looks(["fno"])["fno"].colour, "white"]


def test_bars_are_the_intervals():
    (segments, *_) = [c.get_segments() for c in figure(line("fno", [40.0])).axes[0].collections]
    assert [tuple(end[1] for end in segment) for segment in segments] == [pytest.approx((36.0, 44.0))]


def test_a_method_without_flop_is_on_the_first_panel_alone():
    both = figure(line("fno", [40.0]), line("pinn", [50.0, 45.0], flop=None, per_trajectory=True))
    assert [len(drawn(both.axes[0], "pinn").get_xdata()), len(both.axes)] == [2, 2]
    with pytest.raises(StopIteration):
        drawn(both.axes[1], "pinn")
    assert "PINN (per trajectory)" in [text.get_text() for text in both.legends[0].get_texts()]
    assert len(panels_of(curve(line("pinn", [50.0], flop=None)))) == 1


def test_levels_far_off_do_not_stretch_the_axis_but_are_named():
    levels = (("linear", 34.0), ("mean", 98.0), ("solver", 1e-5))
    axes = figure(line("fno", [40.0, 20.0]), levels=levels).axes
    names = [text.get_text() for text in axes[1].texts]
    assert names == ["True solver 1.0e-05 ↓", "Linear 34.0", "Mean 98.0"]
    low, high = axes[0].get_ylim()
    assert 10 < low < 18 and 98 < high < 120
    dashed = [one.get_ydata()[0] for one in axes[0].lines if one.is_dashed()]
    assert dashed == [34.0, 98.0]


def test_a_point_without_a_number_is_left_out():
    failed = Point(5.0, Entry("fno", "cont_3", "kolmogorov", "failed"))
    one = line("fno", [40.0])
    axes = figure(replace(one, points=(*one.points, failed))).axes[0]
    assert sum(one.get_marker() == looks(["fno"])["fno"].marker for one in axes.lines) == 1
    with pytest.raises(ValueError, match="expected a point"):
        error_limits(curve(Line("fno", (failed,))))


@pytest.mark.parametrize(
    ("heights", "expected"),
    [
        ([0.1, 0.5], [0.1, 0.5]),
        ([0.5, 0.5], [0.45, 0.55]),
        ([0.0, 0.0, 0.0], [0.0, 0.1, 0.2]),
        ([0.98, 1.0], [0.9, 1.0]),
        ([0.3, 0.35, 0.42], [0.2566667, 0.3566667, 0.4566667]),
        ([], []),
    ],
)
def test_labels_keep_apart_and_near_their_lines(heights, expected):
    assert spread(heights, 0.1) == pytest.approx(expected)


def test_labels_do_not_overlap():
    made = figure(line("fno", [40.0, 20.0]), levels=[(name, 30.0 + i) for i, name in enumerate("abcdefg")])
    boxes = sorted((t.get_window_extent() for t in made.axes[1].texts), key=lambda box: box.y0)
    assert len(boxes) == 7 and all(a.y1 <= b.y0 + 1 for a, b in zip(boxes, boxes[1:], strict=False))
    assert LINE < 0.1


def test_nothing_is_cut_off():
    made = figure(line("diffusionpde_ext", [40.0, 20.0]), levels=[("residual_min", 33.0), ("mean", 1e3)])
    width, height = made.bbox.size
    parts = [*made.axes[1].texts, *made.legends, made.axes[0].yaxis.label, made.axes[0].xaxis.label]
    for box in (part.get_window_extent() for part in parts):
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height


def test_the_files_are_written_whole_and_torch_is_not_needed(tmp_path):
    png, pdf = draw(curve(line("fno", [40.0, 30.0])), tmp_path / "a.b")
    assert (png.name, pdf.name) == ("a.b.png", "a.b.pdf")
    assert png.read_bytes()[:4] == b"\x89PNG" and pdf.read_bytes()[:4] == b"%PDF"
    program = "import sys, benchmark.figures.curve\nassert not {'torch', 'matplotlib', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
