"""The classical reference for sparse data: kriging (Gaussian-process regression), all frames from all sensors at once.

The covariance is structured: modes of a basis that suits the boundary are uncorrelated, so the field is stationary but
for its walls. Kriging is the best linear predictor under that structure only; `linear` takes the full covariance of
the training videos. Means and variances of modes come from `train`; which of a few covariance models to use is chosen
by their error on `valid`, for the task at hand. Nothing is known of the equation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor

from benchmark.core import Grid, Method, Prediction, Problem, Run, Task, Trajectories, TrajectorySet
from methods.blocks.gaussian.bases import make_basis
from methods.blocks.gaussian.covariance import as_frames, as_video, estimate, isotropic
from methods.blocks.gaussian.process import Prior, Sensing, posterior
from methods.blocks.roll_out import keep_observed, roll_out


@dataclass(frozen=True)
class Settings:
    trajectories: int = 256  # of the training set, at most
    validation: int = 8  # trajectories of `valid` that choose the covariance model
    nugget: float = 1e-7  # on the diagonal, relative to it
    unknowns: int = 4096  # rows of one covariance matrix, at most


@dataclass(frozen=True)
class Candidate:
    """A covariance model: its basis, whether the variance depends on the site, and how direction counts (0: not)."""

    basis: str
    local: bool = False
    anisotropy: float = 0.0


CANDIDATES = {
    "periodic": (Candidate("fourier"), Candidate("fourier", anisotropy=0.5), Candidate("fourier", anisotropy=1.0)),
    "absorbing": (Candidate("cosine"), Candidate("cosine", local=True)),
    "dirichlet": (Candidate("cosine"), Candidate("cosine", local=True), Candidate("sine", anisotropy=1.0)),
}


CHUNK = 16  # trajectories predicted at once


class Kriging(Method):
    """The answer is the posterior mean; S > 1 are draws from the posterior (Matheron's rule) beside it."""

    kind = "reference"
    version = 2
    scope = "task"
    stochastic = True
    source = "Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006"
    profiles = {
        "smoke": Settings(trajectories=64, validation=4),
        "laptop": Settings(trajectories=1024),
        "paper": Settings(),
    }

    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self:
        best = torch.inf
        for i, prior in self._candidates(train, run.device):
            error = self._error(prior, valid, tasks, seed)
            if error < best or i == 0:
                best = error
                self.mean_, self.scale_, self.choice_ = prior.mean.float(), prior.scale.float(), torch.tensor(i)
                self.spectrum_ = prior.spectrum
        return self

    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction:
        prior = self.prior(problem.grid, problem.values.device)
        generator = None if samples == 1 else torch.Generator().manual_seed(seed)
        parts = [problem[i : i + CHUNK] for i in range(0, len(problem), CHUNK)]
        u = torch.cat([self._video(prior, part, samples, generator) for part in parts], dim=1)
        mean = None if samples == 1 else torch.cat([self._video(prior, part, 1, None) for part in parts], dim=1)[0]
        return Prediction(u, evaluations=0, point=mean)

    def prior(self, grid: Grid, device: torch.device) -> Prior:
        """The law of a video that was learned, on a device."""
        basis = make_basis(CANDIDATES[grid.boundary][int(self.choice_)].basis, grid, device)
        return Prior(basis, *(v.to(device).double() for v in (self.mean_, self.scale_, self.spectrum_)))

    def _candidates(self, train: TrajectorySet, device: torch.device) -> Iterator[tuple[int, Prior]]:
        for i, candidate in enumerate(CANDIDATES[train.grid.boundary]):
            basis = make_basis(candidate.basis, train.grid, device)
            prior = estimate(train, self.settings.trajectories, basis, candidate.local, device)
            smooth, w = isotropic(prior.spectrum, basis), candidate.anisotropy
            yield i, replace(prior, spectrum=w * prior.spectrum + (1 - w) * smooth)

    def _error(self, prior: Prior, valid: TrajectorySet, tasks: Sequence[Task], seed: int) -> float:
        """The mean relative error over tasks and valid trajectories; of each field, where the frames are fields."""
        truth = valid[: self.settings.validation].to(prior.mean.device)
        generators = [torch.Generator().manual_seed(seed + i) for i in range(len(truth))]
        problems = [task.observe(truth, generators) for task in tasks]
        errors = [relative_error(self._video(prior, p, 1, None)[0], truth, p).mean() for p in problems]
        return float(torch.stack(errors).mean()) if errors else 0.0

    def _video(self, prior: Prior, problem: Problem, samples: int, generator: torch.Generator | None) -> Tensor:
        frames = len(prior.mean) // problem.values.shape[-1]
        return in_windows(lambda part, count: self._window(prior, part, count, generator), problem, samples, frames)

    def _window(self, prior: Prior, problem: Problem, samples: int, generator: torch.Generator | None) -> Tensor:
        """The posterior mean, or draws: draws of the prior, corrected by what they get wrong at the sensors."""
        mask, noise = as_frames(problem.mask), problem.noise
        g = prior.standardise(as_frames(problem.values.double()))[:, None].repeat(1, samples, 1, 1, 1)
        start = torch.zeros_like(g)
        if generator is not None:
            start = prior.draw(len(g) * samples, generator).view_as(g)
            g = g - start - noise * torch.randn(g.shape, generator=generator, dtype=torch.float64).to(g)
        g = start + posterior(prior, g, mask, Sensing(self.settings.nugget, noise, self.settings.unknowns))
        video = as_video(prior.restore(g.transpose(0, 1)), problem.values.shape[-1]).to(problem.values.dtype)
        return keep_observed(video, problem)


def in_windows(answer: Callable[[Problem, int], Tensor], problem: Problem, samples: int, frames: int) -> Tensor:
    """Samples (S, B, T, H, W, C) of a model of `frames` frames, window by window where the video is longer."""
    if problem.values.shape[1] == frames:
        return answer(problem, samples)
    many = _repeat(problem, samples)  # each sample goes its own way
    return roll_out(lambda window: answer(window, 1)[0], many, frames).unflatten(0, (samples, -1))


def relative_error(u: Tensor, truth: Trajectories, problem: Problem) -> Tensor:
    """|u - truth| / |truth| of each video, (B,); of a steady problem the mean over its fields without a sensor, if any.

    That is what a method is scored on.
    """
    if truth.equation.time_order:
        return (u - truth.u).flatten(1).norm(dim=-1) / truth.u.flatten(1).norm(dim=-1).clamp(min=1e-30)
    unseen = ~problem.mask.flatten(2).any(2).any(0)  # (T,)
    chosen = unseen if unseen.any() else torch.ones_like(unseen)
    size = truth.u.flatten(2).norm(dim=-1).clamp(min=1e-30)
    return ((u - truth.u).flatten(2).norm(dim=-1) / size)[:, chosen].mean(1)


def _repeat(problem: Problem, count: int) -> Problem:
    values, mask = (v.repeat(count, 1, 1, 1, 1) for v in (problem.values, problem.mask))
    static = None if problem.static is None else problem.static.repeat(count, 1, 1, 1)
    return replace(problem, values=values, mask=mask, static=static)
