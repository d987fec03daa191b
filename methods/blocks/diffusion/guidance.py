"""Guided sampling: a prior's sampler, drawn step by step towards what was observed and what an equation asks for.

Each `Term` is a residual R(x_0) of the denoised estimate, zero where the estimate is as it should be, with a weight z.
With J = dD/dx the gradient of the estimate, there are two ways to bring residuals down:

    gradient  x_{i+1} <- x_{i+1} - grad_{x_i} sum_k z_k |R_k(D)|                        Huang et al. 2024
    solve     D <- D + J^T R'^T v   with   (R' J^T R'^T) v = -R(D),   R = all z_k R_k    after Rozet et al. 2024

`gradient` is one backward pass a step for all terms together, of a fixed length: it takes very many steps, and its
weights depend on their number. `solve` uses that sigma^2 J is the covariance of x_0 given x: it conditions the estimate
on R = 0 as if all were Gaussian, by a few iterations of a Krylov method, a backward pass each. Ten steps will do, and
their number hardly matters. Norms and iterations are those of each sample, so that a sample does not know its batch. A
term of weight 0 is not computed, and a step without terms builds no graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import huber_loss

from methods.blocks.diffusion.edm import Denoise, Evaluate, Multistep, append_dims, evaluator, heun_step

Loss = Literal["norm", "root_mean_square", "mean_square", "huber"]  # |R|, |R| / sqrt n, |R|^2 / n, mean of Huber's
Residual = Callable[[Tensor], Tensor]  # an estimate of x_0 (B, ...) -> (B, K)
Step = Callable[[Evaluate, Tensor, float, float], Tensor]  # evaluate, x, sigma, sigma_next -> x at sigma_next

SMALL = 1e-4  # of a difference in place of a derivative, relative
EXHAUSTED = 1e-5  # share of a direction that is new, below which it is rounding


@dataclass(frozen=True)
class Guidance:
    """Defaults: DiffusionPDE's code."""

    update: Literal["gradient", "solve"] = "gradient"
    loss: Loss = "norm"  # of `gradient`, where a term has none of its own
    schedule: Literal["share", "sigma"] = "share"  # sigma: the late weights count from 1 on, all times min(1, sigma)
    switch: float = 0.8  # of `share`: share of the steps after which the late weights count
    late: float = 0.1  # factor on the weights of the observations after that
    iterations: int = 5  # of `solve`, each a backward pass

    def __post_init__(self) -> None:
        if not 0 <= self.switch <= 1 or self.iterations < 1:
            raise ValueError(
                f"guidance: expected 0 <= switch <= 1 and iterations >= 1, got {self.switch}, {self.iterations}"
            )


@dataclass(frozen=True)
class Term:
    residual: Residual
    early: float  # weight up to the switch
    late: float  # and after it
    count: Tensor | float = 1.0  # (B,) n, what a mean divides by
    loss: Loss | None = None  # None: that of the guidance


Weighted = list[tuple[Term, float]]


def active(terms: Sequence[Term], step: int, steps: int, sigma: float, guidance: Guidance) -> Weighted:
    """The terms that count at a step (from 0, starting at sigma), with their weights."""
    if guidance.schedule == "sigma":
        is_early, factor = sigma > 1, min(1.0, sigma)
    else:
        is_early, factor = step <= guidance.switch * steps, 1.0
    weights = [factor * (term.early if is_early else term.late) for term in terms]
    return [(term, weight) for term, weight in zip(terms, weights, strict=True) if weight]


def sample_guided(
    denoise: Denoise,
    x: Tensor,
    sigmas: Tensor,
    terms: Sequence[Term],
    guidance: Guidance,
    sampler: Literal["heun", "dpmpp_2m"] = "heun",
    state: torch.dtype = torch.float64,
) -> Tensor:
    """From x at sigmas[0] to sigmas[-1]; carried in the dtype `state`, while `denoise` sees that of x."""
    step = heun_step if sampler == "heun" else Multistep()
    evaluate, y, levels = evaluator(denoise, x.dtype), x.to(state), sigmas.tolist()
    for i, (sigma, sigma_next) in enumerate(pairwise(levels)):
        weighted = active(terms, i, len(levels) - 1, sigma, guidance)
        y = guided_step(step, evaluate, y, sigma, sigma_next, weighted, guidance)
    return y.to(x.dtype)


def guided_step(
    step: Step, evaluate: Evaluate, x: Tensor, sigma: float, sigma_next: float, terms: Weighted, guidance: Guidance
) -> Tensor:
    if not terms:
        with torch.no_grad():
            return step(evaluate, x, sigma, sigma_next)
    if guidance.update == "gradient":
        return _gradient_step(step, evaluate, x, sigma, sigma_next, terms, guidance.loss)

    def corrected(x: Tensor, sigma: float) -> Tensor:
        return solve(evaluate, x, sigma, terms, guidance.iterations)

    with torch.no_grad():
        return step(corrected, x, sigma, sigma_next)


def _gradient_step(
    step: Step, evaluate: Evaluate, x: Tensor, sigma: float, sigma_next: float, terms: Weighted, loss: Loss
) -> Tensor:
    """The gradient is that of the last estimate the step made, through all of its evaluations."""
    last: list[Tensor] = []

    def recording(x: Tensor, sigma: float) -> Tensor:
        last.append(evaluate(x, sigma))
        return last[-1]

    with torch.enable_grad():
        x = x.detach().requires_grad_()
        x_next = step(recording, x, sigma, sigma_next)
        (gradient,) = torch.autograd.grad(objective(last[-1], terms, loss).sum(), x)
    return x_next.detach() - gradient


def objective(estimate: Tensor, terms: Weighted, loss: Loss = "norm") -> Tensor:
    """The weighted sum of the terms' sizes, of each sample: (B,)."""
    total = estimate.new_zeros(len(estimate))
    for term, weight in terms:
        total = total + weight * size_of(term.residual(estimate), term.loss or loss, term.count)
    return total


def size_of(residual: Tensor, loss: Loss, count: Tensor | float) -> Tensor:
    """Of each row: (B, K) -> (B,)."""
    if loss == "huber":
        return huber_loss(residual, torch.zeros_like(residual), reduction="none").sum(1) / count
    norm = torch.linalg.vector_norm(residual, dim=1)
    if loss == "norm":
        return norm
    return norm.square() / count if loss == "mean_square" else norm / count**0.5


def solve(evaluate: Evaluate, x: Tensor, sigma: float, terms: Weighted, iterations: int) -> Tensor:
    """D(x, sigma), moved so that R(D) gets small: generalised conjugate residuals on R' J^T R'^T, J = dD/dx.

    Each iteration adds a direction g = J^T R'^T r, whose effect on the residual, R' g, is made orthogonal to those of
    the directions before: |r| never grows, and each backward pass is used for all that follow.
    """

    def residual(estimate: Tensor) -> Tensor:
        return torch.cat([weight * term.residual(estimate) for term, weight in terms], dim=1)

    with torch.enable_grad():
        x = x.detach().requires_grad_()
        d = evaluate(x, sigma)
        r = residual(d)  # (B, K)
    estimate, at, left = d.detach(), d.detach(), r.detach()
    moves: list[tuple[Tensor, Tensor]] = []  # (a direction, its effect), effects orthonormal
    for i in range(iterations):
        (g,) = torch.autograd.grad(r, x, left, retain_graph=i + 1 < iterations)
        effect = _derivative(residual, at, g, r.detach())
        before = torch.linalg.vector_norm(effect, dim=1, keepdim=True)
        for direction, known in moves:
            share = (effect * known).sum(1, keepdim=True)
            effect, g = effect - share * known, g - append_dims(share, g) * direction
        size = torch.linalg.vector_norm(effect, dim=1, keepdim=True)
        scale = torch.where(size > EXHAUSTED * before, 1 / size.clamp(min=torch.finfo(size.dtype).tiny), 0)
        effect, g = scale * effect, append_dims(scale, g) * g
        step = (left * effect).sum(1, keepdim=True)
        estimate, left = estimate - append_dims(step, g) * g, left - step * effect
        moves.append((g, effect))
    return estimate


def _derivative(residual: Residual, x: Tensor, direction: Tensor, r: Tensor) -> Tensor:
    """R'(x) direction, with r = R(x), by a difference over a small step: exact for the linear R of observations."""
    norms = (torch.linalg.vector_norm(f.flatten(1), dim=1, keepdim=True) for f in (x, direction))
    size, length = (norm.clamp(min=torch.finfo(x.dtype).tiny) for norm in norms)
    step = SMALL * size / length  # (B, 1)
    return (residual(x + append_dims(step, x) * direction) - r) / step
