from dataclasses import replace

import numpy as np
import pytest

from benchmark.leaderboard.page import video, videos
from benchmark.leaderboard.page.chunks import Chunks, as_json
from benchmark.leaderboard.page.fields import Size
from benchmark.leaderboard.page.videos import add_videos
from benchmark.records.predictions import predictions_path, read_predictions, write_predictions
from benchmark.records.thin import thinned
from tests.benchmark.leaderboard.page.reading import chunk_of, unfiltered
from tests.benchmark.leaderboard.synthetic import done
from tests.benchmark.records.test_predictions import CELL, some
from tests.benchmark.records.test_thin import ERRORS, large

ROOM = 10**7


def stored(tmp_path, method="fno", key="key", task=CELL.task, **changes):
    """A record, and its predictions under `key`."""
    cell = replace(CELL, method=method, task=task)
    write_predictions(predictions_path(tmp_path, cell), some(cell=cell, key="key", **changes))
    return replace(done(cell, [1.0, 2.0]), key=key)


def page_of(chunks):
    return "".join(f'id="c{i}">{text}</script>' for i, text in enumerate(chunks.texts))


def test_a_video_comes_back(tmp_path):
    chunks, exact = Chunks(), some()
    shown, reasons = add_videos([stored(tmp_path)], tmp_path, chunks, ROOM)
    assert not reasons and [one["trajectory"] for one in shown[0]] == [0, 1]
    one, page = shown[0][1], page_of(chunks)
    low, high, scale = (np.array(one[name]).reshape(2, 1, 1, 1) for name in ("low", "high", "scale"))
    truth = low + unfiltered(chunk_of(page, one["truth"]), one["shape"]) * (high - low) / 255
    error = (unfiltered(chunk_of(page, one["error"]), one["shape"]).astype(int) - 128) * scale / 127
    assert (np.abs(truth - np.moveaxis(exact.truth[1], -1, 0)) <= 0.51 * (high - low) / 255).all()
    wanted = np.moveaxis(exact.prediction[1] - exact.truth[1], -1, 0)
    assert (np.abs(error - wanted) <= 0.51 * scale / 127 + 1e-4 * np.abs(wanted)).all()


def test_readings_follow_the_mask(tmp_path):
    chunks, exact = Chunks(), some()
    shown, _ = add_videos([stored(tmp_path)], tmp_path, chunks, ROOM)
    content = np.frombuffer(chunk_of(page_of(chunks), shown[0][0]["seen"]), dtype=np.uint8)
    size = int(np.prod(shown[0][0]["shape"]))
    mask = np.unpackbits(content[: -(-size // 8)], count=size).astype(bool).reshape(shown[0][0]["shape"])
    assert (mask == np.moveaxis(exact.mask[0], -1, 0)).all() and len(content) == -(-size // 8) + mask.sum()


def test_methods_that_were_asked_the_same_share_truth_and_readings(tmp_path):
    chunks = Chunks()
    records = [stored(tmp_path), stored(tmp_path, "shu", prediction=some().truth ** 2)]
    shown, _ = add_videos(records, tmp_path, chunks, ROOM)
    one, other = shown[0][0], shown[1][0]
    assert (one["truth"], one["seen"]) == (other["truth"], other["seen"]) and one["error"] != other["error"]


def test_predictions_of_another_run_are_not_shown(tmp_path):
    shown, reasons = add_videos([stored(tmp_path, key="new")], tmp_path, Chunks(), ROOM)
    assert not shown and "of another run than the record" in reasons[0]


def test_without_a_runs_folder_there_is_nothing(tmp_path):
    record = done(CELL, [1.0])
    assert add_videos([record], None, Chunks(), ROOM) == ({}, {})
    assert add_videos([record], tmp_path / "nowhere", Chunks(), ROOM) == ({}, {})


def test_frames_that_are_not_predicted_have_no_error(tmp_path):
    shown, _ = add_videos([stored(tmp_path, frames=(2,), prediction=some().truth + 1e9)], tmp_path, Chunks(), ROOM)
    assert shown[0][0]["answered"] == [False, False, True]


def test_the_fields_of_a_steady_problem_have_scales_of_their_own(tmp_path):
    exact = some(frame_names=("a", "b", "c"))
    shown, _ = add_videos([stored(tmp_path, frame_names=("a", "b", "c"))], tmp_path, Chunks(), ROOM)
    assert np.array(shown[0][0]["high"]).shape == (2, 3)
    assert shown[0][0]["high"][1][2] == pytest.approx(exact.truth[0, 2, ..., 1].max(), rel=1e-4)


def test_all_methods_of_a_column_share_the_scale_of_errors(tmp_path):
    """Also one that does not predict every frame; an error in a frame that it does not predict counts for nothing."""
    off = {"fno": np.float32(0.01), "shu": np.array([0.5, 0.5, 1e3]).reshape(3, 1, 1, 1), "eci": np.float32(9)}
    more = {"shu": {"frames": (0, 1)}, "eci": {"task": "cont_3"}}
    records = [stored(tmp_path, m, prediction=some().truth + one, **more.get(m, {})) for m, one in off.items()]
    shown, _ = add_videos(records, tmp_path, Chunks(), ROOM)
    limits = [(shown[place][0]["least"][0][0], shown[place][0]["end"][0][0]) for place in range(3)]
    assert limits[0] == limits[1] == pytest.approx((0.0001, 0.5), rel=0.02)
    assert limits[2] == pytest.approx((0.09, 9.0), rel=0.02)  # of another task: its own


def test_a_smaller_room_has_fewer_trajectories_then_smaller_videos_then_fewer_cells(tmp_path, monkeypatch):
    small_sizes(monkeypatch)
    records = [stored(tmp_path), stored(tmp_path, "shu", prediction=some().truth ** 2)]

    def shape(room):
        chunks = Chunks()
        shown, reasons = add_videos(records, tmp_path, chunks, room)
        assert chunks.size + len(as_json(list(shown.values()))) <= room  # what is said of a video counts too
        return [(len(own), own[0]["shape"][1:]) for own in shown.values()], reasons

    large, small = videos._read(records, videos._paths(records, tmp_path))[0]
    size = {count: videos._size(v for own in large.values() for v in own[:count]) for count in (1, 2)}
    assert shape(size[2])[0] == [(2, (3, 8, 6))] * 2
    assert shape(size[1])[0] == [(1, (3, 8, 6))] * 2
    assert shape(size[1] - 1)[0] == [(1, (2, 2, 1))] * 2
    found, reasons = shape(videos._size(small[0]))
    assert len(found) == 1 and "too large" in reasons[1]


def test_a_video_that_was_kept_in_part_says_so(tmp_path):
    """Readings stand where their points do, numbers of frames and points are those of the run."""
    p = thinned(large(200, 20), ERRORS)
    cell = replace(CELL, method="kriging")
    write_predictions(predictions_path(tmp_path, cell), replace(p, cell=cell))
    chunks = Chunks()
    for encoded in video.read_videos(predictions_path(tmp_path, cell), "key")[:2]:
        first = encoded.videos[0]
        _, t, h, w = first.meta["shape"]
        mask = np.unpackbits(np.frombuffer(chunk_bytes(first, chunks), np.uint8), count=t * h * w).astype(bool)
        step = 200 // h
        blocks = p.mask[0, ..., 0][:, : h * step, : w * step].reshape(t, h, step, w, step).any((2, 4))
        assert (mask == blocks.ravel()).all()
        assert (
            first.meta["frames"] == list(p.numbers) and first.meta["points"] == (200, 200) and first.meta["step"] == 4
        )


def chunk_bytes(of, chunks):
    place = chunks.add(of.parts["seen"])
    return chunk_of(page_of(chunks), place)


def small_sizes(monkeypatch):
    for module in (video, videos):
        monkeypatch.setattr(module, "SIZES", (Size(20, 64), Size(2, 2)))


@pytest.mark.parametrize("room", [ROOM, 0])
def test_a_file_is_read_once(tmp_path, monkeypatch, room):
    read = []
    monkeypatch.setattr(video, "read_predictions", lambda path, **more: read.append(path) or read_predictions(path))
    add_videos([stored(tmp_path), stored(tmp_path, "shu")], tmp_path, Chunks(), room)
    assert [path.parent.name for path in read] == ["fno-s0", "shu-s0"]
