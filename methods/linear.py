"""The linear reference: the best linear predictor under the full sample covariance of the training videos (gappy POD).

    u = m + C_uo (C_oo + nugget)^-1 (y - m_o),    C = (1 - w) C_sample + w C_kriging

No structure is assumed but what kriging's covariance lends where samples are too few. The weight w and the nugget are
chosen by their error on `valid`, for the task at hand. Nothing is known of the equation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Self

import torch
from torch import Tensor

from benchmark.core import Grid, Method, Prediction, Problem, Run, Task, Trajectories, TrajectorySet
from methods import kriging
from methods.blocks.gaussian.covariance import as_frames, as_video
from methods.blocks.gaussian.process import Prior
from methods.blocks.gaussian.samples import Blend, Readings, Samples, Shrinkage, collect, same_masks
from methods.blocks.roll_out import keep_observed

WEIGHTS = (0.0, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0)
NUGGETS = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
CANDIDATES = tuple(Shrinkage(w, n) for w, n in product(WEIGHTS, NUGGETS))


@dataclass(frozen=True)
class Settings:
    videos: int = 4096  # of the training set, at most
    entries: int = 1 << 29  # of the matrix that holds them: larger sets are cut to their leading principal components
    unknowns: int = 4096  # readings of one mask, at most; of more a random part is used
    validation: int = 8  # trajectories of `valid` that choose weight and nugget
    kriging: kriging.Settings = field(default_factory=kriging.Settings)


class Linear(Method):
    """The answer is the posterior mean; S > 1 are draws from the posterior (Matheron's rule) beside it."""

    kind = "reference"
    scope = "task"
    parts = (kriging.Kriging,)
    stochastic = True
    source = "Everson and Sirovich, Karhunen-Loeve procedure for gappy data, J. Opt. Soc. Am. A, 1995"
    profiles = {
        "smoke": Settings(validation=4, kriging=kriging.Kriging.profiles["smoke"]),
        "laptop": Settings(validation=32, kriging=kriging.Kriging.profiles["laptop"]),
        "paper": Settings(kriging=kriging.Kriging.profiles["paper"]),
    }

    samples_: Samples  # no part of the state: read again from the training set

    def __init__(self, settings: Any):
        super().__init__(settings)
        self.kriging = kriging.Kriging(settings.kriging)

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        self.kriging = kriging.Kriging(self.settings.kriging).fit(train, valid, tasks, seed, run)
        self.samples_ = self._collect(train, run.device)
        prior = self.kriging.prior(train.grid, run.device)
        truth = valid[: self.settings.validation].to(run.device)
        errors = torch.zeros(len(CANDIDATES), dtype=torch.float64)
        for task in tasks if len(truth) else ():
            generators = [torch.Generator().manual_seed(seed + i) for i in range(len(truth))]
            errors += self._errors(prior, truth, task.observe(truth, generators))
        self.shrinkage_ = torch.tensor(CANDIDATES[int(errors.argmin())], dtype=torch.float64)
        return self

    def state(self) -> dict[str, Tensor]:
        return self.kriging.state() | {"shrinkage_": self.shrinkage_}

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        self.shrinkage_ = state["shrinkage_"]
        structured = {name: value for name, value in state.items() if name != "shrinkage_"}
        self.kriging = kriging.Kriging(self.settings.kriging).restore(structured, train)
        self.samples_ = self._collect(train, self.shrinkage_.device)
        return self

    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        law = self.law(problem.grid, problem.values.device)
        mean = self._videos(law, problem, 1, None)
        if samples == 1:
            return Prediction(mean, evaluations=0)
        draws = self._videos(law, problem, samples, torch.Generator().manual_seed(seed))
        return Prediction(draws, evaluations=0, point=mean[0])

    def _videos(self, law: Blend, problem: Problem, samples: int, generator: torch.Generator | None) -> Tensor:
        """(S, B, T, H, W, C): the posterior mean, or draws."""
        frames = len(law.mean) // problem.values.shape[-1]
        videos = [
            kriging.in_windows(lambda part, count: self._window(law, part, count, generator), part, samples, frames)
            for part in (problem[i : i + kriging.CHUNK] for i in range(0, len(problem), kriging.CHUNK))
        ]
        return torch.cat(videos, dim=1)

    def law(self, grid: Grid, device: torch.device) -> Blend:
        """The law of a video that was learned, on a device."""
        samples = Samples(*(v.to(device) for v in self.samples_))
        return Blend(samples, self.kriging.prior(grid, device), Shrinkage(*self.shrinkage_.tolist()))

    def _collect(self, train: TrajectorySet, device: torch.device) -> Samples:
        rank = max(1, self.settings.entries // train[:1].u.numel())
        return collect(train, self.settings.videos, rank, device)

    def _errors(self, prior: Prior, truth: Trajectories, problem: Problem) -> Tensor:
        """The mean relative error of each candidate, (candidates,); those of one mask share its covariances."""
        errors = []
        for who, sites in self._masks(prior, problem):
            readings, part = Readings(self.samples_, prior, sites), problem[who]
            laws = (Blend(self.samples_, prior, shrinkage) for shrinkage in CANDIDATES)
            videos = (keep_observed(_mean_video(law, readings, part), part) for law in laws)
            errors.append(torch.stack([kriging.relative_error(video, truth[who], part).sum() for video in videos]))
        return torch.stack(errors).sum(0).double().cpu() / len(truth)

    def _window(self, law: Blend, problem: Problem, samples: int, generator: torch.Generator | None) -> Tensor:
        """The posterior mean, or draws: draws of the prior, corrected by what they get wrong at the sensors."""
        videos = []
        for who, sites in self._masks(law.structured, problem):
            readings, part = Readings(law.samples, law.structured, sites), problem[who]
            if generator is None:
                video = _mean_video(law, readings, part)[None]
            else:
                video = _drawn_videos(law, readings, part, samples, generator)
            videos.append(keep_observed(video, part))
        return torch.cat(videos, dim=1)

    def _masks(self, prior: Prior, problem: Problem) -> Iterator[tuple[slice, Tensor]]:
        seen = as_frames(problem.mask) & prior.basis.inside
        return same_masks(seen, self.settings.unknowns, apart=problem.noise > 0)


def _mean_video(law: Blend, readings: Readings, problem: Problem) -> Tensor:
    """The posterior mean (B, T, H, W, C) of trajectories with the same mask."""
    y = as_frames(problem.values.double()) - law.mean
    return _as_video(law.mean + _explain(law, readings, y, _noise(problem)), problem)


def _drawn_videos(law: Blend, readings: Readings, problem: Problem, samples: int, generator: torch.Generator) -> Tensor:
    """Draws from the posterior, (S, B, T, H, W, C)."""
    start, noise = law.draw(samples * len(problem), generator), _noise(problem)
    error = torch.randn(start.shape, generator=generator, dtype=torch.float64).to(start)
    y = (as_frames(problem.values.double()) - law.mean).repeat(samples, 1, 1, 1) - start - noise * error
    return _as_video(law.mean + start + _explain(law, readings, y, noise), problem).unflatten(0, (samples, -1))


def _explain(law: Blend, readings: Readings, y: Tensor, noise: Tensor) -> Tensor:
    """What readings y, videos (R, T, H, W) of which the observed sites count, say of all sites."""
    variance = noise.expand(1, *y.shape[1:]).flatten()[readings.sites].square()
    alpha = readings.weights(y.flatten(1)[:, readings.sites], law.shrinkage, variance)
    return readings.spread(alpha, law.shrinkage)


def _as_video(f: Tensor, problem: Problem) -> Tensor:
    return as_video(f, problem.values.shape[-1]).to(problem.values.dtype)


def _noise(problem: Problem) -> Tensor:
    """The standard deviation of the first trajectory's noise, (1, T C or 1, 1, 1), from its noisy readings.

    It is `problem.noise` of that of the exact readings, in a steady problem of each field's, so that the noisy ones
    have 1 + noise^2 times their variance.
    """
    y, mask = as_frames(problem.values[:1].double()), as_frames(problem.mask[:1])
    axes = (2, 3) if problem.equation.time_order == 0 else (1, 2, 3)
    count = mask.sum(axes, keepdim=True).clamp(min=1)
    mean = torch.where(mask, y, 0).sum(axes, keepdim=True) / count
    variance = torch.where(mask, y - mean, 0).square().sum(axes, keepdim=True) / count
    return problem.noise * (variance / (1 + problem.noise**2)).sqrt()
