"""What a curve is made of, from made-up records, and its table."""

import csv
import io
import json
from dataclasses import replace

import pytest

from benchmark.leaderboard.curve import OTHER_SECONDS, build_curve
from benchmark.leaderboard.curve_text import RENDERERS
from benchmark.records.cell import Cell
from benchmark.records.record import About
from tests.benchmark.leaderboard.synthetic import done

PLACE = ("smoke", "navier_stokes", "cont_3")


def record(method="fno", budget=1.0, values=(20.0, 40.0), seed=0, scope="task", **cost):
    variant = "" if budget == 1 else f"budget_{budget:g}"
    one = done(Cell(method, "cont_3", "navier_stokes", "smoke", seed, variant), list(values))
    spent = {"steps": 10 * budget, "fit_seconds": 9.0, "fit_cpu_seconds": 4.0 * budget, "fit_flop": 1e12 * budget}
    changes = {} if budget == 1 else {"training.steps": 10 * budget}
    about = one.about if one.is_reference else About("learned", False, scope)
    return replace(one, cost={**one.cost, **spent, **cost}, changes=changes, about=about)


def curve(*records, references=(), samples="one", **missing):
    points = {(name, budget): [] for name, budget in missing.items()}
    for one in records:
        budget = float(one.cell.variant.removeprefix("budget_") or 1)
        points.setdefault((one.cell.method, budget), []).append(one)
    return build_curve(*PLACE, points, references, samples)


def test_a_line_has_its_points_in_the_order_of_budgets_with_their_costs():
    (line,) = curve(record(budget=5.0, values=[10.0, 20.0]), record()).lines
    assert [(p.budget, p.entry.mean, p.steps, p.seconds, p.flop) for p in line.points] == [
        (1.0, 30.0, 10.0, 4.0, 1e12),
        (5.0, 15.0, 50.0, 20.0, 5e12),
    ]
    assert not line.per_trajectory


def test_seeds_are_pooled_and_costs_are_their_medians():
    fits = [record(seed=s, values=[v, v], fit_cpu_seconds=c) for s, (v, c) in enumerate([(1, 5.0), (2, 9.0), (6, 6.0)])]
    (line,) = curve(*fits).lines
    (point,) = line.points
    assert (point.entry.mean, point.seconds, point.entry.seeds) == (3.0, 6.0, (0, 1, 2))
    assert point.entry.total_high > point.entry.high


def test_on_a_gpu_the_clock_counts():
    one = record()
    gpu = replace(one, provenance={**one.provenance, "device": "cuda:0"})
    shown = curve(gpu)
    assert shown.lines[0].points[0].seconds == 9.0 and not shown.on_cpu


def test_a_method_fitted_to_each_trajectory_has_the_seconds_of_one():
    (line,) = curve(record("pinn", scope="instance", predict_cpu_seconds=25.0, fit_cpu_seconds=0.0)).lines
    assert line.per_trajectory and line.points[0].seconds == 25.0
    assert "fit s is for one: pinn" in RENDERERS["md"](curve(record("pinn", scope="instance")))


def test_flop_that_nobody_counted_are_none_and_are_missed():
    one = record()
    shown = curve(replace(one, cost={k: v for k, v in one.cost.items() if k != "fit_flop"}))
    assert shown.lines[0].points[0].flop is None and "fno: FLOP not counted" in shown.notes


def test_what_is_not_there_says_so():
    failed = replace(record(budget=5.0), state="failed", reason="KeyError: x", metrics={})
    shown = curve(record(), failed, fno=25.0)
    assert [p.entry.state for p in shown.lines[0].points] == ["done", "failed", "missing"]
    assert "fno, budget 5: failed: KeyError: x" in shown.notes and "fno, budget 25: no record" in shown.notes


def test_a_remark_of_all_points_is_said_once():
    shown = curve(*(replace(record(budget=b), remark="ours") for b in (1.0, 5.0)))
    assert [note for note in shown.notes if "ours" in note] == ["fno: ours"]


def test_references_are_levels_where_they_can_be_compared():
    other = record("kriging")
    other = replace(other, provenance={**other.provenance, "mask_hash": "others"})
    shown = curve(record(), references=[record("mean", values=[99.0, 97.0]), other])
    assert [(level.method, level.mean) for level in shown.references] == [("mean", 98.0)]
    assert "kriging left out: other masks" in shown.notes


def test_a_reference_of_another_machine_is_drawn_and_noted():
    """Other bits by the same recipe."""
    mean = record("mean")
    data = {split: {"fingerprint": f"other-{split}", "source": "generated"} for split in ("train", "valid", "test")}
    mean = replace(mean, provenance={**mean.provenance, "data": data, "data_fingerprint": "other-test"})
    shown = curve(record(), references=[mean])
    assert len(shown.references) == 1 and any(n.startswith("mean: the data was generated on") for n in shown.notes)


def test_seconds_of_two_machines_are_not_compared_in_silence():
    slow = record(budget=5.0)
    assert OTHER_SECONDS not in curve(record(), slow).notes
    slow = replace(slow, provenance={**slow.provenance, "hardware": {"cpu": "an old one"}})
    assert OTHER_SECONDS in curve(record(), slow).notes


def test_the_mean_of_samples_can_be_shown():
    cell = Cell("fno", "cont_3", "navier_stokes", "smoke", 0)
    one = done(cell, [4.0, 6.0], mean_of_samples=[2.0, 4.0], scorer_version=2)
    assert curve(one).lines[0].points[0].entry.mean == 5.0
    assert curve(one, samples="mean").lines[0].points[0].entry.mean == 3.0


@pytest.fixture
def shown():
    return curve(record(), record(budget=0.2, values=[60.0, 80.0]), record("deeponet"), references=[record("mean")])


def test_the_table_has_a_row_for_each_point_and_level(shown):
    text = RENDERERS["md"](shown)
    rows = [line.split("|")[1:4] for line in text.splitlines() if line.startswith("|")][2:]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["fno", "0.2", "70.0 [63.0, 77.0]"],
        ["fno", "1", "30.0 [27.0, 33.0]"],
        ["deeponet", "1", "30.0 [27.0, 33.0]"],
        ["*mean*", "—", "30.0 [27.0, 33.0]"],
    ]
    assert "navier_stokes cont_3, profile smoke" in text and "training variance not shown" in text


def test_csv_and_json_hold_the_same(shown):
    rows = list(csv.DictReader(io.StringIO(RENDERERS["csv"](shown))))
    document = json.loads(RENDERERS["json"](shown))
    assert [float(row["mean"]) for row in rows] == [p["mean"] for p in document["points"] + document["references"]]
    assert (rows[0]["budget"], rows[-1]["method"], rows[-1]["budget"]) == ("0.2", "mean", "")
    assert document["points"][1]["flop"] == 1e12 and document["points"][1]["seeds"] == [0]
