"""What DiffusionPDE and its extension share: learning priors over pairs of frames, storing them, guided sampling."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from benchmark.core import Grid, Method, Prediction, Problem, Run, Task, TrajectorySet
from methods.blocks.batches import derived_seed
from methods.blocks.budget import Training
from methods.blocks.checkpoint import load_weights, tensors
from methods.blocks.edm import Denoise, karras_sigmas
from methods.blocks.guidance import Term, sample_guided
from methods.blocks.normaliser import SIGMA_DATA, Normaliser
from methods.diffusionpde.prior import PairNet, Pairs, fit_prior, make_net
from methods.diffusionpde.settings import Settings
from methods.diffusionpde.terms import residual_size
from methods.diffusionpde.weights import Weights, weights_for

NOISE = 7  # the stream of random numbers that samples start from


@dataclass(frozen=True)
class Plan:
    """A guided sampling: of n fields or pairs a trajectory."""

    shape: tuple[int, ...]  # (n, ...) of one trajectory's noise
    denoise: Denoise
    terms: Sequence[Term]


class PairMethod(Method):
    """Priors over pairs of frames: learning them, storing them, and the noise that samples start from."""

    scope = "dataset"
    version = 1
    profiles: ClassVar[Mapping[str, Any]]

    nets_: nn.ModuleDict
    normaliser_: Normaliser

    @abstractmethod
    def models(self, frames: int) -> dict[str, Pairs]:
        """The networks by name, each with the pairs it is trained on."""

    @abstractmethod
    def residual_frames(self, frames: int) -> int:
        """How many frames the equation's residual is taken of."""

    # -- learning

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        s: Settings = self.settings
        self.normaliser_ = Normaliser.fit(train).to(run.device)
        self.noise_ = torch.tensor(max((float(getattr(task, "noise", 0.0)) for task in tasks), default=0.0))
        self.residual_size_ = torch.tensor(residual_size(train, self.residual_frames(len(train.grid.times))))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self._build(train)
        models, steps = self.models(self.frames), 0
        for name, pairs in models.items():
            net, training, own = self.nets_[name], _share(s.training, len(models)), _apart(run, name, len(models))
            scales = self.normaliser_
            steps += fit_prior(net, pairs, train, valid, scales, s.edm, training, own, seed, s.validation).steps  # pyright: ignore[reportArgumentType]
        self.steps_ = torch.tensor(steps)
        return self

    def _build(self, train: TrajectorySet) -> None:
        s: Settings = self.settings
        self.frames = len(train.grid.times)
        nets = {k: make_net(train, p.kinds, s.architecture, s.circular) for k, p in self.models(self.frames).items()}
        self.nets_ = nn.ModuleDict(nets)

    # -- predicting

    @torch.no_grad()
    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        """Sample s of trajectory i starts from noise of its own, seeded by (seed, s, i) whatever else is predicted."""
        if problem.values.shape[1] != self.frames:
            raise ValueError(f"problem: expected {self.frames} frames, got {problem.values.shape[1]}")
        places = list(product(range(samples), range(len(problem))))
        device, videos = next(self.nets_.parameters()).device, []
        for start in range(0, len(places), self.settings.chunk):
            chunk = places[start : start + self.settings.chunk]
            generators = [torch.Generator().manual_seed(derived_seed(seed, *place, NOISE)) for place in chunk]
            part = _pick(problem, [i for _, i in chunk]).to(device)
            video = self.video(part, generators)
            videos.append(video if self.noise_ > 0 else torch.where(part.mask, part.values, video))
        u = torch.cat(videos).unflatten(0, (samples, -1)).to(problem.values)
        return Prediction(u, self.answered(problem), self.evaluations(problem))

    def video(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        """(B, T, H, W, C) in physical units, one generator a trajectory."""
        edm, plan = self.settings.edm, self.prepare(problem)
        noise = torch.cat([torch.randn(plan.shape, generator=g) for g in generators]).to(problem.values.device)
        x = edm.sigma_max * noise  # (B n, ...)
        x = sample_guided(plan.denoise, x, karras_sigmas(edm), plan.terms, self.settings.guidance, edm.sampler)
        return self.finish(self.normaliser_.decode(x), problem)

    @abstractmethod
    def prepare(self, problem: Problem) -> Plan:
        """What is to be sampled."""

    @abstractmethod
    def finish(self, u: Tensor, problem: Problem) -> Tensor:
        """What was sampled, in physical units (B n, ...) -> (B, T, H, W, C)."""

    def answered(self, problem: Problem) -> tuple[int, ...] | None:
        """The frames that a prediction is scored on; None: all."""
        return None

    @abstractmethod
    def evaluations(self, problem: Problem) -> int:
        """Of networks, each of one pair, for a trajectory."""

    def calls(self) -> int:
        """Evaluations of one pair."""
        edm = self.settings.edm
        return 2 * edm.steps - 1 if edm.sampler == "heun" else edm.steps

    def weights(self, equation: str, grid: Grid) -> Weights:
        """In normalised units, with the factors of the settings."""
        s, w = self.settings, weights_for(self.settings.table, equation)
        first = second = pde = 1.0
        if w.physical:
            units = (self.normaliser_.std / SIGMA_DATA).flatten(1).mean(1).tolist()  # (1,) or, of two fields, (2,)
            first, second, pde = units[0], units[-1], float(self.residual_size_)
            if s.guidance.loss == "mean_square":
                first, second, pde = first**2, second**2, pde**2
            else:
                pde /= grid.shape[0] * grid.shape[1]
        seen, law = s.observation, s.physics
        return Weights(first * seen * w.first, second * seen * w.second, pde * law * w.pde, physical=False)

    def static(self, problem: Problem) -> Tensor | None:
        return None if problem.static is None else self.normaliser_.encode_static(problem.static)

    # -- storing

    def state(self) -> dict[str, Tensor]:
        weights = {f"net.{name}": value for name, value in tensors(self.nets_).items()}
        scales = {f"normaliser.{name}": value for name, value in self.normaliser_.state().items()}
        return weights | scales | super().state()

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        with torch.random.fork_rng(devices=[]):
            self._build(train)
        weights = _under("net.", state)
        load_weights(self.nets_, weights)
        self.nets_.to(next(iter(weights.values())).device).eval()
        self.normaliser_ = Normaliser.restore(_under("normaliser.", state))
        return super().restore({name: value for name, value in state.items() if name.endswith("_")}, train)

    def cost(self) -> dict[str, float]:
        if hasattr(self, "nets_"):
            return {"parameters": count(self.nets_), "steps": int(self.steps_)}
        return {"parameters": self.parameters(), "steps": 0}

    def parameters(self, frames: int = 20, size: int = 128) -> int:
        """Of the networks for one channel, without building them."""
        grid = Grid((size, size), (1.0, 1.0), tuple(map(float, range(frames))), "periodic")
        with torch.device("meta"):
            nets = [PairNet(1, 0, p.kinds, grid, self.settings.architecture) for p in self.models(frames).values()]
        return sum(map(count, nets))


def count(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


def _share(training: Training, parts: int) -> Training:
    """The budget of one of several fits."""
    seconds = None if training.seconds is None else training.seconds / parts
    return replace(training, steps=max(1, training.steps // parts), seconds=seconds)


def _apart(run: Run, name: str, parts: int) -> Run:
    return run if run.folder is None or parts == 1 else replace(run, folder=run.folder / name)


def _pick(problem: Problem, indices: list[int]) -> Problem:
    static = None if problem.static is None else problem.static[indices]
    return replace(problem, values=problem.values[indices], mask=problem.mask[indices], static=static)


def _under(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
