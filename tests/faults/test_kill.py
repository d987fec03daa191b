"""SIGKILL at 200 moments of each verb's wall time, some of them within a phase aimed at; then the verb runs to its end.

What it leaves must be what an undisturbed run leaves (`store.py` says what is compared), with no file more or less, no
process of it may live on, and the next run must not mind. The moments are drawn with fixed seeds as fractions of the
time that the verb takes undisturbed, here and now; in `run` two of three wait from there on for a phase, as its files
show it, and then a little longer.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

import pytest

from tests.faults.process import OK, Forked, fork
from tests.faults.store import Store

pytestmark = pytest.mark.faults
METHODS, TASKS = "mean,nearest,kriging,voronoi_unet", "cont_3,fwd_full"
OFTEN = ("--set", "training.steps=90", "--set", "training.checkpoint_seconds=0")  # a checkpoint at every report
HALVES = 2  # side by side, where there are two cores
ANYWHERE, FIT, RECORD = "anywhere", "fit", "predict or record"
WITHIN = {FIT: 0.1, RECORD: 0.01}  # of a phase aimed at, as a share of the whole
AIMED = {FIT: 10, RECORD: 8}  # kills of a half that must hit, of 12 and 11 that are aimed there
LOOK = 0.005  # seconds between looks


def generate(store: Store) -> list[object]:
    return ["data", "generate", "all", "--profile", "smoke", "--data", store.data]


def run(store: Store) -> list[object]:
    return store.running("--method", METHODS, "--task", TASKS, *OFTEN)


def sweep(store: Store) -> list[object]:
    folders = ["--runs", store.runs, "--data", store.data, "--profile", "smoke", "--device", "cpu"]
    chosen = ["--method", "eci", "--task", "cont_3", "--vary", "redraw=0,1"]
    return ["sweep", *chosen, *folders, "--set", "training.steps=30", "--set", "training.checkpoint_seconds=0"]


def board(store: Store, *formats: str) -> list[object]:
    asked = ["--include", "all", "--format", ",".join(formats)]
    return ["leaderboard", "--profile", "smoke", "--results", store.results, "--output", store.page, *asked]


def tables(store: Store) -> list[object]:
    return board(store, "md", "latex", "csv", "json")


def page(store: Store) -> list[object]:
    return board(store, "html")


@dataclass(frozen=True)
class Verb:
    arguments: Callable[[Store], list[object]]
    kills: int
    needs: tuple[str, ...] = ()  # folders of the store that an undisturbed run has filled
    aims: tuple[str, ...] = (ANYWHERE,)  # of one kill after another


VERBS = {
    "generate": Verb(generate, 40),
    "run": Verb(run, 70, ("data",), (ANYWHERE, FIT, RECORD)),
    "sweep": Verb(sweep, 30, ("data",)),
    "tables": Verb(tables, 30, ("data", "results", "runs")),
    "page": Verb(page, 30, ("data", "results", "runs")),
}


@dataclass
class Lane:
    """One verb, killed again and again until it is done, then anew in a fresh store."""

    verb: Verb
    root: Path
    source: Store
    whole: float  # seconds of an undisturbed run
    chance: random.Random
    wanted: dict[str, str]
    problems: list[str] = field(default_factory=list)
    phases: Counter[str] = field(default_factory=Counter)
    compared: int = 0
    stores: int = 0

    def disturb(self, kills: int) -> None:
        store = self.fresh()
        for aim in islice(cycle(self.verb.aims), kills):
            process = self.start(store)
            while not self.reaches(aim, process, store):  # it was done before its kill
                self.check(store, process)
                store = self.fresh()
                process = self.start(store)
            if not process.kill():
                self.problems.append(f"{store.root}: a process outlived its parent")
            self.phases[phase(store)] += 1
        self.check(store, self.start(store))

    def reaches(self, aim: str, process: Forked, store: Store) -> bool:
        """Whether the moment of the kill comes before the end."""
        lasts = process.lasts(self.chance.random() * self.whole * (1 if aim == ANYWHERE else 0.5))
        while lasts and aim != ANYWHERE:
            if phase(store) == aim:
                lasts = process.lasts(self.chance.random() * self.whole * WITHIN[aim])
                if phase(store) == aim:
                    break
            lasts = lasts and process.lasts(LOOK)
        return lasts

    def start(self, store: Store) -> Forked:
        return Forked(self.verb.arguments(store), store.root)

    def fresh(self) -> Store:
        self.stores += 1
        store = Store(self.root / str(self.stores))
        return prepared(store, self.source, self.verb.needs)

    def check(self, store: Store, process: Forked) -> None:
        ended, found = process.end(), store.tree()
        self.compared += len(found)
        if ended.code != OK or found != self.wanted:
            names = sorted(name for name, _ in found.items() ^ self.wanted.items())
            self.problems.append(f"{store.root}: exit code {ended.code}, differs in {names}: {ended.err[-2000:]}")
        else:
            shutil.rmtree(store.root)


def prepared(store: Store, source: Store, needs: tuple[str, ...]) -> Store:
    store.root.mkdir(parents=True)
    for name in needs:
        shutil.copytree(source.root / name, store.root / name)
    return store


def phase(store: Store) -> str:
    """What a killed run was at, by what it left."""
    fits = {Path(folder) for folder, _, names in os.walk(store.runs) if "begun.json" in names}  # folders come and go
    if any(not (folder / "fit.json").exists() for folder in fits):
        return FIT
    under_way = any(name.endswith(".lock") for _, _, names in os.walk(store.results) for name in names)
    return RECORD if under_way else "between"


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> tuple[Store, dict[str, float]]:
    """An undisturbed store, and the seconds of each verb."""
    store, seconds = Store(tmp_path_factory.mktemp("whole")), {}
    for name, verb in VERBS.items():
        own = store if name in ("generate", "run") else prepared(Store(store.root / name), store, verb.needs)
        began = time.monotonic()
        ended = fork(verb.arguments(own), own.root)
        seconds[name] = time.monotonic() - began
        assert ended.code == OK, ended.err
    return store, seconds


@pytest.mark.parametrize("half", range(HALVES))
@pytest.mark.parametrize("name", VERBS)
def test_killed_at_random_moments_it_leaves_what_an_undisturbed_run_leaves(name, half, whole, tmp_path):
    source, seconds = whole
    verb = VERBS[name]
    reference = prepared(Store(tmp_path / "reference"), source, verb.needs)
    assert fork(verb.arguments(reference), reference.root).code == OK
    lane = Lane(verb, tmp_path, source, seconds[name], random.Random(f"{name} {half}"), reference.tree())
    lane.disturb(verb.kills // HALVES)
    print(f"{name}: {verb.kills // HALVES} kills {dict(lane.phases)}, {lane.compared} files compared")
    assert lane.problems == []
    assert name != "run" or all(lane.phases[aim] >= count for aim, count in AIMED.items()), lane.phases


def test_it_is_two_hundred_kills():
    assert sum(HALVES * (verb.kills // HALVES) for verb in VERBS.values()) == 200
