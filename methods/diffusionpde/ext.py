"""DiffusionPDE (Ext.): all frames of a trajectory at once, from two pair models that know the time.

    step model   (x_{t-1}, x_t | t)        leap model   (x_1, x_t | t)        t = 2 .. T

All frames share the noise level. An evaluation denoises every step pair and every leap pair, and a frame's estimate is
the mean of what the two models say of it; then the video is guided like a pair, with observations of every frame and,
where its weight is not 0, the equation's residual over the whole video.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from benchmark.core import Dataset, Problem, Task
from methods.blocks.diffusion.edm import Denoise, Denoiser
from methods.blocks.diffusion.guidance import Term
from methods.diffusionpde import settings
from methods.diffusionpde.method import DiffusionPDE, Plan
from methods.diffusionpde.prior import Pairs
from methods.diffusionpde.terms import Seen, observation, physics


@dataclass(frozen=True)
class Settings(settings.Settings):
    average: Literal["symmetric", "literal"] = "symmetric"  # open: how a frame's estimates are joined, see `mixing`
    shared: bool = False  # one network with 2 (T - 1) labels in place of two with T - 1


def _settings(of: settings.Settings, **changes: object) -> Settings:
    return Settings(**{**vars(of), **changes})  # pyright: ignore[reportArgumentType]


class DiffusionPDEExt(DiffusionPDE):
    """Continuous tasks only, as in the paper."""

    sampling_settings = (*DiffusionPDE.sampling_settings, "average")
    source = "Li et al., VideoPDE, 2025, appendix: extension of Huang et al., DiffusionPDE, 2024"
    profiles = {
        "smoke": _settings(settings.SMOKE, shared=True),
        "laptop": _settings(settings.LAPTOP, shared=True, physics=3.0),  # of a whole video: more cells, one norm
        "paper": _settings(settings.Settings(), chunk=1),
    }

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if dataset.steady:
            return "a steady problem has one pair of fields: step and leap model would be the same"
        if task.family != "continuous":
            return f"{task.family} tasks would need an autoregressive procedure; the paper leaves them out for its cost"
        return None

    def priors(self, frames: int) -> dict[str, Pairs]:
        times, each = range(frames - 1), (1.0,) * (frames - 1)
        step, leap = tuple((t, t + 1) for t in times), tuple((0, t + 1) for t in times)
        if self.settings.shared:
            return {"pair": Pairs(step + leap, tuple(range(2 * len(times))), each + each)}
        return {"step": Pairs(step, tuple(times), each), "leap": Pairs(leap, tuple(times), each)}

    def residual_frames(self, frames: int) -> int:
        return frames

    def plan(self, problem: Problem) -> Plan:
        seen = Seen(self.normaliser_.encode_seen(problem.values, problem.mask), problem.mask)
        return Plan((1, *problem.values.shape[1:]), self.denoiser(problem), self.video_terms(seen, problem))

    def assemble(self, u: Tensor, problem: Problem) -> Tensor:
        return u

    def frames(self, problem: Problem) -> None:
        return None

    def denoiser(self, problem: Problem) -> Denoise:
        """D(x, sigma) of videos (B, T, H, W, C)."""
        fields, device = self.fields(problem.static, problem.values), problem.values.device
        models, edm = self.priors(self.shape_.frames), self.settings.edm
        mix = mixing([pair for pairs in models.values() for pair in pairs.frames], self.settings.average).to(device)

        def denoise(x: Tensor, sigma: Tensor) -> Tensor:
            estimates = []
            for name, pairs in models.items():
                index = torch.tensor(pairs.frames, device=device)  # (P, 2)
                labels = torch.tensor(pairs.labels, device=device).repeat(len(x))
                known = fields.repeat_interleave(len(index), 0)
                d = self.estimate(Denoiser(self.net_[name], edm), sigma, x[:, index].flatten(0, 1), labels, known)
                estimates.append(d.unflatten(0, (len(x), -1)))  # (B, P, 2, H, W, C)
            return torch.einsum("tpk,bpkhwc->bthwc", mix, torch.cat(estimates, 1))

        return denoise

    def video_terms(self, seen: Seen, problem: Problem) -> list[Term]:
        """One norm a frame, as for a pair; for a line search they are one residual anyway."""
        s, equation = self.settings, problem.equation
        w, size = self.weights(equation.name, problem.grid), float(self.residual_size_)
        weights = [w.first] + [w.second] * (self.shape_.frames - 1)
        frames = [(slice(t, t + 1), z) for t, z in enumerate(weights) if seen.mask[:, t].any()]
        terms = [observation(seen, frame, z, s.guidance.late, s.full) for frame, z in frames]
        return [*terms, physics(equation, self.normaliser_, problem.static, problem.grid, size, w.pde)]

    def evaluations(self, problem: Problem) -> int:
        return self.settings.edm.evaluations * 2 * (self.shape_.frames - 1)


def mixing(pairs: Sequence[tuple[int, int]], average: Literal["symmetric", "literal"]) -> Tensor:
    """Weights (T, P, 2) of the estimates in a frame's mean; the first half of the pairs are steps, the second leaps.

    symmetric  half the mean of all step estimates of a frame, half the mean of all its leap estimates
    literal    as the paper's loop over t overwrites them: of the step estimates the later pair's, of the leap estimates
               of the first frame that of its first pair
    """
    half, frames = len(pairs) // 2, max(map(max, pairs)) + 1
    weights = torch.zeros(frames, len(pairs), 2)
    for p, pair in enumerate(pairs):
        for k, t in enumerate(pair):
            weights[t, p, k] = 1.0
    if average == "literal":
        weights[1:-1, :half, 1] = 0.0
        weights[0, half + 1 :] = 0.0
    for part in (weights[:, :half], weights[:, half:]):
        part *= 0.5 / part.sum((1, 2), keepdim=True)
    return weights
