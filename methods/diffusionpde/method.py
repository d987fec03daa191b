"""DiffusionPDE: a diffusion prior over two frames, and sampling guided by observations and the equation.

    prior     (x_i, x_j), joint, unconditional: adjacent frames, and the first with the last
    sampling  x <- sampler's step - grad ( z_a |m (x_i - y_i)| + z_u |m (x_j - y_j)| + z_pde |f| )

Forward and inverse tasks sample (first, last) and answer the end frame that was not observed; continuous tasks sample
the trajectory pair by pair; a steady problem is one pair. `README.md` says what the sources leave open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Grid, Problem, Task, TrajectorySet
from methods.blocks.conditioning import Shape
from methods.blocks.diffusion.edm import SAMPLING, Denoise, Denoiser, denoising_loss, karras_sigmas, noise_levels
from methods.blocks.diffusion.guidance import Term, sample_guided
from methods.blocks.learned import Learned
from methods.blocks.normaliser import SIGMA_DATA
from methods.blocks.pieces import in_pieces
from methods.blocks.training.batches import draw_noise
from methods.blocks.training.loop import Stage
from methods.blocks.training.sharing import normal
from methods.diffusionpde.prior import Pair, Pairs, make_net
from methods.diffusionpde.settings import LAPTOP, SMOKE, Settings
from methods.diffusionpde.terms import Seen, divergence, observation, physics, residual_size
from methods.diffusionpde.weights import Weights, convert, weights_for

ADJACENT, ENDS = 0, 1  # labels


@dataclass(frozen=True)
class Plan:
    """A guided sampling: of n fields or pairs per trajectory."""

    shape: tuple[int, ...]  # (n, ...) of one trajectory's noise
    denoise: Denoise
    terms: Sequence[Term]


class DiffusionPDE(Learned):
    """One prior per dataset, for all tasks. A variant may have several, over other pairs."""

    scope = "dataset"
    uses_equation = True
    version = 2
    source = "Huang et al., DiffusionPDE: Generative PDE-Solving Under Partial Observation, NeurIPS 2024"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}
    sampling_settings = (*SAMPLING, "guidance", "table", "observation", "full", "physics", "far", "score")
    memory_settings = (*Learned.memory_settings, "inputs")
    autocast = False  # gradients of small differences guide it

    net_: nn.ModuleDict
    residual_size_: Tensor

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        if task.family == "long_range":
            return "a prior over pairs of frames of one window; the sources describe no roll-out"
        return None

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        update, edm = self.settings.guidance.update, self.settings.edm
        return f"guidance {update}, {edm.steps} steps of {edm.sampler} (the source: gradient, 2000, heun)"

    # -- learning

    def priors(self, frames: int) -> dict[str, Pairs]:
        """The networks by name, each with the pairs it is trained on."""
        if frames == 2:
            return {"pair": Pairs(((0, 1),), (ADJACENT,), (1.0,))}
        near = [(0 if self.settings.pairs == "leap" else t, t + 1) for t in range(frames - 1)]
        labels = [ADJACENT] * len(near) + [ENDS]
        return {"pair": Pairs((*near, (0, frames - 1)), tuple(labels), (*[1 / len(near)] * len(near), 1.0))}

    def residual_frames(self, frames: int) -> int:
        """How many frames the equation's residual is taken of."""
        return 2

    def network(self, shape: Shape) -> nn.ModuleDict:
        priors = self.priors(shape.frames).items()
        return nn.ModuleDict({name: make_net(shape, pairs.kinds, self.settings) for name, pairs in priors})

    def stages(
        self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], device: torch.device
    ) -> Iterator[Stage]:
        s, priors = self.settings, self.priors(self.shape_.frames)
        self.residual_size_ = torch.tensor(residual_size(train, self.residual_frames(self.shape_.frames)))
        for name, pairs in priors.items():
            model = Denoiser(self.net_[name], s.edm)
            folder = name if len(priors) > 1 else ""
            yield Stage(model, pairs, self.losses, s.training, s.validation, name=folder)

    def losses(self, network: nn.Module, batch: Pair, draws: torch.Generator) -> Tensor:
        edm, x = self.settings.edm, self.normaliser_.encode(batch.u)
        fields = self.fields(batch.static, x)
        sigma = noise_levels(edm, len(x), draws)
        noise = self.noise(x.shape, lambda shape: normal(shape, draws))
        return denoising_loss(edm, lambda x, sigma: network(x, sigma, batch.label, fields), x, sigma, noise)

    def noise(self, shape: Sequence[int], white: Callable[[Sequence[int]], Tensor]) -> Tensor:
        """Of unit variance; a variant may make another than white noise."""
        return white(shape)

    # -- predicting

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        edm, plan, device = self.settings.edm, self.plan(problem), problem.values.device
        shape = len(generators), *plan.shape
        noise = self.noise(shape, lambda shape: draw_noise(shape[1:], generators, device))
        x = edm.sigma_max * noise.flatten(0, 1)  # (B n, ...)
        x = sample_guided(plan.denoise, x, karras_sigmas(edm), plan.terms, self.settings.guidance, edm.sampler)
        return self.assemble(self.normaliser_.decode(x), problem)

    def choose(self, problem: Problem) -> tuple[list[tuple[int, int]], int]:
        """The pairs to sample, and their label."""
        frames = self.shape_.frames
        if frames == 2:
            return [(0, 1)], ADJACENT
        if not problem.mask[:, 1:-1].any():
            return [(0, frames - 1)], ENDS
        if self.settings.pairs == "leap":
            return [(0, t) for t in range(1, frames)], ADJACENT
        return [(min(t, frames - 2), min(t, frames - 2) + 1) for t in range(0, frames, 2)], ADJACENT

    def plan(self, problem: Problem) -> Plan:
        """What is to be sampled."""
        pairs, label = self.choose(problem)
        index, repeats = torch.tensor(pairs, device=problem.values.device), len(pairs)
        y = self.normaliser_.encode_seen(problem.values, problem.mask)
        seen = Seen(y[:, index].flatten(0, 1), problem.mask[:, index].flatten(0, 1))  # (B P, 2, H, W, C)
        physical = None if problem.static is None else problem.static.repeat_interleave(repeats, 0)
        fields = self.fields(physical, seen.values)
        labels = torch.full((len(seen.mask),), label, device=index.device)
        net = Denoiser(self.net_["pair"], self.settings.edm)

        def denoise(x: Tensor, sigma: Tensor) -> Tensor:
            return self.estimate(net, sigma, x, labels, fields)

        terms = self.pair_terms(seen, label == ENDS, problem, physical)
        return Plan((repeats, *seen.mask.shape[1:]), denoise, terms)

    def estimate(self, net: nn.Module, sigma: Tensor, *inputs: Tensor) -> Tensor:
        """D(x, sigma) of pairs and what goes with them, so many pairs at a time that memory allows it."""
        return in_pieces(lambda x, *known: net(x, sigma, *known), self.settings.inputs, *inputs)

    def assemble(self, u: Tensor, problem: Problem) -> Tensor:
        """What was sampled, in physical units (B n, ...) -> (B, T, H, W, C)."""
        pairs, _ = self.choose(problem)
        return join_pairs(u.unflatten(0, (-1, len(pairs))), pairs, problem.grid)

    def pair_terms(self, seen: Seen, far: bool, problem: Problem, static: Tensor | None) -> list[Term]:
        w = self.weights(problem.equation.name, problem.grid)
        return [*self.sensor_terms(seen, w), *self.equation_terms(far, problem, static, w)]

    def sensor_terms(self, seen: Seen, w: Weights) -> list[Term]:
        s, frames = self.settings, ((slice(0, 1), w.first), (slice(1, 2), w.second))
        observed = [(frame, z) for frame, z in frames if seen.mask[:, frame].any()]
        return [observation(seen, frame, z, s.guidance.late, s.full) for frame, z in observed]

    def equation_terms(self, far: bool, problem: Problem, static: Tensor | None, w: Weights) -> list[Term]:
        """One, or none where the residual means nothing."""
        s, equation, size = self.settings, problem.equation, float(self.residual_size_)
        if not far and (s.pairs == "disjoint" or equation.time_order == 0) and equation.time_order < 2:
            return [physics(equation, self.normaliser_, static, problem.grid.first(2), size, w.pde)]
        if far and s.far == "divergence" and equation.name == "navier_stokes":
            return [divergence(self.normaliser_, problem.grid, size, w.pde)]
        return []

    def weights(self, equation: str, grid: Grid) -> Weights:
        """In normalised units, with the factors of the settings."""
        s = self.settings
        units = (self.normaliser_.std / SIGMA_DATA).flatten(1).mean(1).tolist()  # (1,) or, of two fields, (2,)
        size, cells = float(self.residual_size_), grid.shape[0] * grid.shape[1]
        w = convert(weights_for(s.table, equation), (units[0], units[-1]), size, cells, s.guidance.loss)
        return Weights(s.observation * w.first, s.observation * w.second, s.physics * w.pde)

    def frames(self, problem: Problem) -> tuple[int, ...] | None:
        """Of first and last frame the one that was not observed, unless all are to be scored."""
        pairs, _ = self.choose(problem)
        first, last, steady = 0, self.shape_.frames - 1, problem.equation.time_order == 0
        if self.settings.score == "all" or steady or pairs != [(first, last)] or problem.mask[:, 1:-1].any():
            return None
        ends = problem.mask[:, [first, last]].flatten(2).any(2).any(0).tolist()
        return tuple(frame for frame, seen in zip((first, last), ends, strict=True) if not seen) or None

    def evaluations(self, problem: Problem) -> int:
        return self.settings.edm.evaluations * len(self.choose(problem)[0])


def join_pairs(pairs: Tensor, frames: Sequence[tuple[int, int]], grid: Grid) -> Tensor:
    """Pairs (B, P, 2, H, W, C) -> (B, T, H, W, C): of a frame in two pairs the last counts, in none: interpolated."""
    found = {frame: pairs[:, p, k] for p, pair in enumerate(frames) for k, frame in enumerate(pair)}
    known = sorted(found)
    video = []
    for t in range(len(grid.times)):
        low, high = max(f for f in known if f <= t), min(f for f in known if f >= t)
        share = (grid.times[t] - grid.times[low]) / (grid.times[high] - grid.times[low]) if high > low else 0.0
        video.append(torch.lerp(found[low], found[high], share))
    return torch.stack(video, 1)
