"""The residual of the equation on a video, relative to its terms, and videos that make it small.

    rho(u) = |sum of the equation's terms at u| / sizes,    refined u = argmin of rho^2 over what was not observed

The residual is that of the dataset's equation: spectral and dealiased on a torus, trapezoidal between frames.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from benchmark.core import Keeper, Problem
from benchmark.core.keeper import Part, chunks
from methods.blocks.lbfgs import minimise


def term_sizes(u: Tensor, problem: Problem) -> Tensor:
    """The sum of the norms of the equation's terms: (B,)."""
    terms = problem.equation.terms(u, problem.static, problem.grid).values()
    sizes = torch.stack([term.flatten(1).norm(dim=1) for term in terms]).sum(0)
    return sizes.clamp(min=torch.finfo(sizes.dtype).tiny)


def relative_residual(u: Tensor, problem: Problem, sizes: Tensor) -> Tensor:
    """rho(u): (B,)."""
    return problem.equation.residual(u, problem.static, problem.grid).flatten(1).norm(dim=1) / sizes


class Refined(NamedTuple):
    u: Tensor  # (B, T, H, W, C)
    evaluations: int  # of the residual and its gradient


def refine(u: Tensor, problem: Problem, iterations: int) -> Refined:
    """Videos (B, T, H, W, C) with a smaller residual, each by itself; observed values stay."""
    sizes = term_sizes(u, problem)
    free = ~problem.mask
    scale = u.flatten(1).std(dim=1).clamp(min=1e-30).view(-1, 1, 1, 1, 1)

    def moved(x: Tensor) -> Tensor:
        return u + torch.where(free, scale * x.view_as(u), 0.0)

    def objective(x: Tensor) -> Tensor:
        return relative_residual(moved(x), problem, sizes).square()

    found = minimise(objective, torch.zeros_like(u).flatten(1), iterations)
    return Refined(moved(found.x).detach(), found.evaluations)


def refine_in_chunks(u: Tensor, problem: Problem, iterations: int, chunk: int, keeper: Keeper) -> tuple[Tensor, float]:
    """The same, `chunk` videos at a time, and how often each was evaluated: until the last of its chunk was done."""

    def refined(place: tuple[int, int]) -> Part:
        rows = slice(*place)
        found = refine(u[rows], problem[rows], iterations)
        return {"u": found.u, "evaluations": torch.tensor(found.evaluations)}

    parts = list(keeper.each(chunks(len(u), chunk), refined))
    spent = sum(int(part["evaluations"]) * len(part["u"]) for part in parts) / len(u)
    return torch.cat([part["u"] for part in parts]).to(u), spent


def in_double(problem: Problem) -> Problem:
    static = None if problem.static is None else problem.static.double()
    return replace(problem, values=problem.values.double(), static=static)
