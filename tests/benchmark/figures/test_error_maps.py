"""What is in which panel, in which colours."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark.errors import UserError
from benchmark.figures.error_maps import error_maps
from tests.benchmark.figures.made import check_text, predictions, steady

SHOWN = {"kriging": predictions(off=0.05), "linear": predictions("linear", off=0.5)}


def panels(figure):
    """`row block frame` -> axes."""
    return {axes.get_label(): axes for axes in figure.axes if axes.get_label() != "bar"}


def shown_in(axes):
    return np.asarray(axes.images[0].get_array())


def words(figure):
    return [text.get_text() for text in figure.texts]


def test_every_panel_holds_what_it_says():
    found, p = panels(error_maps(SHOWN, 1, [0, 3])), SHOWN["linear"]
    assert sorted(found) == [f"{row} {block} {k}" for row in range(3) for block in (0, 1) for k in (0, 1)]
    assert (shown_in(found["0 0 1"]) == p.truth[1, 3, ..., 0]).all()
    assert (shown_in(found["2 0 1"]) == p.prediction[1, 3, ..., 0]).all()
    assert (shown_in(found["2 1 1"]) == np.abs(p.prediction - p.truth)[1, 3, ..., 0]).all()


def test_one_scale_for_all_fields_and_one_for_all_errors():
    found = panels(error_maps(SHOWN))
    fields = {axes.images[0].get_clim() for label, axes in found.items() if label.split()[1] == "0"}
    errors = {axes.images[0].get_clim() for label, axes in found.items() if label.split()[1] == "1" and axes.images}
    assert len(fields) == len(errors) == 1 and {row[0] for row in found} == {"0", "1", "2"}
    assert errors != fields and next(iter(errors))[0] == 0


def test_sensors_stand_where_the_mask_is_in_the_colours_of_what_they_say():
    found, p = panels(error_maps(SHOWN, 0, [0, 4])), SHOWN["kriging"]
    (dots,) = found["0 1 1"].collections
    places = {(int(y), int(x)) for x, y in np.asarray(dots.get_offsets())}
    assert places == {(int(y), int(x)) for y, x in np.argwhere(p.mask[0, 4, ..., 0])} and places
    said = [p.values[0, 4, int(y), int(x), 0] for x, y in np.asarray(dots.get_offsets())]
    assert np.asarray(dots.get_array()) == pytest.approx(np.array(said))
    assert dots.get_clim() == found["0 0 0"].images[0].get_clim()


def test_a_frame_seen_in_full_is_an_image_and_one_not_seen_is_empty():
    p = SHOWN["kriging"]
    mask = np.zeros_like(p.mask)
    mask[:, 0] = True
    first = replace(p, mask=mask, values=np.where(mask, p.truth, 0))
    figure = error_maps({"kriging": first}, 0, [0, 4])
    found = panels(figure)
    assert (shown_in(found["0 1 0"]) == p.truth[0, 0, ..., 0]).all() and not found["0 1 0"].collections
    assert not found["0 1 1"].images and [t.get_text() for t in found["0 1 1"].texts] == ["not\nobserved"]
    assert "seen: all sites, $t$ = 0" in words(figure)


def test_frames_that_are_not_predicted_say_so():
    figure = error_maps({"kriging": replace(SHOWN["kriging"], frames=(1, 2, 3, 4))}, 0, [0, 4])
    found = panels(figure)
    assert [t.get_text() for t in found["1 0 0"].texts] == ["not\npredicted"] and not found["1 1 0"].images
    assert found["1 0 1"].images


def test_fields_of_a_steady_problem_are_named_and_have_their_own_colours():
    figure = error_maps({"kriging": steady(), "linear": steady("linear", 0.5)})
    found = panels(figure)
    of_a, of_u = ({found[f"{row} 0 {k}"].images[0].get_clim() for row in range(3)} for k in (0, 1))
    assert len(of_a) == len(of_u) == 1 and of_a != of_u
    assert {"field $a$", "field $u$"} <= set(words(figure))
    bars = [axes.get_xlabel() for axes in figure.axes if axes.get_label() == "bar"]
    assert bars == ["$a$", r"$|\hat{a} - a|$", "$u$ ($10^{-2}$)", r"$|\hat{u} - u|$ ($10^{-3}$)"]


def test_words_name_the_methods_their_errors_and_the_profile():
    figure = error_maps(SHOWN, 1)
    assert {"truth", "Kriging", "Linear", "error: 5.00 %", "error: 50.0 %"} <= set(words(figure))
    assert "Navier-Stokes, continuous, 3 %; profile laptop (not the paper's size); test trajectory 1" in words(figure)
    cell = replace(SHOWN["kriging"].cell, profile="paper")
    paper = error_maps({"kriging": replace(SHOWN["kriging"], cell=cell)})
    assert "Navier-Stokes, continuous, 3 %; profile paper; test trajectory 0" in words(paper)


@pytest.mark.parametrize("frames", [[0, 4], [0, 1, 2, 3, 4, 0, 1, 2]])
def test_text_is_on_the_page_and_apart(frames):
    check_text(error_maps({"ablation_hierarchical": SHOWN["linear"]}, frames=frames))


def test_text_of_a_steady_problem_is_apart():
    check_text(error_maps({"kriging": steady()}, log_errors=True))


def test_a_page_has_no_room_for_too_many_frames():
    with pytest.raises(UserError, match="a page has room for 8, got 9; --format gif"):
        error_maps(SHOWN, frames=[0] * 9)


def test_a_logarithmic_scale_shows_small_errors():
    plain, log = (panels(error_maps(SHOWN, log_errors=flag))["1 1 0"].images[0] for flag in (False, True))
    assert type(log.norm).__name__ == "LogNorm" and type(plain.norm).__name__ == "Normalize"
    assert log.norm.vmin > 0
