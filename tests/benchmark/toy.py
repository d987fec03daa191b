"""A plugin for tests: a dataset of 8 x 8 fields that takes milliseconds, and methods that count, fail or misbehave.

With TOY_LOG set, every fit, training step, state and prediction appends a line to that file.
"""

from __future__ import annotations

import math
import os
import resource
import signal
import sys
import time
from dataclasses import dataclass

import torch

from benchmark.core import Dataset, Grid, Method, Prediction, Sizes
from benchmark.core.equation import Equation


def log(*words: object) -> None:
    if "TOY_LOG" in os.environ:
        descriptor = os.open(os.environ["TOY_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(descriptor, (" ".join(map(str, words)) + "\n").encode())
        os.close(descriptor)


class Heat(Equation):
    name = "heat"
    formula = "u_t = nu Lap u"
    nu = 0.01

    def space_terms(self, fields, static, d):
        return {"diffusion": -self.nu * (d(fields["u"], "xx") + d(fields["u"], "yy"))}

    def solve(self, first, static, grid):
        n = grid.shape[0]
        k = 2 * torch.pi * torch.fft.fftfreq(n, 1 / n)
        k2 = k[:, None] ** 2 + k[None, : n // 2 + 1] ** 2
        decay = torch.exp(-self.nu * k2 * torch.tensor(grid.times)[:, None, None])
        return torch.fft.irfft2(torch.fft.rfft2(first[..., 0])[:, None] * decay, s=grid.shape)[..., None]


@dataclass(frozen=True)
class ToySettings:
    sizes: Sizes = Sizes(resolution=8, frames=3, train=6, valid=2, test=4)
    scale: float = 1.0


class Toy(Dataset):
    name = "toy"
    title = "Toy heat"
    source = "made up"
    profiles = {"smoke": ToySettings(), "laptop": ToySettings(Sizes(8, 3, 12, 2, 5))}

    def equation(self):
        return Heat()

    def grid(self, frames):
        n = self.sizes.resolution
        return Grid((n, n), (1.0, 1.0), tuple(0.25 * i for i in range(frames)), "periodic")

    def simulate(self, split, indices, frames, device, dtype):
        seed = {"train": 0, "valid": 1000, "test": 2000}[split]
        n = self.sizes.resolution
        first = [torch.randn(n, n, 1, generator=torch.Generator().manual_seed(seed + i)) for i in indices]
        return self.settings.scale * self.equation().solve(torch.stack(first), None, self.grid(frames)), None


class LongToy(Toy):
    name = "toy_long"
    profiles = {"smoke": ToySettings(Sizes(8, 3, 6, 2, 4, long_frames=6))}


@dataclass(frozen=True)
class Optimiser:
    rate: float = 0.25
    momentum: float | None = None


@dataclass(frozen=True)
class LearnSettings:
    steps: int = 3
    save_every: int = 5
    optimiser: Optimiser = Optimiser()
    shift: float = 0.0  # of predictions


class Learn(Method):
    """Learns the mean field step by step with noise from its own generator; keeps checkpoints and resumes from them."""

    scope = "dataset"
    stochastic = True
    profiles = {"smoke": LearnSettings(), "laptop": LearnSettings(steps=4)}
    sampling_settings = ("shift",)
    budget_settings = ("steps",)

    def fit(self, train, valid, tasks, seed, run):
        log("fit", train.grid.shape, seed, ",".join(task.name for task in tasks))
        generator = torch.Generator().manual_seed(seed)
        mean, start = torch.zeros(train[:1].u.shape[1:]), 0
        path = run.folder / "checkpoint.pt"
        if path.exists():
            start, mean, state = torch.load(path)
            generator.set_state(state)
        for step in range(start, self.settings.steps):
            i = int(torch.randint(len(train), (), generator=generator))
            mean += self.settings.optimiser.rate * (train[i : i + 1].u[0] - mean)
            log("step", step)
            run.progress("fit", step / self.settings.steps)
            if (step + 1) % self.settings.save_every == 0:
                torch.save((step + 1, mean, generator.get_state()), path.with_suffix(".part"))
                os.replace(path.with_suffix(".part"), path)
        self.mean_ = mean
        return self

    def state(self):
        log("state")
        return super().state()

    def predict(self, problem, seed, samples=1):
        log("predict", len(problem), seed)
        mean = self.settings.shift + self.mean_[torch.arange(problem.values.shape[1]).clamp(max=len(self.mean_) - 1)]
        u = torch.where(problem.mask, problem.values, mean) + 1e-3 * torch.randn(samples, *problem.values.shape)
        return Prediction(u, evaluations=1.0, diagnostics={"misfit": [0.5] * len(problem)})

    def cost(self):
        return {"parameters": self.mean_.numel(), "steps": self.settings.steps}


class LearnTask(Learn):
    scope = "task"

    def unsupported(self, task, dataset):
        return "it cannot look back" if task.family == "inverse" else None


@dataclass(frozen=True)
class OddSettings:
    how: str = "fine"
    instances: int | None = None


class Odd(Method):
    """Goes wrong in the way its settings say."""

    scope = "instance"
    stochastic = True
    profiles = {"smoke": OddSettings()}

    def fit(self, train, valid, tasks, seed, run):
        raise AssertionError("a method of scope instance is not fitted")

    def predict(self, problem, seed, samples=1):
        log("predict", self.settings.how)
        print("odd was here")
        return getattr(self, self.settings.how)(problem, samples)

    def fine(self, problem, samples):
        return Prediction(problem.values.expand(samples, *problem.values.shape))

    def partial(self, problem, samples):
        u = problem.values.clone()[None]
        u[:, :, 0] = math.nan
        return Prediction(u, frames=(1, 2))

    def nan(self, problem, samples):
        u = problem.values.clone()
        u[1, 0, 0, 0] = math.nan
        return Prediction(u[None])

    def shape(self, problem, samples):
        return Prediction(problem.values[None, :, :2])

    def tensor(self, problem, samples):
        return problem.values

    def error(self, problem, samples):
        raise KeyError("lost")

    def leave(self, problem, samples):
        sys.exit("enough")

    def memory(self, problem, samples):
        resource.setrlimit(resource.RLIMIT_AS, (2**34, 2**34))
        return torch.empty(2**40)

    def python_memory(self, problem, samples):
        raise MemoryError

    def killed(self, problem, samples):
        os.kill(os.getpid(), signal.SIGKILL)

    def crash(self, problem, samples):
        os.write(2, b"a word before the end\n")
        os.kill(os.getpid(), signal.SIGSEGV)

    def slow(self, problem, samples):
        log("pid", os.getpid(), os.fork() or os.getpid())
        while True:
            time.sleep(1)


ODD = ("nan", "shape", "tensor", "error", "leave", "memory", "python_memory", "killed", "crash", "slow", "partial")
METHODS = {"learn": Learn, "learn_task": LearnTask, "odd": Odd}
METHODS |= {f"odd_{how}": type(f"Odd_{how}", (Odd,), {"profiles": {"smoke": OddSettings(how)}}) for how in ODD}
DATASETS = {"toy": Toy, "toy_long": LongToy}
