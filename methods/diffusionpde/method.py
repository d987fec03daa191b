"""DiffusionPDE: a diffusion prior over two frames, and sampling guided by observations and the equation.

    prior     (x_i, x_j), joint, unconditional: adjacent frames, and the first with the last
    sampling  x <- sampler's step - grad ( z_a |m (x_i - y_i)| + z_u |m (x_j - y_j)| + z_pde |f| )

Forward and inverse tasks sample (first, last) and answer the end frame that was not observed; continuous tasks sample
the trajectory pair by pair; a steady problem is one pair. `README.md` says what the sources leave open.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from benchmark.core import Dataset, Grid, Problem, Task
from methods.blocks.diffusion.edm import Denoiser
from methods.blocks.diffusion.guidance import Term
from methods.diffusionpde.base import PairMethod, Plan
from methods.diffusionpde.prior import Pairs
from methods.diffusionpde.settings import LAPTOP, SMOKE, Settings
from methods.diffusionpde.terms import Seen, divergence, observation, physics

ADJACENT, ENDS = 0, 1  # labels


class DiffusionPDE(PairMethod):
    """One prior a dataset, for all tasks."""

    source = "Huang et al., DiffusionPDE: Generative PDE-Solving Under Partial Observation, NeurIPS 2024"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if task.family == "long_range":
            return "a prior over pairs of frames of one window; the sources describe no roll-out"
        return None

    def models(self, frames: int) -> dict[str, Pairs]:
        if frames == 2:
            return {"pair": Pairs(((0, 1),), (ADJACENT,), (1.0,))}
        near = [(0 if self.settings.pairs == "leap" else t, t + 1) for t in range(frames - 1)]
        labels = [ADJACENT] * len(near) + [ENDS]
        return {"pair": Pairs((*near, (0, frames - 1)), tuple(labels), (*[1 / len(near)] * len(near), 1.0))}

    def residual_frames(self, frames: int) -> int:
        return 2

    def choose(self, problem: Problem) -> tuple[list[tuple[int, int]], int]:
        """The pairs to sample, and their label."""
        frames = self.frames
        if frames == 2:
            return [(0, 1)], ADJACENT
        if not problem.mask[:, 1:-1].any():
            return [(0, frames - 1)], ENDS
        if self.settings.pairs == "leap":
            return [(0, t) for t in range(1, frames)], ADJACENT
        return [(min(t, frames - 2), min(t, frames - 2) + 1) for t in range(0, frames, 2)], ADJACENT

    def prepare(self, problem: Problem) -> Plan:
        pairs, label = self.choose(problem)
        index, repeats = torch.tensor(pairs, device=problem.values.device), len(pairs)
        y = self.normaliser_.encode_seen(problem.values, problem.mask)
        seen = Seen(y[:, index].flatten(0, 1), problem.mask[:, index].flatten(0, 1))  # (B P, 2, H, W, C)
        static, physical = (_repeat(f, repeats) for f in (self.static(problem), problem.static))
        labels = torch.full((len(seen.mask),), label, device=index.device)
        net = Denoiser(self.net_["pair"], self.settings.edm.sigma_data)

        def denoise(x: Tensor, sigma: Tensor) -> Tensor:
            return net(x, sigma, labels, static)

        terms = self.terms(seen, label == ENDS, problem, physical)
        return Plan((repeats, *seen.mask.shape[1:]), denoise, terms)

    def finish(self, u: Tensor, problem: Problem) -> Tensor:
        pairs, _ = self.choose(problem)
        return assemble(u.unflatten(0, (-1, len(pairs))), pairs, problem.grid)

    def terms(self, seen: Seen, far: bool, problem: Problem, static: Tensor | None) -> list[Term]:
        s, equation = self.settings, problem.equation
        w, late = self.weights(equation.name, problem.grid), s.guidance.late
        terms = [
            observation(seen, frame, z, late, s.full)
            for frame, z in ((slice(0, 1), w.first), (slice(1, 2), w.second))
            if seen.mask[:, frame].any()
        ]
        if not far and (s.pairs == "disjoint" or equation.time_order == 0) and equation.time_order < 2:
            grid = problem.grid.window(2)
            terms.append(physics(equation, self.normaliser_, static, grid, float(self.residual_size_), w.pde))
        elif far and s.far == "divergence" and equation.name == "navier_stokes":
            terms.append(divergence(self.normaliser_, problem.grid, float(self.residual_size_), w.pde))
        return terms

    def answered(self, problem: Problem) -> tuple[int, ...] | None:
        """Of first and last frame the one that was not observed, unless all are to be scored."""
        pairs, _ = self.choose(problem)
        steady = problem.equation.time_order == 0
        if self.settings.score == "all" or steady or pairs != [(0, self.frames - 1)] or problem.mask[:, 1:-1].any():
            return None
        ends = problem.mask[:, [0, -1]].flatten(2).any(2).any(0).tolist()
        return tuple(frame for frame, seen in zip((0, self.frames - 1), ends, strict=True) if not seen) or None

    def evaluations(self, problem: Problem) -> int:
        return self.settings.edm.evaluations * len(self.choose(problem)[0])


def assemble(pairs: Tensor, frames: Sequence[tuple[int, int]], grid: Grid) -> Tensor:
    """Pairs (B, P, 2, H, W, C) -> (B, T, H, W, C): of a frame in two pairs the last counts, in none: interpolated."""
    found = {frame: pairs[:, p, k] for p, pair in enumerate(frames) for k, frame in enumerate(pair)}
    known = sorted(found)
    video = []
    for t in range(len(grid.times)):
        low, high = max(f for f in known if f <= t), min(f for f in known if f >= t)
        share = (grid.times[t] - grid.times[low]) / (grid.times[high] - grid.times[low]) if high > low else 0.0
        video.append(torch.lerp(found[low], found[high], share))
    return torch.stack(video, 1)


def _repeat(field: Tensor | None, count: int) -> Tensor | None:
    return None if field is None else field.repeat_interleave(count, 0)
