"""SIGKILL in the middle of a long prediction; the same command then makes what was missing, and the same record."""

from __future__ import annotations

import json
import time

import pytest

from tests.faults.process import OK, Forked, fork
from tests.faults.store import Store, record_text

pytestmark = pytest.mark.faults
SLOW = ("--method", "diffusionpde_ext", "--task", "cont_3", "--samples", "4", "--set", "training.steps=5",
        "--set", "edm.steps=30", "--set", "chunk=1", "--set", "training.checkpoint_seconds=0")  # fmt: skip
KILLS = 3


def files(store: Store) -> list:
    return sorted(store.runs.rglob(".*.parts/*.json"))


def killed(store: Store) -> None:
    """As soon as another part is on disk."""
    before = len(files(store))
    process = Forked(store.running(*SLOW), store.root)
    while len(files(store)) <= before:
        assert process.process.is_alive(), process.output("err")
        time.sleep(0.005)
    assert process.kill()


def test_a_prediction_goes_on_after_every_kill(tmp_path):
    whole, broken = Store(tmp_path / "whole"), Store(tmp_path / "broken")
    assert fork(whole.running(*SLOW), whole.root).code == OK
    for _ in range(KILLS):
        killed(broken)
    spent = [json.loads(path.read_text())["seconds"] for path in files(broken)]
    assert len(spent) >= KILLS and not broken.records()
    assert fork(broken.running(*SLOW), broken.root).code == OK
    (name, record), (_, other) = *broken.records().items(), *whole.records().items()
    assert record_text(record) == record_text(other), name
    videos = 4 * len(record.metrics["rel_l2"].values)
    assert record.cost["predict_seconds"] * videos > sum(spent)
    assert broken.tree() == whole.tree()  # and nothing is left of the parts
