import numpy as np
import pytest

from benchmark.leaderboard.page.fields import (
    Size,
    any_plane,
    filtered,
    plain_levels,
    planes,
    seen_planes,
    signed_levels,
)
from tests.benchmark.leaderboard.page.reading import unfiltered

WHOLE = Size(20, 64)


def test_filtered_levels_come_back():
    levels = np.random.default_rng(0).integers(0, 256, (2, 3, 5, 7), dtype=np.uint8)
    assert (unfiltered(filtered(levels), levels.shape) == levels).all()


def test_levels_are_within_half_a_step():
    field = np.random.default_rng(0).normal(size=(1, 2, 4, 4))
    low, high = field.min(keepdims=True), field.max(keepdims=True)
    back = low + plain_levels(field, low, high) * (high - low) / 255
    assert np.abs(back - field).max() <= (high - low).item() / 510 * 1.001
    scale = np.abs(field).max(keepdims=True)
    signed = (signed_levels(field, scale).astype(int) - 128) * scale / 127
    assert np.abs(signed - field).max() <= scale.item() / 254 * 1.001


def test_a_constant_field_is_no_division_by_zero():
    field = np.zeros((1, 1, 2, 2))
    assert (plain_levels(field, field, field) == 0).all() and (signed_levels(field, field) == 128).all()


def test_a_video_within_the_size_is_whole():
    video = np.random.default_rng(0).normal(size=(8, 6, 5, 2))
    assert (planes(video, WHOLE) == np.moveaxis(video, -1, 0)).all()


def test_larger_videos_lose_frames_evenly_and_points_to_means():
    video = np.arange(9 * 8 * 8, dtype=float).reshape(9, 8, 8, 1)
    size = Size(3, 4)
    assert size.picked(9) == [0, 4, 8]
    small = planes(video, size)
    assert small.shape == (1, 3, 4, 4) and small[0, 1, 0, 0] == pytest.approx(video[4, :2, :2].mean())


def test_a_block_is_seen_where_a_sensor_is_and_has_its_reading():
    mask = np.zeros((1, 4, 4, 1), dtype=bool)
    mask[0, 0, 1] = mask[0, 1, 1] = True
    values = np.where(mask, 3.0, 0.0)
    values[0, 1, 1] = 5.0
    assert any_plane(mask, Size(1, 2)).sum() == 1
    assert seen_planes(values, mask, Size(1, 2))[0, 0, 0, 0] == 4.0
