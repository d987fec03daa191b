"""What generative methods with one network share: learning from clips of trajectories, seeded samples, storing.

A subclass says how many consecutive frames it learns from (`clip`), which network (`build`), which loss (`losses`) and
how a video is sampled (`video`). One fit serves all tasks of a dataset.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Self

import torch
from torch import Tensor, nn

from benchmark.core import Grid, Method, Prediction, Problem, Run, Task, TrajectorySet
from methods.blocks.batches import ShuffledBatches, derived_seed
from methods.blocks.checkpoint import load_weights, tensors
from methods.blocks.normaliser import Normaliser
from methods.blocks.train import Validate, fit_loop

CLIP, NOISE = 8, 9  # streams of random numbers: where clips begin, what samples start from
NOMINAL = Grid((128, 128), (1.0, 1.0), tuple(map(float, range(20))), "periodic")

# -- training examples -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Clips:
    """Consecutive frames of trajectories, in physical units."""

    u: Tensor  # (B, F, H, W, C)
    static: Tensor | None  # (B, H, W, Cs)

    def __len__(self) -> int:
        return len(self.u)

    def __getitem__(self, index: slice) -> Clips:
        return Clips(self.u[index], None if self.static is None else self.static[index])

    def to(self, device: Any) -> Clips:
        return Clips(self.u.to(device), None if self.static is None else self.static.to(device))


class ClipBatches:
    """`size` clips of `frames` frames a step, each of another trajectory and from a random frame on."""

    def __init__(self, train: TrajectorySet, frames: int, size: int, seed: int):
        self.shuffled, self.frames, self.seed = ShuffledBatches(train, size, seed), frames, seed

    def __call__(self, step: int, rank: int = 0, world: int = 1) -> Clips:
        generator = torch.Generator().manual_seed(derived_seed(self.seed, step, rank, CLIP))
        return cut(self.shuffled.train, self.shuffled.indices(step, rank, world), self.frames, generator)


def cut(trajectories: TrajectorySet, indices: Sequence[int], frames: int, generator: torch.Generator) -> Clips:
    """A clip of each of the named trajectories."""
    part = trajectories[list(indices)]
    starts = torch.randint(part.u.shape[1] - frames + 1, (len(part), 1), generator=generator)
    return Clips(part.u[torch.arange(len(part))[:, None], starts + torch.arange(frames)], part.static)


# -- the method --------------------------------------------------------------------------------------------------------


class Generative(Method):
    """Its settings have `training`, `validation` (clips of `valid`) and `chunk` (trajectories sampled at once)."""

    scope = "dataset"

    net_: Any
    normaliser_: Normaliser

    @abstractmethod
    def clip(self, frames: int) -> int:
        """Frames of a training example, cut out of trajectories of `frames`."""

    @abstractmethod
    def build(self, channels: int, static: int, grid: Grid) -> nn.Module:
        """The network for fields of so many channels and coefficients."""

    @abstractmethod
    def losses(self, network: nn.Module, clips: Clips, draws: torch.Generator) -> Tensor:
        """Of each training example: (B,)."""

    @abstractmethod
    def video(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        """One sample of each trajectory, in physical units (B, T, H, W, C), from the noise of its own generator."""

    @abstractmethod
    def evaluations(self, frames: int) -> int:
        """Of the network, for one sample of a trajectory."""

    # -- learning

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        s = self.settings
        self.normaliser_ = Normaliser.fit(train).to(run.device)
        self.noise_ = torch.tensor(max((float(getattr(task, "noise", 0.0)) for task in tasks), default=0.0))
        self.prepare(train, tasks)
        self._build(train, seed)
        batches = ClipBatches(train, self.clip(self.frames), s.training.batch, seed)
        validate = self._validation(valid) if s.validation and len(valid) else None
        progress = fit_loop(self.net_, self._loss, batches, s.training, run, seed, validate)
        self.steps_ = torch.tensor(progress.steps)
        return self

    def prepare(self, train: TrajectorySet, tasks: Sequence[Task]) -> None:
        """Anything else a subclass learns, before the network is trained."""

    def _build(self, train: TrajectorySet, seed: int) -> None:
        first = train[:1]
        self.grid, self.equation, self.frames = train.grid, train.equation, first.u.shape[1]
        static = 0 if first.static is None else first.static.shape[-1]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.net_ = self.build(first.u.shape[-1], static, train.grid)

    def _loss(self, network: nn.Module, clips: Clips, draws: torch.Generator) -> Tensor:
        return self.losses(network, clips, draws).mean()

    def _validation(self, valid: TrajectorySet) -> Validate:
        """The loss at fixed clips and fixed noise."""
        s, generator = self.settings, torch.Generator().manual_seed(0)
        examples = cut(valid, [i % len(valid) for i in range(s.validation)], self.clip(self.frames), generator)

        def validate(model: nn.Module) -> float:
            device = next(model.parameters()).device
            draws = torch.Generator(device).manual_seed(0)
            parts = [examples[i : i + s.training.batch] for i in range(0, len(examples), s.training.batch)]
            return float(torch.cat([self.losses(model, part.to(device), draws) for part in parts]).mean())

        return validate

    # -- predicting

    @torch.no_grad()
    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        """Sample s of trajectory i starts from noise of its own, seeded by (seed, s, i) whatever else is predicted."""
        places = list(product(range(samples), range(len(problem))))
        device, videos = next(self.net_.parameters()).device, []
        for start in range(0, len(places), self.settings.chunk):
            chunk = places[start : start + self.settings.chunk]
            generators = [torch.Generator().manual_seed(derived_seed(seed, *place, NOISE)) for place in chunk]
            part = _pick(problem, [i for _, i in chunk]).to(device)
            videos.append(self._put_back(self._sample(part, generators), part))
        u = torch.cat(videos).unflatten(0, (samples, -1)).to(problem.values)
        return Prediction(u, evaluations=self.evaluations(problem.values.shape[1]))

    def _sample(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        kind = problem.values.device.type
        bf16 = kind == "cuda" and self.settings.training.precision == "bf16-mixed"
        with torch.autocast(kind, torch.bfloat16, enabled=bf16):
            return self.video(problem, generators)

    def _put_back(self, video: Tensor, problem: Problem) -> Tensor:
        """What was observed is known, unless it is noisy."""
        return video if self.noise_ > 0 else torch.where(problem.mask, problem.values, video)

    def static(self, clips: Clips | Problem) -> Tensor | None:
        """Coefficient fields in normalised units, channels first: (B, Cs, H, W)."""
        return None if clips.static is None else self.normaliser_.encode_static(clips.static).movedim(-1, 1)

    # -- storing

    def state(self) -> dict[str, Tensor]:
        weights = {f"net.{name}": value for name, value in tensors(self.net_).items()}
        scales = {f"normaliser.{name}": value for name, value in self.normaliser_.state().items()}
        return weights | scales | super().state()

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        self._build(train, seed=0)
        weights = _under("net.", state)
        load_weights(self.net_, weights)
        self.net_.to(next(iter(weights.values())).device).eval()
        self.normaliser_ = Normaliser.restore(_under("normaliser.", state))
        return super().restore({name: value for name, value in state.items() if name.endswith("_")}, train)

    def cost(self) -> dict[str, float]:
        if hasattr(self, "net_"):
            return {"parameters": count(self.net_), "steps": int(self.steps_)}
        return {"parameters": self.parameters(), "steps": 0}

    def parameters(self, grid: Grid = NOMINAL) -> int:
        """Of the network for one channel, without memory."""
        with torch.device("meta"):
            return count(self.build(1, 0, grid))


def draw_noise(shape: Sequence[int], generators: Sequence[torch.Generator], device: Any) -> Tensor:
    """Standard normal (B, *shape), each element from its own generator."""
    return torch.stack([torch.randn(*shape, generator=g) for g in generators]).to(device)


def count(net: nn.Module) -> int:
    """Real numbers to learn: a complex weight is two."""
    return sum(p.numel() * (2 if p.is_complex() else 1) for p in net.parameters())


def _pick(problem: Problem, indices: list[int]) -> Problem:
    static = None if problem.static is None else problem.static[indices]
    return replace(problem, values=problem.values[indices], mask=problem.mask[indices], static=static)


def _under(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
