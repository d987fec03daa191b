from dataclasses import replace

import pytest

from benchmark.leaderboard import read_leaderboard, render
from benchmark.leaderboard.names import CONTINUOUS, FULL, LONG_RANGE, OTHER, OWN_REFERENCES, PARTIAL, family_of, ordered
from benchmark.planning.registry import registry
from benchmark.records.files import write_record
from benchmark.records.record import About
from tests.benchmark.leaderboard.synthetic import Store, done


@pytest.mark.parametrize(
    ("task", "family"),
    [
        ({"family": "continuous", "rate": 0.2}, CONTINUOUS),
        ({"family": "forward", "rate": 1.0}, FULL),
        ({"family": "inverse", "rate": 1}, FULL),
        ({"family": "inverse", "rate": 0.03}, PARTIAL),
        ({"family": "long_range", "rate": 1.0}, LONG_RANGE),
        ({"family": "forward"}, OTHER),
        ({"family": "sideways", "rate": 1.0}, OTHER),
        ({}, OTHER),
    ],
)
def test_a_task_finds_its_table_by_its_settings(task, family):
    assert family_of(task) == family


def test_every_task_of_the_suite_has_a_table():
    known = registry()
    families = [family_of(vars(known.load("tasks", name))) for name in known.names("tasks")]
    assert families == [family_of({}, name) for name in known.names("tasks")]  # before it has a record
    assert families == [CONTINUOUS] * 3 + [FULL] * 2 + [PARTIAL] * 2 + [LONG_RANGE]


def test_references_are_known_before_they_have_a_record():
    known = registry()
    assert {
        name for name in known.names("methods") if known.load("methods", name).kind == "reference"
    } == OWN_REFERENCES


def test_the_order_is_the_registrys_and_then_alphabetical():
    assert ordered({"zebra", "eci", "fno", "ant", "mean"}, "methods") == ["mean", "fno", "eci", "ant", "zebra"]
    variants = {"fno @ b", "eci", "fno", "fno @ a", "ant @ x"}
    assert ordered(variants, "methods") == ["fno", "fno @ a", "fno @ b", "eci", "ant @ x"]


def write(store, method, task, **changes):
    cell = store.cell(method, task, "navier_stokes", 0)
    write_record(cell.path(store.results), replace(done(cell, [2.0]), **changes))


def test_a_strangers_task_and_reference_stand_where_they_belong(tmp_path):
    store = Store(tmp_path)
    store.done("fno", [3.0], task="fwd_full")
    write(store, "fno", "half_seen", settings={"task": {"family": "forward", "rate": 0.5}})
    write(store, "oracle", "fwd_full", about=About("reference", True, "instance"))
    board = read_leaderboard(tmp_path, "smoke", include=["plugins"])
    assert {title: [c.task for c in columns] for title, columns in board.families.items()} == {
        FULL: ["fwd_full"], PARTIAL: ["half_seen"],
    }  # fmt: skip
    column = board.families[FULL][0]
    assert board.references == {"oracle"} and column.best == {"fno"} and column.best_reference == {"oracle"}
    assert "- Uses the equation beside the data: oracle.\n" in render(board, "md")


def test_a_column_without_settings_is_of_other_tasks(tmp_path):
    store = Store(tmp_path)
    write(store, "fno", "my_task", settings={}, about=None)
    board = read_leaderboard(tmp_path, "smoke", include=["plugins"])
    assert list(board.families) == [OTHER] and board.references == frozenset()
    for format in ("csv", "json"):
        assert render(board, format)
