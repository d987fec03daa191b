"""Points are the records' costs and errors, and the front is the front."""

from dataclasses import replace

from benchmark.figures.cost import FRONT, Point, cost, front, points_of
from benchmark.leaderboard.entries import Entry
from benchmark.records.record import About
from tests.benchmark.figures.made import check_text, record


def of(method, error, predict, fit=1.0, **more):
    return [record(method, [error, error], cost={"predict_seconds": predict, "fit_seconds": fit}, **more)]


def point(name, error, seconds):
    return Point(name, Entry(name, "cont_3", "kolmogorov", "done", mean=error), {"predict_seconds": seconds}, False)


def test_on_the_front_is_whom_nobody_beats_in_both():
    made = [point("a", 50, 1), point("b", 40, 2), point("c", 45, 3), point("d", 10, 9), point("e", 60, 1)]
    assert [p.name for p in front(made, "predict_seconds")] == ["a", "b", "d"]
    assert front(made, "fit_seconds") == []


def test_points_and_front_are_drawn_where_the_records_say():
    figure = cost(
        {"fno": of("fno", 40.0, 0.1, 300.0), "shu": of("shu", 50.0, 9.0, 10.0), "kriging": of("kriging", 45.0, 0.01)}
    )
    left, right = figure.axes
    marks = {
        (float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in left.lines if line.get_color() != FRONT
    }
    assert {(0.1, 40.0), (9.0, 50.0), (0.01, 45.0)} <= marks
    (step,) = [line for line in left.lines if line.get_color() == FRONT]
    assert list(step.get_xdata()) == [0.01, 0.1] and list(step.get_ydata()) == [45.0, 40.0]
    (step,) = [line for line in right.lines if line.get_color() == FRONT]
    assert list(step.get_xdata()) == [1.0, 300.0]


def test_processor_seconds_go_before_the_clocks():
    made = of("fno", 40.0, 0.1)[0]
    points, _ = points_of({"fno": [replace(made, cost=made.cost | {"predict_cpu_seconds": 0.2})]})
    assert points[0].costs["predict_seconds"] == 0.2


def test_what_has_no_fit_is_not_on_the_axis_of_fits():
    made = replace(of("pinn", 40.0, 0.1)[0], about=About("learned", True, "instance"))
    points, notes = points_of({"pinn": [made]})
    assert list(points[0].costs) == ["predict_seconds"] and notes == ["pinn: no cost of fit"]


def test_references_are_hollow():
    figure = cost({"fno": of("fno", 40.0, 0.1), "kriging": of("kriging", 45.0, 0.01)})
    faces = {h.get_label(): h.get_markerfacecolor() for h in figure.legends[0].legend_handles}
    assert faces["Kriging"] == "white" != faces["FNO"] and "hollow: references" in figure.get_supxlabel()


def test_only_comparable_records_stand_together():
    (made,) = of("pino", 40.0, 0.1)
    other = replace(made, provenance=made.provenance | {"mask_hash": "masks-2"})
    points, notes = points_of({"fno": of("fno", 1.0, 1.0), "shu": of("shu", 1.0, 1.0), "pino": [other]})
    assert [p.name for p in points] == ["fno", "shu"] and notes == ["pino, seed 0, left out: other masks"]


def test_text_is_on_the_page_and_apart():
    names = ("videopde", "videopde_unified", "diffusionpde_ext", "ablation_hierarchical", "residual_min", "solver")
    check_text(cost({name: of(name, 10.0 * (k + 1), 10.0**k) for k, name in enumerate(names)}))
