"""Figures of trajectories that were kept in part."""

import pytest

from benchmark.errors import UserError
from benchmark.figures.animation import film
from benchmark.figures.error_maps import error_maps
from benchmark.figures.noise_seeds import noise_seeds
from benchmark.figures.spectra import spectra
from benchmark.figures.videos import check_alike
from benchmark.records.thin import thinned
from tests.benchmark.figures.made import check_text
from tests.benchmark.records.test_thin import ERRORS, large


@pytest.fixture(scope="module")
def kept():
    return thinned(large(128), ERRORS)


def test_frames_go_by_their_numbers_and_errors_are_those_of_the_whole(kept):
    figure = error_maps({"kriging": kept}, 1, (0, 19))
    texts = [text.get_text() for text in figure.texts]
    assert "error: 11.0 %" in texts and "$t$ = 1" in texts
    seen = int(kept.mask[1, 0].sum())
    assert f"seen: {seen} sensors" in texts and seen > 400  # all of them, not those at the points that were kept
    with pytest.raises(UserError, match="expected some of 0, 3, .*, 19, got 1"):
        error_maps({"kriging": kept}, 0, (0, 1))


def test_a_film_has_the_frames_that_there_are(kept):
    assert film({"kriging": kept})[2] == 8


def test_what_is_of_the_points_alone_says_so(kept):
    """Errors of samples are near; spectra are of fewer points."""
    figure = noise_seeds(kept)
    assert all(text.startswith("error ≈ ") for axes in figure.axes if "error" in (text := axes.get_xlabel()))
    figure = spectra({"kriging": kept})
    assert figure.get_supxlabel().endswith("every 2nd point of 8 of 20 frames: energy beyond $k$ = 32 is folded back")
    check_text(figure)


def test_a_part_does_not_stand_beside_a_whole(kept):
    with pytest.raises(UserError, match="run both again here with --overwrite"):
        check_alike({"kriging": kept, "linear": large(128)}, 0)
