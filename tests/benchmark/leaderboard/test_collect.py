import json

import pytest

from benchmark.leaderboard.collect import parse, read_records
from benchmark.records.record import Cell, write_json
from tests.benchmark.leaderboard.synthetic import Store, done, score

CELL = Cell("fno", "cont_1", "navier_stokes", "smoke", 0)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def test_parse_keeps_everything_but_the_secondary_metrics():
    record = done(CELL, [1.0, 2.5])
    expected = record | {"metrics": {"rel_l2": record["metrics"]["rel_l2"]}}
    assert parse(json.dumps(record, indent=1, sort_keys=True)) == expected


def test_parse_reads_any_other_layout_in_full():
    record = done(CELL, [1.0, 2.5])
    for layout in ({}, {"indent": 4}, {"indent": 0}):
        assert parse(json.dumps(record, **layout)) == record


def test_parse_is_not_misled_by_a_setting_of_the_headlines_name():
    record = done(CELL, [1.0, 2.5]) | {"a": {"rel_l2": {"values": [7.0]}}, "settings": {"rel_l2": {"values": []}}}
    parsed = parse(json.dumps(record, indent=1, sort_keys=True))
    assert parsed["metrics"]["rel_l2"]["values"] == [1.0, 2.5]
    assert parsed["a"] == record["a"] and parsed["settings"] == record["settings"]


def test_metrics_come_back_from_the_file_without_values(store):
    store.done("fno", [1.0, 3.0])
    metrics = read_records(store.results, "smoke")[0][0].metrics()
    assert list(metrics) == ["rel_l2", "rel_l2_curve", "vrmse"]
    expected = score([0.01, 0.03], unit="")
    assert metrics["vrmse"] == {key: expected[key] for key in ("unit", "mean", "low", "high")}
    assert "values" not in metrics["rel_l2_curve"]


def test_metrics_of_unusual_form_are_read_in_full(store):
    path = store.done("fno", [1.0, 3.0])
    record = json.loads(path.read_text())
    record["metrics"]["odd"] = {"unit": "", "mean": 1.5, "values": ["]", None]}
    write_json(path, record)
    assert read_records(store.results, "smoke")[0][0].metrics()["odd"]["mean"] == 1.5


def test_records_of_one_profile_in_order_of_method_and_seed(store):
    for seed in (10, 2):
        store.done("fno", [1.0], seed=seed)
    store.done("eci", [1.0], dataset="wave_layer")
    Store(store.results, "laptop").done("shu", [1.0])
    records, problems = read_records(store.results, "smoke")
    assert [(r.cell.method, r.cell.seed) for r in records] == [("eci", 0), ("fno", 2), ("fno", 10)]
    assert problems == []


def test_fractions_become_percent(store):
    cell = store.cell("fno", "cont_1", "navier_stokes", 0)
    record = done(cell, [0.25, 0.5])
    record["metrics"]["rel_l2"]["unit"] = ""
    write_json(cell.path(store.results), record)
    assert read_records(store.results, "smoke")[0][0].values == [25.0, 50.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(schema=99), "newer suite"),
        (lambda r: r.update(schema="x"), "not a record"),
        (lambda r: r["cell"].update(method="shu"), "move it to"),
        (lambda r: r.update(state="fine"), "unknown state"),
        (lambda r: r.update(metrics={}), "done, but without a finite rel_l2"),
        (lambda r: r["metrics"]["rel_l2"].update(values=[]), "done, but without a finite rel_l2"),
        (lambda r: r["metrics"]["rel_l2"].update(values=[1.0, None]), "done, but without a finite rel_l2"),
        (lambda r: r["metrics"].update(rel_l2=3.0), "another form than expected"),
        (lambda r: r.update(provenance="here"), "another form than expected"),
        (lambda r: r["provenance"].update(data="here"), "another form than expected"),
        (lambda r: r.update(frames=5), "another form than expected"),
    ],
)
def test_a_bad_record_is_a_problem_and_stops_nothing(store, change, message):
    store.done("eci", [1.0])
    path = store.done("fno", [1.0])
    record = json.loads(path.read_text())
    change(record)
    write_json(path, record)
    records, problems = read_records(store.results, "smoke")
    assert [r.cell.method for r in records] == ["eci"]
    assert len(problems) == 1 and message in problems[0]
    assert problems[0].startswith("smoke/navier_stokes/cont_1/fno-s0.json")


def test_a_cut_file_and_a_folder_in_its_place_are_problems(store):
    path = store.done("fno", [1.0])
    path.write_text(path.read_text()[:-40])
    (path.parent / "eci-s0.json").mkdir()
    records, problems = read_records(store.results, "smoke")
    assert records == [] and len(problems) == 2
    assert not any(str(store.results) in problem for problem in problems)


def test_no_folder_no_records(tmp_path):
    assert read_records(tmp_path / "nothing", "smoke") == ([], [])
