"""Points are the records' errors at the records' rates."""

import pytest

from benchmark.errors import UserError
from benchmark.figures.rates import entries_by_rate, rates
from benchmark.figures.style import looks
from tests.benchmark.figures.made import check_text, record

RATES = {"cont_05": 0.005, "cont_1": 0.01, "cont_3": 0.03}


def records(method, errors, dataset="navier_stokes", **more):
    return [
        record(method, [e, e], task, dataset, rate=rate, **more)
        for e, (task, rate) in zip(errors, RATES.items(), strict=True)
    ]


def points(axes, method):
    colour = looks([method])[method].colour
    line = next(one for one in axes.lines if one.get_color() == colour and len(one.get_xdata()) > 1)
    return dict(zip(line.get_xdata(), line.get_ydata(), strict=True))


def test_points_are_the_errors_at_their_rates():
    figure = rates([*records("fno", [40.0, 20.0, 5.0]), *records("kriging", [60.0, 30.0, 10.0])])
    assert points(figure.axes[0], "fno") == {0.5: 40.0, 1.0: 20.0, 3.0: 5.0}
    assert points(figure.axes[0], "kriging") == {0.5: 60.0, 1.0: 30.0, 3.0: 10.0}


def test_each_dataset_has_a_panel_in_the_order_of_tables():
    sets = ("helmholtz", "wave_layer", "kolmogorov", "allen_cahn")
    figure = rates([r for d in sets for r in records("fno", [40.0, 20.0, 5.0], d)])
    titles = [axes.get_title() for axes in figure.axes if axes.axison]
    assert titles == ["Wave-Layer", "Kolmogorov flow", "Allen-Cahn", "Helmholtz"]
    check_text(figure)


def test_seeds_are_pooled():
    made = [*records("fno", [40.0, 20.0, 5.0]), *records("fno", [60.0, 20.0, 5.0], seed=1)]
    entries, notes = entries_by_rate(made)
    assert entries["fno", "navier_stokes", 0.5].mean == 50.0 and not notes


def test_negligible_errors_stand_at_the_floor():
    figure = rates(records("solver", [40.0, 20.0, 1e-6]))
    assert points(figure.axes[0], "solver")[3.0] == 0.01
    figure.draw_without_rendering()
    assert "≤0.01" in [text.get_text() for text in figure.axes[0].get_yticklabels()]


def test_a_record_without_a_rate_is_named():
    _, notes = entries_by_rate([record("fno", [1.0], "my_task")])
    assert notes == ["navier_stokes my_task: fno left out: no observation rate, or an error of 0"]
    with pytest.raises(UserError, match="no record with an error and an observation rate"):
        rates([record("fno", [1.0], "my_task")])


def test_the_heading_names_the_profile():
    figure = rates(records("fno", [40.0, 20.0, 5.0]))
    assert figure.get_supxlabel() == "continuous observation; profile laptop (not the paper's size)"
