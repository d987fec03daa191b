"""What all methods with a network share: what they note of their tasks, long videos, storing, counting.

`Sampled` adds what the generative ones share: samples that start from noise of their own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from benchmark.core import Grid, Method, Prediction, Problem, Task, Trajectories, TrajectorySet
from methods.blocks.normaliser import Normaliser
from methods.blocks.rollout import WINDOWS, rollout, windows
from methods.blocks.training.batches import derived_seed
from methods.blocks.training.checkpoint import load_weights, tensors

NOISE = 4  # the stream of random numbers that samples start from
NOMINAL = Grid((128, 128), (1.0, 1.0), tuple(map(float, range(20))), "periodic")  # what an unfitted network is for


class Networked(Method):
    """A subclass makes `net_` in `build_for` and trains it in `fit`."""

    net_: Any
    normaliser_: Normaliser
    noise_: Tensor  # of the sensors
    window_: Tensor  # the rule for long videos, an index of WINDOWS
    steps_: Tensor
    frames: int  # of the videos it was trained on

    @abstractmethod
    def build_for(self, train: TrajectorySet) -> None:
        """An untrained `net_` for videos like those of the training set, from the global random numbers."""

    @abstractmethod
    def parameters(self) -> int:
        """Of an untrained network for one channel, without memory."""

    def build(self, train: TrajectorySet, seed: int) -> None:
        self.frames = len(train.grid.times)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.build_for(train)

    # -- what the tasks ask for

    def note(self, tasks: Sequence[Task]) -> None:
        self.noise_ = torch.tensor(max((task.noise for task in tasks), default=0.0))
        rules = [WINDOWS.index(task.roll_out) for task in tasks]
        self.window_ = torch.tensor(max(rules, default=0))

    def put_back(self, video: Tensor, problem: Problem) -> Tensor:
        """What was observed is known, unless it is noisy."""
        return video if self.noise_ > 0 else torch.where(problem.mask, problem.values, video)

    def covered(self, window: Callable[[Problem], Tensor], problem: Problem) -> Tensor:
        """Window by window where the video is longer than those of the training set."""
        if problem.values.shape[1] == self.frames:
            return window(problem)
        return rollout(window, problem, self.frames, WINDOWS[int(self.window_)])

    def windows(self, frames: int) -> int:
        """That cover a video of so many frames."""
        return windows(frames, self.frames, WINDOWS[int(self.window_)])

    def static(self, problem: Any) -> Tensor | None:
        """Coefficient fields in normalised units, (B, H, W, Cs)."""
        return None if problem.static is None else self.normaliser_.encode_static(problem.static)

    # -- storing

    def state(self) -> dict[str, Tensor]:
        weights = {f"net.{name}": value for name, value in tensors(self.net_).items()}
        scales = {f"normaliser.{name}": value for name, value in self.normaliser_.state().items()}
        return weights | scales | super().state()

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        super().restore({name: value for name, value in state.items() if name.endswith("_")}, train)
        self.normaliser_ = Normaliser.restore(under("normaliser.", state))
        self.build(train, seed=0)
        weights = under("net.", state)
        load_weights(self.net_, weights)
        self.net_.to(next(iter(weights.values())).device).eval()
        return self

    def cost(self) -> dict[str, float]:
        if hasattr(self, "net_"):
            return {"parameters": count(self.net_), "steps": int(self.steps_)}
        return {"parameters": self.parameters(), "steps": 0}


class Sampled(Networked):
    """Sample s of trajectory i starts from noise of its own, seeded by (seed, s, i), whatever else is predicted.

    Its settings have `training` and `chunk`, the trajectories sampled at once.
    """

    mixed: ClassVar[bool] = True  # sample in the precision of the training; else in float32

    @abstractmethod
    def video(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        """One sample of each trajectory, in physical units (B, T, H, W, C), from the noise of its own generator."""

    @abstractmethod
    def evaluations(self, problem: Problem) -> int:
        """Of the network, for one sample of a trajectory."""

    def answered(self, problem: Problem) -> tuple[int, ...] | None:
        """The frames that a prediction is scored on; None: all."""
        return None

    @torch.no_grad()
    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        places = list(product(range(samples), range(len(problem))))
        device, videos = next(self.net_.parameters()).device, []
        for start in range(0, len(places), self.settings.chunk):
            chunk = places[start : start + self.settings.chunk]
            generators = [torch.Generator().manual_seed(derived_seed(seed, *place, NOISE)) for place in chunk]
            part = pick(problem, [i for _, i in chunk]).to(device)
            bf16 = self.mixed and device.type == "cuda" and self.settings.training.precision == "bf16-mixed"
            with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
                video = self.video(part, generators)
            videos.append(self.put_back(video, part))
        u = torch.cat(videos).unflatten(0, (samples, -1)).to(problem.values)
        return Prediction(u, self.answered(problem), self.evaluations(problem))


def draw_noise(shape: Sequence[int], generators: Sequence[torch.Generator], device: Any) -> Tensor:
    """Standard normal (B, *shape), each element from its own generator."""
    return torch.stack([torch.randn(*shape, generator=g) for g in generators]).to(device)


def pick(problem: Problem, indices: list[int]) -> Problem:
    static = None if problem.static is None else problem.static[indices]
    return replace(problem, values=problem.values[indices], mask=problem.mask[indices], static=static)


def static_channels(first: Trajectories) -> int:
    return 0 if first.static is None else first.static.shape[-1]


def under(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The part of a state whose names begin so, without the prefix."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def count(net: nn.Module) -> int:
    """Real numbers to learn: a complex weight is two."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in net.parameters())
