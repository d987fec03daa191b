import gc
import json

import pytest

from benchmark.leaderboard.collect import read_records
from tests.benchmark.leaderboard.synthetic import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


def test_records_of_one_profile_in_order_of_method_and_seed(store):
    for seed in (10, 2):
        store.done("fno", [1.0], seed=seed)
    store.done("eci", [1.0], dataset="wave_layer")
    Store(store.results, "laptop").done("shu", [1.0])
    records, problems = read_records(store.results, "smoke")
    assert [(r.cell.method, r.cell.seed) for r in records] == [("eci", 0), ("fno", 2), ("fno", 10)]
    assert problems == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(schema=99), "newer suite"),
        (lambda r: r["cell"].update(method="shu"), "move it to"),
        (lambda r: r.update(metrics={}), "done, but without a finite rel_l2"),
        (lambda r: r["provenance"].update(data="here"), "another form than expected"),
    ],
)
def test_a_bad_record_is_a_problem_and_stops_nothing(store, change, message):
    store.done("eci", [1.0])
    path = store.done("fno", [1.0])
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))
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


def test_reading_does_not_look_for_cycles(store):
    """With 5,000 records that took as long as reading them."""
    for seed in range(40):
        store.done("fno", [1.0], seed=seed)
    looked, before = [], gc.get_threshold()
    gc.callbacks.append(lambda phase, info: looked.append(phase))
    gc.set_threshold(10)
    try:
        records, _ = read_records(store.results, "smoke")
        times = len(looked)
    finally:
        gc.callbacks.pop()
        gc.set_threshold(*before)
    assert len(records) == 40 and times < 20 and gc.isenabled()


def test_no_folder_no_records(tmp_path):
    assert read_records(tmp_path / "nothing", "smoke") == ([], [])
