"""The one base of all learned methods: there is one `fit` and one `predict`, and a method supplies four things.

    examples   what it learns from               network   for videos of a shape
    losses     of each training example          answer    to a problem, from noise of its own

A fit is normally one stage. A method that trains several networks yields several `stages`; what it writes behind a
`yield` happens when that network is trained.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Memory, Method, Prediction, Problem, Run, Task, TrajectorySet, Work
from benchmark.core.keeper import Part
from methods.blocks.conditioning import ObservedFrames, Shape, known_fields
from methods.blocks.memory import memory_of
from methods.blocks.normaliser import Normaliser
from methods.blocks.roll_out import keep_observed, roll_out, windows
from methods.blocks.training.batches import Stream, generator
from methods.blocks.training.budget import MEMORY
from methods.blocks.training.checkpoint import load_weights, tensors
from methods.blocks.training.examples import Examples, Observations
from methods.blocks.training.loop import Stage
from methods.blocks.training.optimiser import Group
from methods.blocks.training.symmetry import Symmetries
from methods.blocks.training.symmetry_search import find_symmetries
from methods.blocks.work import fit_work, prediction_work

SYMMETRIES = "training examples turned by the equation's symmetries"
COORDINATES = "coordinates as input"
NEAREST = "sparse frames filled from the nearest sensor"


class Learned(Method):
    """Its settings have `training`, `validation` (examples of `valid`), `chunk` (videos predicted at once) and the two
    aids that all or none should have where methods are compared: `symmetries`, to train on what the equation's
    symmetries make of the training set too, and `coordinates`, as known channels."""

    memory_settings = ("chunk", *(f"training.{name}" for name in MEMORY))
    budget_settings = ("training.steps",)
    shares_fits = True
    stochastic = True
    nearest: ClassVar[bool] = False  # sparse frames are filled from the nearest sensor
    conditional: ClassVar[bool] = False  # samples by `edm` from the law given what is seen: one step is an answer too
    autocast: ClassVar[bool] = True  # predict in the precision of the training; else in float32

    net_: Any
    normaliser_: Normaliser
    shape_: Shape  # of the videos it was trained on
    observed_: Tensor  # (T,) which frames the training tasks show, see `ObservedFrames.state`
    steps_: Tensor  # (stages,)
    flop_: Tensor  # (stages,) of the training steps; 0: not counted

    # -- what a method supplies

    @abstractmethod
    def network(self, shape: Shape) -> nn.Module:
        """Untrained, from the global random numbers."""

    @abstractmethod
    def losses(self, network: nn.Module, batch: Any, draws: torch.Generator) -> Tensor:
        """Of each training example: (B,). `draws` is on the device of the batch."""

    @abstractmethod
    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        """To a problem of `reach` frames, (B, T, H, W, C) in physical units, each from its generator."""

    @abstractmethod
    def evaluations(self, problem: Problem) -> int:
        """Of the network, for one sample of one window of a trajectory."""

    def examples(self, train: TrajectorySet, tasks: Sequence[Task]) -> Examples:
        return Observations(tasks, self.settings.training.dense_steps)

    # -- what a method may change

    def errors(self, network: nn.Module, batch: Any, draws: torch.Generator) -> Tensor:
        """What is validated, of each example: (B,)."""
        return self.losses(network, batch, draws)

    def model(self) -> nn.Module:
        """What is trained around the network."""
        return self.net_

    def groups(self) -> Sequence[Group] | None:
        """Parameters that the optimiser treats alike; None: by their number of axes."""
        return None

    def stages(
        self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], device: torch.device
    ) -> Iterator[Stage]:
        s, examples = self.settings, self.examples(train, tasks)
        yield Stage(self.model(), examples, self.losses, s.training, s.validation, self.errors, self.groups())

    def frames(self, problem: Problem) -> tuple[int, ...] | None:
        """Those that a prediction is scored on; None: all."""
        return None

    def reach(self, problem: Problem) -> int:
        """Frames of it that one answer covers; the rest is rolled out."""
        return self.shape_.frames

    def aids(self, task: Task) -> tuple[str, ...]:
        s = self.settings
        found = {SYMMETRIES: s.symmetries, COORDINATES: s.coordinates, NEAREST: self.nearest and task.is_sparse}
        return tuple(aid for aid, has in found.items() if has)

    # -- fit and predict

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        self.normaliser_ = Normaliser.fit(train).to(run.device)
        self.observed_ = ObservedFrames.of(tasks, train.grid).state(len(train.grid.times))
        self.build(train, seed)
        symmetries = find_symmetries(train) if self.settings.symmetries else Symmetries()
        stages = self.stages(train, valid, tasks, run.device)
        ends = [stage.fit(train, valid, seed, run, symmetries) for stage in stages]
        self.steps_ = torch.tensor([end.steps for end in ends])
        self.flop_ = torch.tensor([end.steps * end.step_flop for end in ends])
        return self

    def build(self, train: TrajectorySet, seed: int) -> None:
        self.shape_ = Shape.of(train, ObservedFrames.restore(self.observed_), self.settings.coordinates)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.net_ = self.network(self.shape_)

    @torch.no_grad()
    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        """Sample s of trajectory i has a generator of its own, seeded by (seed, s, i), whatever else is predicted."""
        samples = samples if self.stochastic else 1
        places, size = list(product(range(samples), range(len(problem)))), self.settings.chunk
        chunks = [places[start : start + size] for start in range(0, len(places), size)]
        device, training = next(self.net_.parameters()).device, self.settings.training
        bf16 = self.autocast and device.type == "cuda" and training.precision == "bf16-mixed"

        def videos(chunk: Sequence[tuple[int, int]]) -> Part:
            generators = [generator(seed, *place, Stream.SAMPLE) for place in chunk]
            part = pick(problem, [i for _, i in chunk]).to(device)
            with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
                return {"u": self._video(part, generators)}

        parts = self.keeper.each(chunks, videos, training.checkpoint_seconds)
        u = torch.cat([part["u"] for part in parts]).unflatten(0, (samples, -1)).to(problem.values)
        evaluations = self.evaluations(problem) * windows(problem, self.reach(problem))
        return Prediction(u, self.frames(problem), evaluations)

    def one_step(self, problem: Problem, seed: int) -> Prediction | None:
        """D(x, sigma_max): from noise that hides everything, the mean of what is possible."""
        if not self.conditional:
            return None
        once = copy(self)
        once.settings = replace(self.settings, edm=replace(self.settings.edm, steps=1))
        return once.predict(problem, seed)

    def _video(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        """Window by window where the video is longer than an answer reaches; what was observed stays."""

        def window(part: Problem) -> Tensor:
            return keep_observed(self.answer(part, generators), part)

        return roll_out(window, problem, self.reach(problem))

    def fields(self, static: Tensor | None, like: Tensor) -> Tensor:
        """What does not change in time, for a batch like this one and its coefficients, (B, H, W, K)."""
        return known_fields(static, self.normaliser_, self.shape_.grid, like, self.settings.coordinates)

    # -- storing and counting

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

    def parameters(self, task: Task, dataset: Dataset) -> int:
        shape = Shape.planned(task, dataset, self.settings.coordinates)
        with torch.device("meta"):
            return count(self.network(shape))

    def memory(self, task: Task, tasks: Sequence[Task], dataset: Dataset, videos: int) -> Memory:
        return memory_of(self, task, tasks, dataset, videos)

    def fit_work(self, tasks: Sequence[Task], dataset: Dataset) -> Work:
        return fit_work(self, tasks, dataset)

    def prediction_work(self, task: Task, tasks: Sequence[Task], dataset: Dataset, frames: int) -> Work:
        return prediction_work(self, task, tasks, dataset, frames)

    def cost(self) -> dict[str, float]:
        counted = {"fit_flop": int(self.flop_.sum())} if self.flop_.all() else {}
        return {"parameters": count(self.net_), "steps": int(self.steps_.sum()), **counted}


def pick(problem: Problem, indices: list[int]) -> Problem:
    static = None if problem.static is None else problem.static[indices]
    return replace(problem, values=problem.values[indices], mask=problem.mask[indices], static=static)


def under(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The part of a state whose names begin so, without the prefix."""
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def count(net: nn.Module) -> int:
    """Real numbers to learn: a complex weight is two."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in net.parameters())
