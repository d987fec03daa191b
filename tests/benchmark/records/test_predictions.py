import pickle
from dataclasses import replace

import numpy as np
import pytest

from benchmark.records.cell import Cell
from benchmark.records.predictions import (
    Predictions,
    PredictionsError,
    find_predictions,
    predictions_path,
    read_predictions,
    write_predictions,
)

CELL = Cell("fno", "cont_1", "navier_stokes", "smoke", 0)
SHAPE = (2, 3, 8, 6, 2)


def some(**changes) -> Predictions:
    draw = np.random.default_rng(0)
    truth = (draw.normal(size=SHAPE) * [1.0, 1e4] + [0.0, 3e4]).astype(np.float32)
    mask = draw.random(SHAPE) < 0.2
    values = np.where(mask, truth + 1, 0).astype(np.float32)
    made = Predictions(
        CELL, "key", ("h", "p"), None, (0.0, 0.5, 1.0), "periodic", (1.0, 2.0), None, 1,
        truth, mask, values, 2 * truth, samples=np.stack([truth, -truth]), spread=np.zeros_like(truth),
    )  # fmt: skip
    return replace(made, **changes)


@pytest.fixture
def path(tmp_path):
    path = predictions_path(tmp_path, CELL)
    write_predictions(path, some())
    return path


def test_fields_come_back_to_16_bits_of_each_channels_range(path):
    back, wanted = read_predictions(path), some()
    for name in ("truth", "prediction", "samples"):
        field, exact = getattr(back, name), getattr(wanted, name)
        extent = exact.max((-4, -3, -2), keepdims=True) - exact.min((-4, -3, -2), keepdims=True)
        assert (
            field.dtype == np.float32 and (np.abs(field - exact) <= 0.51 * extent / 65535 + 1e-7 * np.abs(exact)).all()
        )
    assert (back.spread == 0).all()  # a field of one value has no range


def test_the_rest_comes_back_exactly(path):
    back, wanted = read_predictions(path), some()
    assert (back.mask == wanted.mask).all() and (back.values == wanted.values).all()
    for name in ("cell", "key", "channels", "frame_names", "times", "boundary", "lengths", "frames", "masks"):
        assert getattr(back, name) == getattr(wanted, name)


def test_a_method_with_one_answer_has_no_samples(path):
    write_predictions(path, some(samples=None, spread=None, frames=(1, 2)))
    back = read_predictions(path)
    assert back.samples is None and back.spread is None and back.scored == [1, 2]


@pytest.mark.parametrize("content", [b"", b"not a zip", pickle.dumps({"a": 1})])
def test_what_holds_no_predictions_says_so(path, content):
    path.write_bytes(content)
    with pytest.raises(PredictionsError, match=r"no predictions.*--overwrite"):
        read_predictions(path)


def test_half_a_file_and_pickled_objects_are_refused(path):
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(PredictionsError):
        read_predictions(path)
    np.savez(path, meta=np.array([{"an": "object"}], dtype=object))
    with pytest.raises(PredictionsError, match="allow_pickle"):
        read_predictions(path)


def test_files_are_found_by_task_and_variant(tmp_path):
    cells = [CELL, replace(CELL, variant="width=8"), replace(CELL, task="cont_10"), replace(CELL, dataset="heat")]
    for cell in cells:
        write_predictions(predictions_path(tmp_path, cell), some(cell=cell))
    found = [read_predictions(path).cell for path in find_predictions(tmp_path, task="cont_1")]
    assert set(found) == {cells[0], cells[1], cells[3]}
    assert len([*find_predictions(tmp_path, dataset="heat")]) == 1
