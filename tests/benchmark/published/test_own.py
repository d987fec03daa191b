"""Contradictions inside the paper are found by computation, and would be found in other numbers too."""

from dataclasses import replace

from benchmark.published.claims import read_claims, read_remarks
from benchmark.published.numbers import Place, read_numbers
from benchmark.published.own import (
    better_with_less,
    contradictions,
    not_borne_out,
    of_no_cell,
    printed_twice,
    same_setting_twice,
    wrong_marks,
)

NUMBERS = read_numbers()


def changed(place: Place, printed: str, table: str = ""):
    """The paper with other digits in one place."""
    return [replace(n, printed=printed) if n.place == place and (not table or n.table == table) else n for n in NUMBERS]


def test_numbers_printed_twice():
    texts = [found.text for found in printed_twice(NUMBERS)]
    assert texts == [
        "diffusionpde navier_stokes fwd_full: 5.8 % (Table 1) and 6.1 % (Table 3)",
        "videopde helmholtz cont_3: 6.41 % (Table 6) and 6.42 % (Figure 9)",
    ]
    assert len(list(printed_twice(changed(Place("videopde", "wave_layer", "cont_1"), "2.63", "Table 2")))) == 3
    assert len(list(printed_twice(changed(Place("videopde", "helmholtz", "cont_3"), "6.41")))) == 1


def test_studies_that_share_a_setting():
    (found,) = same_setting_twice(NUMBERS)
    assert "0.62 % (Table 9) and 0.49 % (Table 10)" in found.text
    place = Place("videopde", "wave_layer", "cont_3", study="timestep", variant="step_1")
    assert not list(same_setting_twice(changed(place, "0.62")))


def test_the_number_of_no_cell():
    assert [found.source if hasattr(found, "source") else found.where for found in of_no_cell(NUMBERS)] == [
        "tab:num_frames"
    ]
    assert not list(of_no_cell(changed(Place("videopde", "wave_layer", "cont_3"), "0.49")))


def test_less_seen_and_a_lower_error():
    (found,) = better_with_less(NUMBERS)
    assert found.text == "diffusionpde navier_stokes: fwd_partial 3.9 %, fwd_full 6.1 %"
    assert len(list(better_with_less(changed(Place("videopde", "kolmogorov", "cont_1"), "1.00")))) == 2


def test_emphasis_that_is_not_on_the_lowest():
    assert [found.text for found in wrong_marks(NUMBERS)] == [
        "helmholtz inv_full: second is diffusionpde 4.0 %, marked is nothing"
    ]
    other = list(wrong_marks(changed(Place("shu", "allen_cahn", "cont_1"), "1.0")))
    assert "allen_cahn cont_1: best is shu 1.0 %, marked is videopde" in [found.text for found in other]


def test_claims_that_the_numbers_do_not_bear_out():
    found = {one.id: one.text for one in not_borne_out(NUMBERS, read_claims())}
    assert set(found) == {"Q10", "Q11", "Q18"}
    assert "not in 6 of 30 cells" in found["Q11"] and "navier_stokes inv_full" in found["Q11"]
    assert "not in 8 of 12 cells" in found["Q18"]
    slower = Place("deeponet", "navier_stokes", "fwd_full", "predict_seconds")
    assert "Q24" in {one.id for one in not_borne_out(changed(slower, "99"), read_claims())}


def test_all_contradictions_say_how_they_were_found():
    found = contradictions(NUMBERS, read_claims(), read_remarks())
    computed = {one.id for one in found if one.how == "computed"}
    assert {"two values", "no such cell", "better with less seen", "emphasis", "Q11", "E3", "E4", "E5"} <= computed
    assert {"B1", "C1", "E8"} <= {one.id for one in found if one.how == "read"}
    assert len(found) == sum(one.how == "computed" for one in found) + 26
