"""Physics-informed neural operator (Li et al. 2021): FNO, and its answer must fulfil the equation.

    loss = |u - u_true| / |u_true| + residual_weight max(0, rho(u) - rho(u_true)) + anchor_weight |u_0 - y| / |y|

rho(u) = |sum of the equation's terms at u| / sum of |term at u_true| comes from the equation of the dataset: spectral
and dealiased on a torus, trapezoidal between frames. A true solution sampled at a few frames has a residual too (0.2 of
its terms on wave_layer at profile laptop), so only what exceeds that counts. The anchor is on what the network says of
the observed frame, before the observation is put back.

Test-time optimisation (`refine`) lowers the residual of each answer with L-BFGS, from the network's answer on. The
paper moves the network's weights; here the unobserved part of the video moves, so that many trajectories are refined at
once and none depends on another. Where frames are so far apart that the truth has a residual of its own, this does
harm: a fit keeps it only if it lowers the error on `valid`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Problem, Task, TrajectorySet
from methods import fno
from methods.blocks.lbfgs import minimise
from methods.blocks.regression import relative_error, relative_l2
from methods.blocks.roll_out import keep_observed
from methods.blocks.training.examples import Observed
from methods.blocks.training.stage import Stage


@dataclass(frozen=True)
class Settings(fno.Settings):
    """Weights: the reference code's ratios 5 : 1 : 1 of data, residual and initial frame."""

    residual_weight: float = 0.2
    anchor_weight: float = 0.2
    refine: int = 0  # iterations of L-BFGS on each answer, if they lower the error on `valid`


def _like(settings: fno.Settings, **weights: float) -> Settings:
    return replace(
        Settings(settings.training, settings.symmetries, settings.validation, settings.chunk, settings.architecture),
        **weights,
    )


class PINO(fno.FNO):
    """FNO with a physics loss, for one whole frame given; sparse frames are left to `fno`."""

    uses_equation = True
    source = "Li et al., Physics-Informed Neural Operator for Learning Partial Differential Equations, 2021"
    profiles = {
        "smoke": _like(fno.SMOKE),
        "laptop": _like(fno.LAPTOP, anchor_weight=0.02, refine=30),
        "paper": Settings(),
    }

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if task.family == "continuous" or task.rate < 1:
            return "PINO is defined for one frame given in full; fno has an extension to sparse observations"
        return super().unsupported(task, dataset)

    refine_: Tensor  # iterations that an answer gets

    def stages(
        self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], device: torch.device
    ) -> Iterator[Stage]:
        """Behind the training, `valid` decides whether answers are refined."""
        yield from super().stages(train, valid, tasks, device)
        self.refine_ = torch.tensor(0)
        if self.settings.refine and len(valid):
            examples = self.examples(train, tasks).fixed(valid, len(valid)).to(device)
            with torch.no_grad():
                plain = keep_observed(self.regress(self.net_, examples.problem), examples.problem)
            refined = refine(plain, examples.problem, self.settings.refine)
            before, after = (relative_error(u, examples).mean() for u in (plain, refined))
            self.refine_ = torch.tensor(self.settings.refine if after < before else 0)

    def losses(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        settings: Settings = self.settings
        problem, truth = batch.problem, batch.truth
        raw = self.regress(network, problem)
        video = keep_observed(raw, problem)
        value = relative_error(video, batch)
        if settings.residual_weight:
            sizes = term_sizes(truth.u, problem)
            excess = relative_residual(video, problem, sizes) - relative_residual(truth.u, problem, sizes)
            value = value + settings.residual_weight * excess.relu()
        if settings.anchor_weight:
            seen = list(self.shape_.observed.frames)
            value = value + settings.anchor_weight * relative_l2(raw[:, seen], problem.values[:, seen], steady=False)
        return value

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        u = super().answer(problem, generators)
        return refine(keep_observed(u, problem), problem, int(self.refine_)) if self.refine_ else u


def term_sizes(u: Tensor, problem: Problem) -> Tensor:
    """The sum of the norms of the equation's terms: (B,)."""
    terms = problem.equation.terms(u, problem.static, problem.grid).values()
    sizes = torch.stack([term.flatten(1).norm(dim=1) for term in terms]).sum(0)
    return sizes.clamp(min=torch.finfo(sizes.dtype).tiny)


def relative_residual(u: Tensor, problem: Problem, sizes: Tensor) -> Tensor:
    """rho(u): (B,)."""
    return problem.equation.residual(u, problem.static, problem.grid).flatten(1).norm(dim=1) / sizes


def refine(u: Tensor, problem: Problem, iterations: int) -> Tensor:
    """Videos (B, T, H, W, C) with a smaller residual, each by itself; observed values stay."""
    sizes = term_sizes(u, problem)
    free = ~problem.mask
    scale = u.flatten(1).std(dim=1).clamp(min=1e-30).view(-1, 1, 1, 1, 1)

    def moved(x: Tensor) -> Tensor:
        return u + torch.where(free, scale * x.view_as(u), 0.0)

    def objective(x: Tensor) -> Tensor:
        return relative_residual(moved(x), problem, sizes).square()

    start = torch.zeros_like(u).flatten(1)
    return moved(minimise(objective, start, iterations).x).detach()
