"""Films hold the frames that were asked for."""

import shutil
import subprocess
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from PIL import Image

from benchmark.errors import UserError
from benchmark.figures.animation import film, save_film
from tests.benchmark.figures.made import check_text, predictions, steady

SHOWN = {"kriging": predictions(off=0.05), "linear": predictions("linear", off=0.5)}


@pytest.mark.parametrize(("frames", "count"), [(None, 5), ((0, 4, 2), 3)])
def test_a_gif_has_as_many_frames_as_asked(tmp_path, frames, count):
    path = save_film(film(SHOWN, frames=frames), tmp_path / "a", "gif")
    with Image.open(path) as image:
        assert path.name == "a.gif" and image.n_frames == count
    assert [p.name for p in tmp_path.iterdir()] == ["a.gif"]


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
