"""A prediction that was killed goes on from its finished parts, and its record does not show it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar

import pytest
import torch

from benchmark.core import Keeper, Method, Prediction
from benchmark.planning.registry import registry
from benchmark.planning.resolve import Resolved
from benchmark.records.folders import parts_folder
from benchmark.records.record import Record
from benchmark.running.cell import kept_parts, question_of, run_cell
from benchmark.running.evaluate import make_problem
from benchmark.running.fits import Fit
from benchmark.running.parts import KeptParts
from benchmark.running.provenance import now
from tests.benchmark.running.test_evaluate import context, resolve
from tests.benchmark.support import TOY, comparable, toy_request

VIDEOS = 8  # two samples of four trajectories


class Killed(Exception):
    pass


@dataclass(frozen=True)
class Settings:
    seconds: float = 0.0  # between writes


class Videos(Method):
    """Answers noise, each video by itself; `stop`: so many videos later it is killed in the middle of one."""

    scope = "instance"
    stochastic = True
    profiles: ClassVar = {"smoke": Settings()}
    made: ClassVar[list[tuple[int, int]]] = []
    stop: ClassVar[int] = VIDEOS

    def fit(self, train, valid, tasks, seed, run):
        return self

    def predict(self, problem, seed, samples=1):
        def video(place):
            if len(self.made) == self.stop:
                raise Killed
            self.made.append(place)
            generator = torch.Generator().manual_seed(100 * seed + 10 * place[0] + place[1])
            return {"u": torch.randn(problem.values.shape[1:], generator=generator, dtype=torch.float64)}

        places = list(product(range(samples), range(len(problem))))
        parts = self.keeper.each(places, video, self.settings.seconds)
        u = torch.stack([part["u"] for part in parts]).unflatten(0, (samples, -1))
        assert u.dtype == torch.float64
        return Prediction(u)

    def one_step(self, problem, seed):
        assert type(self.keeper) is Keeper  # the answer in one step is another one
        return None


@pytest.fixture
def cell(tmp_path):
    Videos.made.clear()
    Videos.stop = VIDEOS
    known = registry((TOY,))
    known.add("methods", "videos", Videos, "a test")
    return resolve(request(tmp_path), known)


def request(root, **more):
    return toy_request(root, methods=("videos",), samples=2, **more)


def run(cell: Resolved, root, *, stop: int = VIDEOS, **more) -> tuple[Record | None, int]:
    """The record, and how many videos it took; none where it is killed after `stop`."""
    Videos.made.clear()
    Videos.stop = stop
    try:
        return run_cell(cell, replace(context(request(root)), **more)), len(Videos.made)
    except Killed:
        return None, stop


def notes(cell: Resolved, root) -> list:
    return sorted(parts_folder(root / "runs", cell.cell).glob("*.json"))


def test_what_was_finished_is_not_made_again_and_the_answer_is_the_same(cell, tmp_path):
    whole, _ = run(cell, tmp_path / "whole")
    assert run(cell, tmp_path, stop=3) == (None, 3)
    assert run(cell, tmp_path, stop=2) == (None, 2)
    record, made = run(cell, tmp_path)
    assert made == VIDEOS - 5 and comparable(record) == comparable(whole)


def test_what_was_spent_before_a_kill_counts(cell, tmp_path):
    run(cell, tmp_path, stop=2)
    for path in notes(cell, tmp_path):
        took = {"seconds": 1000.0, "cpu_seconds": 2000.0, "memory_mb": 1e6}
        path.write_text(json.dumps(json.loads(path.read_text()) | took))
    record, _ = run(cell, tmp_path)
    assert 2000 < record.cost["predict_seconds"] * VIDEOS < 2900
    assert 4000 < record.cost["predict_cpu_seconds"] * VIDEOS < 4900
    assert record.cost["peak_memory_mb"] == 1e6


def test_what_a_video_took_is_noted_once(cell, tmp_path):
    run(cell, tmp_path, stop=3)
    before = [json.loads(path.read_text()) for path in notes(cell, tmp_path)]
    assert len(before) == 3 and all(0 < note["seconds"] < 100 and note["memory_mb"] > 50 for note in before)
    assert [note["fraction"] for note in before] == [1 / 8, 2 / 8, 3 / 8]


def test_progress_goes_on_where_it_was(cell, tmp_path):
    told = []
    run(cell, tmp_path, stop=3, progress=lambda *what: told.append(what))
    assert told[-4:] == [("predict", i / VIDEOS) for i in range(4)]
    told.clear()
    run(cell, tmp_path, progress=lambda *what: told.append(what))
    assert [fraction for message, fraction in told if message == "predict"] == [i / VIDEOS for i in range(3, 9)]


def test_without_a_place_to_keep_it_a_prediction_tells_how_far_it_is():
    told = []
    parts = Keeper(lambda *what: told.append(what)).each([0, 1], lambda item: {"x": torch.tensor(item)})
    assert [int(part["x"]) for part in parts] == [0, 1] and told == [("predict", 0.5), ("predict", 1.0)]


def test_writes_are_so_far_apart(cell, tmp_path):
    slow = replace(cell, settings=Settings(seconds=3600.0))
    assert run(slow, tmp_path, stop=5) == (None, 5)
    assert notes(slow, tmp_path) == []


def flip(path):
    content = bytearray(path.with_suffix(".safetensors").read_bytes())
    content[-1] ^= 1
    path.with_suffix(".safetensors").write_bytes(content)


def cut(path):
    path.write_text(path.read_text()[:-20])


def lose(path):
    path.with_suffix(".safetensors").unlink()


def block(path):
    lose(path)
    os.mkfifo(path.with_suffix(".safetensors"))


def change(**values):
    return lambda path: path.write_text(json.dumps(json.loads(path.read_text()) | values))


SPOILT = {
    "values": flip,
    "notes": cut,
    "no values": lose,
    "a pipe": block,
    "another question": change(question="0"),
    "no times": change(seconds=-1.0),
    "endless": change(cpu_seconds=1e999),
    "words": change(seconds="long"),
    "other parts": change(parts=[["1 [0, 0]"]]),
    "a list": lambda path: path.write_text("[]"),
    "no number": lambda path: path.rename(path.with_name("first.json")),
}


@pytest.mark.parametrize("name", SPOILT)
def test_what_is_damaged_or_foreign_is_made_again(cell, tmp_path, name):
    whole, _ = run(cell, tmp_path / "whole")
    run(cell, tmp_path, stop=3)
    SPOILT[name](notes(cell, tmp_path)[0])
    record, made = run(cell, tmp_path)
    assert made == VIDEOS - 2 and comparable(record) == comparable(whole)


def test_the_parts_answer_one_question(cell, tmp_path):
    run(cell, tmp_path)  # makes the data
    problem = make_problem(question_of(cell, context(request(tmp_path))))
    fit = Fit(1.0, 1.0, {}, "today")

    def question(cell=cell, problem=problem, fit=fit):
        return kept_parts(cell, context(request(tmp_path)), problem, fit).question

    moved = replace(problem, values=problem.values + 1e-6)
    unseen = replace(problem, mask=torch.zeros_like(problem.mask))
    other = replace(cell, identity=cell.identity | {"task": None})
    assert question() == question(fit=replace(fit, cached=True))
    questions = [question(), question(problem=moved), question(problem=unseen), question(cell=other),
                 question(fit=replace(fit, created="yesterday")), question(fit=None)]  # fmt: skip
    assert len(set(questions)) == len(questions)


def test_to_overwrite_is_to_begin_anew(cell, tmp_path):
    run(cell, tmp_path, stop=3)
    asked = replace(request(tmp_path), overwrite=True)
    assert run(cell, tmp_path, request=asked, since=now())[1] == VIDEOS
    since = now()
    run(cell, tmp_path, stop=3, request=asked, since=since)
    assert run(cell, tmp_path, request=asked, since=since)[1] == VIDEOS - 3  # what it has begun itself


def test_a_second_round_of_parts_is_not_taken_for_the_first(tmp_path):
    def keeper():
        return KeptParts(tmp_path, "which", torch.device("cpu"), lambda *what: None)

    def both(keeper):
        rounds = (keeper.each([0], lambda item, x=x: {"x": torch.tensor(x)}, 0.0) for x in (1, 2))
        return [int(part["x"]) for parts in rounds for part in parts]

    assert both(keeper()) == both(keeper()) == [1, 2]


def test_without_room_the_prediction_is_made_all_the_same(cell, tmp_path, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("benchmark.running.parts.write_json", full)
    record, made = run(cell, tmp_path)
    assert record.state == "done" and made == VIDEOS and "No space left" in capsys.readouterr().err
