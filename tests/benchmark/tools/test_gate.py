"""Each check of the gate fails for a method that breaks just that rule, and a sound method passes all of them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import nn

from benchmark.core import Method, Prediction
from benchmark.errors import UserError
from benchmark.planning.registry import registry
from benchmark.tools.gate import run_gate
from tests.benchmark.support import TOY


@dataclass(frozen=True)
class Settings:
    steps: int = 300


class Sound(Method):
    """A map from what is seen of a site (value, mask, and the first frame) to the whole video."""

    scope = "task"
    profiles = {"smoke": Settings()}

    def network(self, problem):
        frames = problem.values.shape[1]
        return nn.Linear(2 * frames * 64, frames * 64)

    def ask(self, problem):
        values = torch.where(problem.mask, problem.values, 0)
        given = torch.cat([values, problem.mask.float()], 1)
        return self.net_(given.flatten(1)).view(problem.values.shape)

    def fit(self, train, valid, tasks, seed, run):
        torch.manual_seed(seed)
        whole, draw = train[:], torch.Generator().manual_seed(seed)
        problem = tasks[0].observe(whole, [draw] * len(whole))
        self.net_ = self.network(problem)
        optimiser = torch.optim.Adam(self.net_.parameters(), lr=1e-2)
        for _ in range(self.settings.steps):
            loss = (self.ask(problem) - whole.u).square().mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return self

    def predict(self, problem, seed, samples=1):
        with torch.no_grad():
            return Prediction(torch.where(problem.mask, problem.values, self.ask(problem))[None])

    def state(self):
        return dict(self.net_.state_dict())

    def restore(self, state, train):
        self.net_ = nn.Linear(state["weight"].shape[1], state["weight"].shape[0])
        self.net_.load_state_dict(state)
        return self


class Shape(Sound):
    def predict(self, problem, seed, samples=1):
        return Prediction(super().predict(problem, seed).u[:, :, :-1])


class Infinite(Sound):
    def predict(self, problem, seed, samples=1):
        return Prediction(super().predict(problem, seed).u / 0)


class Determinism(Sound):
    calls = 0

    def predict(self, problem, seed, samples=1):
        self.calls += 1
        return Prediction(super().predict(problem, seed).u + 1e-3 * self.calls)


class Input(Sound):
    def predict(self, problem, seed, samples=1):
        prediction = super().predict(problem, seed)
        problem.values[~problem.mask] = 1.0
        return prediction


class Sensitivity(Sound):
    def predict(self, problem, seed, samples=1):
        return Prediction(self.net_.bias.detach().view(problem.values.shape[1:]).expand(1, *problem.values.shape))


class Batch(Sound):
    def predict(self, problem, seed, samples=1):
        found = super().predict(problem, seed, samples)
        return Prediction(found.u + 0.1 * found.u.mean(1, keepdim=True))


class Leak(Sound):
    def predict(self, problem, seed, samples=1):
        return Prediction(super().predict(problem, seed).u + 1e-3 * problem.values)


class Storage(Sound):
    def restore(self, state, train):
        super().restore(state, train)
        nn.init.zeros_(self.net_.bias)
        return self


class Gradients(Sound):
    def network(self, problem):
        net = super().network(problem)
        net.register_parameter("idle", nn.Parameter(torch.ones(3)))
        return net

    def state(self):
        return {name: value for name, value in super().state().items() if name != "idle"}


class Overfit(Sound):
    profiles = {"smoke": Settings(steps=1)}


class Raises(Sound):
    def predict(self, problem, seed, samples=1):
        raise RuntimeError("on purpose")


def verdicts(cls, tmp_path):
    known = registry((TOY,))
    known.add("methods", "tried", cls, "a test")
    return run_gate(known, "tried", "toy", tmp_path)


def test_a_dataset_without_settings_of_that_size_is_named(tmp_path):
    known = registry((TOY,))
    known.add("datasets", "large", type("Large", (known.load("datasets", "toy"),), {"profiles": {"paper": None}}), "")
    with pytest.raises(UserError, match="large has no settings for profile 'smoke'.*it has paper.*another --dataset"):
        run_gate(known, "mean", "large", tmp_path)


def test_a_sound_method_passes(tmp_path):
    checks = verdicts(Sound, tmp_path)
    assert {check.name for check in checks} == {
        "shape", "input", "determinism", "sensitivity", "leak", "batch", "storage", "gradients", "overfit",
    }  # fmt: skip
    assert [check for check in checks if check.verdict != "pass"] == []


@pytest.mark.parametrize(
    ("cls", "name", "note"),
    [
        (Shape, "shape", "expected"),
        (Infinite, "shape", "not finite"),
        (Determinism, "determinism", "differ"),
        (Input, "input", "changed problem.values"),
        (Sensitivity, "sensitivity", "does not matter"),
        (Leak, "leak", "behind the mask"),
        (Batch, "batch", "other trajectories of the batch"),
        (Storage, "storage", "do not bring the fit back"),
        (Gradients, "gradients", "net_.idle"),
        (Overfit, "overfit", "their mean"),
        (Raises, "runs", "on purpose"),
    ],
)
def test_a_broken_rule_is_seen(tmp_path, cls, name, note):
    failed = [check for check in verdicts(cls, tmp_path) if check.verdict == "fail"]
    assert any(check.name == name and note in check.note for check in failed)
