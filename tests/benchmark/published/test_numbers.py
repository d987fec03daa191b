"""The paper's numbers as data: complete, each with a cell that the suite has."""

from collections import Counter

import pytest

from benchmark.leaderboard.names import known
from benchmark.planning.suites import read_study, suite_path
from benchmark.published.numbers import Place, by_place, columns, orderings, read_numbers

NUMBERS = read_numbers()


def test_there_are_187_numbers_of_which_8_are_printed_as_x():
    assert len(NUMBERS) == 187
    assert sum(number.value is None for number in NUMBERS) == 8


def test_tables_have_as_many_numbers_as_the_paper_prints():
    assert Counter(number.table for number in NUMBERS) == {
        "Table 1": 16, "Table 2": 36, "Table 3": 36, "Table 4": 18, "Table 5": 5, "Table 6": 24, "Table 7": 16,
        "Table 8": 12, "Figure 9": 15, "Table 9": 3, "Table 10": 3, "Table 11": 3,
    }  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: str(number.place))
def test_every_number_has_a_cell_of_the_suite(number):
    place = number.place
    assert place.method in known("methods") and place.dataset in known("datasets") and place.task in known("tasks")
    if place.study:
        study = read_study(suite_path(place.study))
        assert study and place.variant in study.variants
    assert (number.unit == "s") == (place.metric == "predict_seconds")
    assert bool(number.fields) == (place.dataset == "helmholtz")


def test_golden_numbers():
    found = by_place(NUMBERS)
    assert [n.printed for n in found[Place("videopde", "navier_stokes", "cont_1")]] == ["0.80", "0.80"]
    assert [n.printed for n in found[Place("diffusionpde", "navier_stokes", "fwd_full")]] == ["5.8", "6.1"]
    assert [n.printed for n in found[Place("shu", "navier_stokes", "cont_3", "predict_seconds")]] == ["5760"]
    study = Place("videopde", "wave_layer", "cont_3", study="timestep", variant="step_4")
    assert [n.printed for n in found[study]] == ["0.94"]


def test_numbers_that_are_printed_twice_and_differently_name_each_other():
    differing = 0
    for numbers in by_place(NUMBERS).values():
        for one in numbers:
            for other in numbers:
                if one.printed != other.printed:
                    words = "rounded" if one.agrees(other) else "contradicts"
                    assert words in one.note and f" {other.printed} " in one.note and other.source in one.note
                    differing += 1
    assert differing == 8  # of fno, deeponet and diffusionpde on Navier-Stokes, of videopde on Helmholtz


def test_an_error_that_falls_with_what_is_seen_is_noted():
    (part,) = by_place(NUMBERS)[Place("diffusionpde", "navier_stokes", "fwd_partial")]
    whole = by_place(NUMBERS)[Place("diffusionpde", "navier_stokes", "fwd_full")]
    assert part.note.startswith("below") and all(f"{n.printed} in {n.source}" in part.note for n in whole)


def test_every_pair_of_a_column_is_an_ordering_and_they_are_306():
    pairs = orderings(NUMBERS)
    sizes = [len(methods) for methods in columns(NUMBERS).values()]
    assert len(pairs) == sum(n * (n - 1) // 2 for n in sizes) == 306
    assert len({(p.dataset, p.task, frozenset((p.lower, p.higher))) for p in pairs}) == 306
    assert all(pair.printed[0] < pair.printed[1] for pair in pairs)


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [("2.7", "2.71", True), ("11.3", "11.29", True), ("6.41", "6.42", False), ("5.8", "6.1", False)],
)
def test_numbers_agree_where_one_may_be_a_rounding_of_the_other(one, other, agree):
    from dataclasses import replace

    a, b = (replace(NUMBERS[1], printed=text) for text in (one, other))
    assert a.agrees(b) is agree and b.agrees(a) is agree
