"""Means and intervals are recomputed; what was tampered with is found."""

import json

import pytest

from benchmark.records.files import read_record
from benchmark.verify import Selection, run_tiers
from benchmark.verify.scores import score_faults
from tests.benchmark.verify.made import stored, whole


@pytest.fixture
def path(tmp_path):
    return stored(whole(), tmp_path)


def tampered(path, change):
    raw = json.loads(path.read_text())
    change(raw)
    path.write_text(json.dumps(raw))
    return score_faults(read_record(path))


def test_a_whole_record_has_no_faults_also_after_rounding(path, tmp_path):
    assert score_faults(read_record(path)) == []
    (check,) = run_tiers(["scores"], Selection(tmp_path))
    assert check.passed and check.path == path


def test_a_tampered_mean(path):
    faults = tampered(path, lambda raw: raw["metrics"]["rel_l2"].update(mean=2.0))
    assert faults == ["rel_l2: mean 2, recomputed 2.2013889"]


def test_a_tampered_bound(path):
    faults = tampered(path, lambda raw: raw["metrics"]["crps"].update(high=0.7))
    assert len(faults) == 1 and faults[0].startswith("crps: high 0.7, recomputed")


@pytest.mark.parametrize(("metric", "factor"), [("rel_l2", 1 + 1e-6), ("crps", 1 + 1e-3)])
def test_a_tampered_value(path, metric, factor):
    def change(raw):
        raw["metrics"][metric]["values"][2] *= factor

    faults = tampered(path, change)
    assert faults and all(fault.startswith(f"{metric}: ") for fault in faults)


@pytest.mark.parametrize("metric", ["rel_l2_frame", "rel_l2_end"])
def test_a_curve_that_does_not_belong(path, metric):
    def change(raw):
        raw["metrics"]["rel_l2_curve"]["mean"][2 if metric == "rel_l2_end" else 1] += 0.5

    assert any(fault.startswith(f"curve: {metric}") for fault in tampered(path, change))


def test_runs_are_drawn_as_wholes(path):
    def change(raw):
        raw["provenance"]["groups"] = [0, 0, 0, 1, 1, 1]

    faults = tampered(path, change)
    assert faults and all("low" in fault or "high" in fault for fault in faults)


def test_intervals_of_an_earlier_scorer_are_left_alone_and_means_are_not(path):
    def change(raw):
        raw["provenance"]["scorer_version"] = 1
        raw["metrics"]["crps"]["high"] = 0.7
        raw["metrics"]["rel_l2"]["mean"] = 2.0

    assert tampered(path, change) == ["rel_l2: mean 2, recomputed 2.2013889"]
