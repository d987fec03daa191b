"""Energies by shell, as the scorer has them."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmark.core import Grid
from benchmark.figures.spectra import energy, rounding, spectra
from benchmark.figures.style import looks
from benchmark.records.predictions import read_predictions, write_predictions
from benchmark.scoring.spectra import shells
from tests.benchmark.figures.made import check_text, predictions


def test_a_wave_has_its_energy_at_its_wavenumber():
    x = np.arange(16) / 16
    u = 2 * np.sin(2 * np.pi * 3 * x)[None, :, None] * np.ones((1, 16, 16)) + 5
    found = energy(u)
    assert found[[0, 3]] == pytest.approx([25.0, 2.0]) and np.delete(found, [0, 3]).max() < 1e-20


def test_energies_are_those_of_the_scorers_shells():
    u = np.random.default_rng(0).normal(size=(1, 16, 12))
    modes = shells(Grid((16, 12), (1.0, 1.0), (0.0, 1.0), "periodic"))
    power = torch.fft.rfft2(torch.tensor(u[0])).abs().square().flatten() * modes.weight / (16 * 12) ** 2
    expected = [float(power[modes.shell == k].sum()) for k in range(7)]
    assert energy(u) == pytest.approx(expected)


def test_lines_are_the_mean_over_the_trajectories_kept():
    p = predictions(off=0.5)
    figure = spectra({"kriging": p}, [2])
    top, bottom = figure.axes
    colour = looks(["kriging"])["kriging"].colour
    (own,) = [line for line in top.lines if line.get_color() == colour]
    expected = np.mean([energy(p.prediction[i : i + 1, 2, ..., 0]) for i in range(2)], axis=0)[1:]
    seen = np.isfinite(own.get_ydata())
    assert own.get_ydata()[seen] == pytest.approx(expected[seen], rel=1e-4) and seen[0]
    (ratio,) = [line for line in bottom.lines if line.get_color() == colour]
    assert ratio.get_ydata()[0] == pytest.approx(0.25, rel=1e-3)


def test_all_columns_lie_within_the_scale_they_share():
    """The error rises a hundredfold from the first frame to the last."""
    p = predictions()
    grow = np.array([0.02, 0.05, 0.2, 0.5, 2.0])[None, :, None, None, None]
    figure = spectra({"kriging": replace(p, prediction=(p.truth * (1 + grow)).astype(np.float32))}, [0, 4])
    figure.draw_without_rendering()
    for axes in figure.axes:
        low, high = axes.get_ylim()
        ys = np.concatenate([line.get_ydata() for line in axes.lines])
        assert ((low <= ys) & (ys <= high) | ~np.isfinite(ys)).all()


def test_ticks_are_plain_numbers():
    figure = spectra({"kriging": predictions(off=0.5), "linear": predictions("linear", off=0.3)}, [0, 4])
    figure.draw_without_rendering()
    texts = [text.get_text() for axes in figure.axes for text in axes.get_yticklabels(which="both")]
    assert any(texts) and not any("times" in text for text in texts)


def test_the_rounding_of_stored_fields_is_not_shown(tmp_path):
    """Read back, smooth waves have white noise, all of it below the bound, and no line down there."""
    path = tmp_path / "a.predictions.npz"
    write_predictions(path, predictions())
    p = read_predictions(path)
    noise = energy((p.truth - predictions().truth)[:, 1, ..., 0])
    assert (noise[1:] < 3 * rounding(p, 0, 2)[1:]).all() and noise[1:].max() > 0
    lines = spectra({"kriging": p}, [1]).axes[0].lines
    assert all(np.isnan(line.get_ydata()[4:]).all() for line in lines)


def test_text_is_on_the_page_and_apart():
    names = ("kriging", "diffusionpde_ext", "ablation_hierarchical", "residual_min", "videopde_unified", "fno")
    shown = {name: replace(predictions(), cell=replace(predictions().cell, method=name)) for name in names}
    check_text(spectra(shown))
