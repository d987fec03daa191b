import json
import math
import subprocess
import sys

import pytest

from benchmark.records.cell import Cell
from benchmark.records.record import About, MetricScore, Record, RecordError
from benchmark.records.strict import finite
from tests.benchmark.leaderboard.synthetic import done

CELL = Cell("fno", "cont_1", "navier_stokes", "smoke", 0)


def test_a_record_comes_back_from_its_json():
    for record in (
        done(CELL, [1.0, 2.5], frames=[3, 4], remark="a word"),
        Record(CELL, "failed", "KeyError: x", "Traceback\n ...", About("reference", True, "instance"), key="k"),
        Record(CELL, "unsupported"),
    ):
        assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_values_are_stored_in_full_for_the_headline_and_to_six_digits_for_the_rest():
    third, curve = 100 / 3, MetricScore("%", [1 / 3], [1 / 3], [1 / 3], [])
    score = MetricScore("", third, third, third, [third, 1e-9 / 3])
    metrics = Record(CELL, "done", metrics={"rel_l2": score, "vrmse": score, "curve": curve}).to_json()["metrics"]
    assert metrics["rel_l2"]["values"] == [third, 1e-9 / 3]
    assert metrics["vrmse"]["values"] == [33.3333, 3.33333e-10] and metrics["vrmse"]["mean"] == third
    assert metrics["curve"]["values"] == [] and metrics["curve"]["mean"] == [1 / 3]


def test_empty_parts_are_left_out():
    assert Record(CELL, "timeout", "too long").to_json().keys() == {"schema", "cell", "state", "reason"}


def test_fractions_become_percent():
    score = MetricScore("", 0.25, 0.125, 0.5, [0.25])
    assert score.in_percent() == MetricScore("%", 25.0, 12.5, 50.0, [25.0])
    assert score.in_percent().in_percent() == score.in_percent()


def test_an_unknown_state_is_refused():
    with pytest.raises(RecordError, match="unknown state 'fine'; expected one of done, failed"):
        Record(CELL, "fine")


@pytest.mark.parametrize("change", [{"kind": "baseline"}, {"scope": "world"}, {"colour": "red"}])
def test_what_a_method_cannot_be_is_refused(change):
    raw = done(CELL, [1.0]).to_json()
    with pytest.raises(RecordError, match="another form than expected.*--overwrite"):
        Record.from_json(raw | {"about": raw["about"] | change})


def test_only_numbers_of_finite_size_are_finite():
    """Also where their sum is not, and where what is not finite goes away in the sum."""
    assert finite(1.0, 2) and finite(1e308, 1e308, 1e308) and finite()
    for values in ((1.0, math.inf), (math.inf, -math.inf), (math.nan,), (10**400, -(10**400)), (True,), (1.0, "1")):
        assert not finite(*values)


def test_heavy_packages_stay_out():
    program = (
        "import sys; import benchmark.records.files, benchmark.records.compare, benchmark.records.migrate; "
        "print([name for name in ('torch', 'numpy', 'yaml') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
