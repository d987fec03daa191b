"""A plugin of methods that go wrong in ways that `tests/benchmark/toy.py` has not; over its dataset."""

from __future__ import annotations

import ctypes
import os
import signal
import time

import numpy as np

from benchmark.core import Method, Prediction
from tests.benchmark.toy import LearnTask, OddSettings, Toy, log


class Rogue(Method):
    scope = "instance"
    profiles = {"smoke": OddSettings()}

    def fit(self, train, valid, tasks, seed, run):
        raise AssertionError("a method of scope instance is not fitted")

    def predict(self, problem, seed, samples=1):
        log("pid", os.getpid())
        self.misbehave()
        return Prediction(problem.values[None])

    def misbehave(self):
        raise NotImplementedError


class Hangs(Rogue):
    """Stopped by a signal, it answers to nothing but SIGKILL."""

    def misbehave(self):
        os.kill(os.getpid(), signal.SIGSTOP)


class Deaf(Rogue):
    def misbehave(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(1)


class Eats(Rogue):
    """More and more, up to whatever bound there is."""

    def misbehave(self):
        kept = []
        while True:
            kept.append(np.empty(1 << 28, dtype=np.uint8))


class Segfaults(Rogue):
    def misbehave(self):
        ctypes.string_at(0)


class Exits(Rogue):
    def misbehave(self):
        os._exit(7)


class ExitsFine(Rogue):
    def misbehave(self):
        os._exit(0)


class Parent(Rogue):
    """Leaves a child behind that holds all that it has inherited."""

    def misbehave(self):
        if not (child := os.fork()):
            time.sleep(3600)
        log("pid", child)


METHODS = {"hangs": Hangs, "deaf": Deaf, "eats": Eats, "segfaults": Segfaults, "exits": Exits, "exits_fine": ExitsFine}
METHODS |= {"parent": Parent, "learns": LearnTask}
DATASETS = {"toy": Toy}
