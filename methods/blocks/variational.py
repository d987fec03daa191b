"""4D-Var: the first frame that fits all observations through the solver best.

    J(x) = 1/2 |x|^2 + 1/2 sum over readings of |solve(first(x)) - y|^2 / sigma^2

Readings are nearly exact, so J is a narrow valley, and through chaotic flow a winding one with many dead ends. So there
are two starts: all readings at once with a large sigma, and a window that grows frame by frame (quasi-static: Pires,
Vautard and Talagrand, Tellus A, 1996); the one of less J a few stages later goes on. Sigma falls by half decades: whole
ones lose the valley long before the misfit shows it. At each stage the readings' derivatives H (one adjoint run each)
give the Gauss-Newton inverse Hessian, where L-BFGS starts:

    (1 + H^T H)^-1 = 1 - H^T (1 + H H^T)^-1 H,    H = d reading / d x / sigma.

Of many readings H takes a random part, weighted up. A trajectory whose readings a stage cannot fit keeps the frame of
the stage before, takes no part in later ones and is not converged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from benchmark.core import Problem
from methods.blocks.gaussian.first_frame import FirstFrame
from methods.blocks.lbfgs import minimise

RUNS = 512  # adjoint runs at once
UNFIT = 5.0  # sigmas of misfit, at which a stage has failed
CHOICE = 3  # stages of falling sigma, after which the better of both starts goes on


@dataclass(frozen=True)
class Stages:
    # over the spread of a frame, beside the noise
    sigmas: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
    iterations: int = 40  # of L-BFGS in each stage, at most
    adjoints: int = 256  # readings that H is made of, at most
    tolerance: float = 1e-3  # a stage is over when J falls by less than this part of itself


class Fitted(NamedTuple):
    first: Tensor  # (B, H, W, 1)
    evaluations: float  # solver runs per trajectory, forward and adjoint
    misfit: Tensor  # (B,) root mean square over readings of |solve - y| / sigma, of the last sigma
    converged: Tensor  # (B,) bool


def assimilate(problem: Problem, law: FirstFrame, x: Tensor, level: Tensor, stages: Stages) -> Fitted:
    """From a first guess x (B, N); `level` (T,) is the spread of each frame."""
    windows, sigmas = _windows(problem), _needed(stages.sigmas, problem.noise)
    growing = [_Misfit.at(window, law, sigmas[0], level) for window in windows[:-1]]
    falling = [_Misfit.at(windows[-1], law, sigma, level) for sigma in sigmas]
    everyone = torch.ones(len(x), dtype=torch.bool, device=x.device)
    start = _State(x, everyone, everyone, 0.0)
    state = start.descend(growing + falling[:CHOICE], stages)
    if growing:
        state = state.better(start.descend(falling[:CHOICE], stages), falling[:CHOICE][-1])
    state = state.descend(falling[CHOICE:], stages, seed=CHOICE)
    with torch.no_grad():
        return Fitted(falling[-1].first(state.x), state.runs, falling[-1].size(state.x), state.converged)


@dataclass(frozen=True)
class _State:
    x: Tensor  # (B, N)
    fits: Tensor  # (B,) bool: no stage has failed
    converged: Tensor  # (B,) bool: and the last one ended before its iterations ran out
    runs: float

    def descend(self, misfits: Sequence[_Misfit], stages: Stages, seed: int = 0) -> _State:
        """Through stages, without those that are lost on the way."""
        x, fits, converged, runs = self.x.clone(), self.fits.clone(), self.converged.clone(), self.runs
        for i, whole in enumerate(misfits):
            rows = fits.nonzero()[:, 0]
            if not len(rows):
                break
            misfit = whole[rows]
            inverse = _GaussNewton.at(x[rows], misfit, stages.adjoints, seed + i)
            found = minimise(
                misfit.objective, x[rows], stages.iterations, tolerance=stages.tolerance, precondition=inverse
            )
            good = misfit.size(found.x) < UNFIT
            x[rows] = torch.where(good[:, None], found.x, x[rows])
            fits[rows], converged[rows] = good, good & found.converged
            runs += (found.evaluations + inverse.runs) * len(rows) / len(x)
        return _State(x, fits, converged, runs)

    def better(self, other: _State, misfit: _Misfit) -> _State:
        """Of each trajectory the state of less J."""
        with torch.no_grad():
            mine = misfit.objective(self.x) <= misfit.objective(other.x)
        return _State(
            torch.where(mine[:, None], self.x, other.x),
            torch.where(mine, self.fits, other.fits),
            torch.where(mine, self.converged, other.converged),
            self.runs + other.runs,
        )


def _windows(problem: Problem) -> list[Problem]:
    """The problem up to each frame with readings; a steady problem, whose frames are fields, in one piece."""
    if problem.equation.time_order == 0:
        return [problem]
    seen = problem.mask.flatten(2).any(-1).any(0).nonzero()[:, 0].tolist()
    return [_until(problem, n) for n in sorted({max(2, t + 1) for t in seen})]


def _until(problem: Problem, frames: int) -> Problem:
    values, mask = problem.values[:, :frames], problem.mask[:, :frames]
    return replace(problem, values=values, mask=mask, grid=problem.grid.first(frames))


def _needed(sigmas: tuple[float, ...], noise: float) -> tuple[float, ...]:
    """Without those that the noise makes meaningless."""
    return tuple(s for s in sigmas if s > 0.3 * noise) or sigmas[:1]


@dataclass(frozen=True)
class _Misfit:
    problem: Problem
    law: FirstFrame
    spread: Tensor  # (T,)

    @classmethod
    def at(cls, problem: Problem, law: FirstFrame, sigma: float, level: Tensor) -> _Misfit:
        frames = len(problem.grid.times)
        return cls(problem, law, (sigma**2 + problem.noise**2) ** 0.5 * level[:frames])

    def __getitem__(self, rows: Tensor) -> _Misfit:
        return replace(self, problem=self.problem[rows])

    def first(self, x: Tensor) -> Tensor:
        return self.law.frame(x)[..., None].to(self.problem.values.dtype)

    def readings(self, x: Tensor) -> Tensor:
        """What is wrong at each reading over sigma, (B, T, H, W, 1)."""
        p = self.problem
        video = p.equation.solve(self.first(x), p.static, p.grid)
        return torch.where(p.mask, video - p.values, 0).double() / self.spread[:, None, None, None]

    def objective(self, x: Tensor) -> Tensor:
        return (x.square().sum(1) + self.readings(x).square().flatten(1).sum(1)) / 2

    def size(self, x: Tensor) -> Tensor:
        total = self.readings(x).square().flatten(1).sum(1)
        return (total / self.problem.mask.flatten(1).sum(1)).sqrt()


@dataclass(frozen=True)
class _GaussNewton:
    """The readings' derivatives of each trajectory, and the Cholesky factor of 1 + H H^T."""

    h: list[Tensor]  # (n, N) each
    factors: list[Tensor]  # (n, n) each
    runs: float  # of the adjoint, per trajectory

    @classmethod
    def at(cls, x: Tensor, misfit: _Misfit, most: int, seed: int) -> _GaussNewton:
        mask = misfit.problem.mask[..., 0].flatten(2)  # (B, T, H W)
        chosen = _choose(mask, most, seed)
        frames = misfit.law.frame(x).detach().to(misfit.problem.values.dtype)
        parts: list[list[Tensor]] = [[] for _ in x]
        for t in range(mask.shape[1]):
            who, site = chosen[:, t].nonzero().T
            rows = _adjoints(misfit, frames, who, t, site) if len(who) else x.new_zeros(0, x.shape[1])
            for b, part in enumerate(parts):
                part.append(rows[who == b] / misfit.spread[t])
        weight = (mask.flatten(1).sum(1) / chosen.flatten(1).sum(1).clamp(min=1)).sqrt()
        h = [w * torch.cat(part) for w, part in zip(weight, parts, strict=True)]
        factors = [_factor(m) for m in h]
        return cls(h, factors, sum(map(len, h)) / len(h))

    def __call__(self, q: Tensor) -> Tensor:
        """The inverse Hessian applied to (B, N)."""
        return torch.stack(
            [
                v - h.T @ torch.cholesky_solve((h @ v)[:, None], factor)[:, 0]
                for v, h, factor in zip(q, self.h, self.factors, strict=True)
            ]
        )


def _factor(h: Tensor) -> Tensor:
    """The Cholesky factor of 1 + H H^T; where readings are so precise that rounding spoils it, a little more than 1."""
    square = h @ h.T
    ones, size = torch.eye(len(h), dtype=h.dtype, device=h.device), square.diagonal().mean()
    for extra in (0.0, 1e-14, 1e-12, 1e-10):
        factor, info = torch.linalg.cholesky_ex(square + (1 + extra * size) * ones)
        if not info.any():
            return factor
    raise ValueError("4D-Var: the readings' derivatives are not finite")


def _choose(mask: Tensor, most: int, seed: int) -> Tensor:
    """At most `most` readings of each trajectory, (B, T, H W) bool: sites in one random order, whatever the batch."""
    flat = mask.flatten(1)
    order = torch.rand(flat.shape[1], generator=torch.Generator().manual_seed(seed)).to(mask.device)
    rank = torch.where(flat, order, 2.0).argsort(1).argsort(1)
    return (flat & (rank < most)).view_as(mask)


def _adjoints(misfit: _Misfit, frames: Tensor, who: Tensor, t: int, site: Tensor) -> Tensor:
    """d solve(first)(t, site) / d x, a row (N,) for each trajectory `who` and site: solver runs up to frame t."""
    p = misfit.problem
    grid = p.grid.first(max(2, t + 1))
    rows = []
    for b, s in zip(who.split(RUNS), site.split(RUNS), strict=True):
        first = frames[b].requires_grad_()
        static = None if p.static is None else p.static[b]
        with torch.enable_grad():
            frame = p.equation.solve(first[..., None], static, grid)[:, t].flatten(1)
            (gradient,) = torch.autograd.grad(frame.gather(1, s[:, None]).sum(), first)
        rows.append(misfit.law.adjoint(gradient.double()))
    return torch.cat(rows)
