"""Films hold the frames that were asked for."""

import shutil
import subprocess
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from PIL import Image

from benchmark.errors import UserError
from benchmark.figures import gif
from benchmark.figures.animation import DOTS, film, save_film
from benchmark.figures.style import styled
from benchmark.figures.videos import ERROR, SIGNED
from tests.benchmark.figures.made import check_text, predictions, steady

SHOWN = {"kriging": predictions(off=0.05), "linear": predictions("linear", off=0.5)}


@pytest.mark.parametrize(("frames", "count"), [(None, 5), ((0, 4, 2), 3)])
def test_a_gif_has_as_many_frames_as_asked(tmp_path, frames, count):
    path = save_film(film(SHOWN, frames=frames), tmp_path / "a", "gif")
    with Image.open(path) as image:
        assert path.name == "a.gif" and image.n_frames == count
    assert [p.name for p in tmp_path.iterdir()] == ["a.gif"]


@pytest.fixture
def faint():
    """Fields of many pale colours, with one value at either end of the scale."""
    draw, p = np.random.default_rng(0), predictions()
    truth = 0.3 * draw.normal(size=p.truth.shape).astype(np.float32)
    truth[:, :, 3, 3], truth[:, :, 3, 4] = 2, -2
    answer = truth + 0.1 * np.abs(draw.normal(size=truth.shape)).astype(np.float32)
    return {
        name: replace(p, truth=truth, prediction=factor * answer) for name, factor in (("kriging", 1), ("fno", 1.1))
    }


def colours_of(image):
    return np.asarray(image.convert("RGB")).astype(int)


def test_a_gif_has_the_ends_of_the_colour_maps(tmp_path, faint):
    """Though few pixels have them; and paper is white, letters are black."""
    ends = [matplotlib.colormaps[name](end)[:3] for name in (SIGNED, ERROR) for end in (0.0, 1.0)]
    with Image.open(save_film(film(faint), tmp_path / "a", "gif")) as image:
        for k in range(image.n_frames):
            image.seek(k)
            for colour in (*ends, (0, 0, 0), (1, 1, 1)):
                assert np.abs(colours_of(image) - 255 * np.array(colour)).max(-1).min() <= 2, colour


def test_a_gif_has_the_colours_that_were_drawn(tmp_path, faint):
    """But for rims, where a pixel is partly black and has a colour that few others have."""
    made = film(faint)
    path = save_film(made, tmp_path / "a", "gif")
    with styled(), Image.open(path) as image:
        for k, drawn in enumerate(gif._frames(made, DOTS)):
            image.seek(k)
            off = np.abs(colours_of(image) - drawn).max(-1)
            _, place, count = np.unique(drawn.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
            assert off.ravel()[count[place.ravel()] >= 60].max() <= 8


def test_each_frame_shows_its_own_time():
    figure, draw, count = film(SHOWN)
    for k in range(count):
        draw(k)
        found = {axes.get_label(): axes for axes in figure.axes}
        p = SHOWN["linear"]
        assert (np.asarray(found["0 0"].images[0].get_array()) == p.truth[0, k, ..., 0]).all()
        assert (np.asarray(found["0 2"].images[0].get_array()) == p.prediction[0, k, ..., 0]).all()
        assert len(found["1 0"].collections) == 1 and figure.texts[0].get_text().startswith(f"$t$ = {p.times[k]:.3g}; ")


def test_one_scale_for_the_whole_film():
    figure, draw, count = film(SHOWN)
    limits = set()
    for k in range(count):
        draw(k)
        limits |= {axes.images[0].get_clim() for axes in figure.axes if axes.get_label() in ("0 0", "0 1", "0 2")}
    assert len(limits) == 1


def test_text_is_on_the_film_and_apart():
    for shown in ({"kriging": steady()}, {"videopde_unified": replace(SHOWN["kriging"], frames=(1, 2))}):
        check_text(film(shown)[0])


def test_without_ffmpeg_the_message_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(matplotlib.rcParams, "animation.ffmpeg_path", "/nowhere/ffmpeg")
    with pytest.raises(UserError, match="mp4 needs ffmpeg.*apt-get install ffmpeg.*--format gif"):
        save_film(film(SHOWN), tmp_path / "a", "mp4")


@pytest.mark.skipif(not shutil.which("ffmpeg"), reason="needs ffmpeg")
def test_an_mp4_has_as_many_frames_as_asked(tmp_path):
    path = save_film(film(SHOWN, frames=(0, 2, 4)), tmp_path / "a", "mp4")
    count = ["ffprobe", "-v", "error", "-count_frames", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0"]
    assert subprocess.run([*count, path], capture_output=True, text=True, check=True).stdout.strip() == "3"
