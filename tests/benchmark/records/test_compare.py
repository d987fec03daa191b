from dataclasses import replace

import pytest

from benchmark.records.cell import Cell
from benchmark.records.compare import difference, machine_difference
from tests.benchmark.leaderboard.synthetic import PROVENANCE, done

CELL = Cell("fno", "cont_1", "navier_stokes", "smoke", 0)
SETTINGS = {"dataset": {"nu": 0.1}, "data": {"test": "generated", "train": "generated"}, "task": {"name": "cont_1"}}
OTHER_BITS = {"data_fingerprint": "other", "data": PROVENANCE["data"] | {"train": {"fingerprint": "other"}}}


def record(values=(1.0, 2.0), settings=None, **more):
    return replace(done(CELL, list(values), **more), settings=SETTINGS | (settings or {}))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"frames": [3, 4]}, "only frames 3 4 are predicted and scored"),
        ({"settings": {"task": {"name": "cont_1", "noise": 0.1}}}, "other task settings"),
        ({"data_fingerprint": "other"}, "other test data"),
        ({"data": OTHER_BITS["data"]}, "other training data"),
        ({"data": {"test": PROVENANCE["data"]["test"]}}, None),  # needs no training
        ({"mask_hash": "other"}, "other masks"),
        ({"values": (1.0,), "mask_hash": "of one mask"}, "1 test trajectories instead of 2"),
        ({"scorer_version": 2}, "scorer version 2 instead of 1"),
        ({"mask_hash": "other", "scorer_version": 2}, "other masks, scorer version 2 instead of 1"),
    ],
)
def test_what_sets_two_scores_apart(change, reason):
    one, other = record(**change), record()
    assert difference(one.basis, other.basis) == reason
    assert (difference(other.basis, one.basis) is None) == (reason is None)


def test_a_whole_video_beside_a_part_of_one():
    assert difference(record().basis, record(frames=[3]).basis) == "all frames are scored"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, (None, False)),
        (OTHER_BITS, (None, True)),
        ({"settings": {"dataset": {"nu": 0.2}}}, ("other test data, other training data", False)),
        ({**OTHER_BITS, "dataset_version": 2}, ("other test data, other training data", False)),
        ({**OTHER_BITS, "settings": {"data": {"test": "a1b2"}}}, ("other test data", False)),  # an imported file
        ({**OTHER_BITS, "mask_hash": "other"}, ("other masks", False)),
    ],
)
def test_data_of_one_recipe_may_differ_by_machine(change, expected):
    assert machine_difference(record(**change), record()) == expected
