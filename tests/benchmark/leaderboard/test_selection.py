"""Whose records enter the tables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmark.cli import main
from benchmark.errors import UserError
from benchmark.leaderboard import FORMATS, read_leaderboard, render, write_leaderboard
from benchmark.leaderboard.selection import third_party
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from benchmark.records.record import Record
from tests.benchmark.leaderboard.synthetic import Store, done


def write(store: Store, cell: Cell, *foreign: str) -> None:
    record = done(cell, [0.5])
    sources = {"sources": dict.fromkeys(foreign, "sha")} if foreign else {}
    write_record(cell.path(store.results), replace(record, settings=record.settings | sources))


@pytest.fixture
def store(tmp_path):
    """Two records of the suite, one of them failed; a plugin's method, done and failed, its dataset, two variants."""
    store = Store(tmp_path / "results")
    store.done("fno", [1.0])
    store.empty("pino", "failed", "KeyError: x")
    write(store, store.cell("my_method", "cont_1", "navier_stokes", 0), "method")
    store.empty("my_method", "failed", "KeyError: y", task="cont_3")
    write(store, store.cell("fno", "cont_1", "my_dataset", 0), "dataset")
    write(store, replace(store.cell("fno", "cont_1", "navier_stokes", 0), variant="width=64"))
    write(store, replace(store.cell("my_method", "cont_1", "navier_stokes", 0), variant="wide"), "method")
    return store


def rows(store: Store, *include: str) -> set[tuple[str, str, str]]:
    board = read_leaderboard(store.results, "smoke", include=include)
    return {(r.cell.method, r.cell.task, r.cell.dataset) for r in board.records}


OWN = {("fno", "cont_1", "navier_stokes"), ("pino", "cont_1", "navier_stokes")}
MINE = {("my_method", "cont_1", "navier_stokes"), ("my_method", "cont_3", "navier_stokes")}
MY_DATASET = {("fno", "cont_1", "my_dataset")}
WIDTH = {("fno @ width=64", "cont_1", "navier_stokes")}
WIDE = {("my_method @ wide", "cont_1", "navier_stokes")}


@pytest.mark.parametrize(
    ("include", "added"),
    [
        ((), set()),
        (("my_method",), MINE),
        (("my_dataset",), MY_DATASET),
        (("plugins",), MINE | MY_DATASET),
        (("width=64",), WIDTH),
        (("variants",), WIDTH),
        (("wide",), set()),  # the method is asked for too
        (("wide", "my_method"), MINE | WIDE),
        (("plugins", "variants"), MINE | MY_DATASET | WIDTH | WIDE),
        (("all",), MINE | MY_DATASET | WIDTH | WIDE),
    ],
)
def test_what_is_asked_for_enters_beside_the_suites_own(store, include, added):
    assert rows(store, *include) == OWN | added


def test_failed_cells_of_the_suite_show_and_those_of_a_plugin_do_not(store):
    text = render(read_leaderboard(store.results, "smoke"), "md")
    assert "KeyError: x" in text and "KeyError: y" not in text and "| my_method" not in text
    assert "KeyError: y" in render(read_leaderboard(store.results, "smoke", include=["my_method"]), "md")


def test_what_is_left_out_is_said_once_and_can_be_typed(store):
    note = read_leaderboard(store.results, "smoke").left_out
    assert note == (
        "5 records left out: my_dataset (third-party), fno @ width=64 (variant), my_method (third-party), "
        "my_method @ wide (third-party, variant); --include my_dataset,width=64,my_method,wide"
    )
    include = note.rpartition(" ")[2].split(",")
    board = read_leaderboard(store.results, "smoke", include=include)
    assert board.left_out == "" and len(board.records) == 7
    for format in set(FORMATS) - {"csv"}:
        assert "5 records left out" in render(read_leaderboard(store.results, "smoke"), format)
        assert "left out" not in render(board, format)


def test_a_long_note_is_cut(tmp_path):
    store = Store(tmp_path)
    for i in range(9):
        store.done(f"method_{i}", [1.0])
    note = read_leaderboard(tmp_path, "smoke").left_out
    assert note.startswith("9 records left out: method_0 (") and note.endswith(" and 3 more; --include all")


def test_records_from_before_they_said_so_go_by_their_names(store):
    old = Record(Cell("someones", "cont_1", "navier_stokes", "smoke", 0), "failed", "x")
    assert third_party(old) == ["someones"] and old.third_party == ()
    assert third_party(replace(old, cell=replace(old.cell, method="fno"))) == []


def test_a_strangers_method_stays_a_strangers_when_the_suite_takes_the_name(store):
    write(store, store.cell("eci", "cont_1", "navier_stokes", 0), "method")
    assert rows(store) == OWN and ("eci", "cont_1", "navier_stokes") in rows(store, "eci")


def test_a_name_that_nothing_has_is_refused(store):
    with pytest.raises(UserError, match=r"no record of 'my_metod' .did you mean my_method"):
        write_leaderboard(store.results, "smoke", ["md"], None, include=["my_metod"])
    with pytest.raises(UserError, match="no record of 'fno'"):
        write_leaderboard(store.results, "smoke", ["md"], None, include=["fno"])


def test_variants_do_not_outvote_what_a_column_compares(store):
    for name in "abc":
        cell = replace(store.cell("fno", "cont_1", "navier_stokes", 0), variant=name)
        record = replace(done(cell, [0.1, 0.1], noise=0.1), changes={"task.noise": 0.1})
        write_record(cell.path(store.results), replace(record, provenance=record.provenance | {"mask_hash": "other"}))
    board = read_leaderboard(store.results, "smoke", include=["a", "b", "c"])
    (column,) = board.columns
    assert column.entries["fno"].ranked and column.best == {"fno"}
    assert all(not column.entries[f"fno @ {name}"].ranked for name in "abc")
    assert "not ranked: other task settings" in column.entries["fno @ a"].notes[0]


def test_the_command_says_so_on_stderr_and_the_tables_stay_as_they_are(store, capsys):
    board = ["leaderboard", "--profile", "smoke", "--results", str(store.results)]
    assert main(board) == 0
    said = capsys.readouterr()
    assert said.err.startswith("5 records left out: ") and said.err.count("\n") == 1
    assert main([*board, "--include", "my_method,wide", "--include", "width=64"]) == 0
    said = capsys.readouterr()
    assert all(f"| {row}" in said.out for row in ("my_method ", "my_method @ wide ", "fno @ width=64 "))
    assert said.err.startswith("1 record left out: my_dataset (third-party); --include my_dataset")
