"""Senseiver (Santos et al. 2023): the sensors are a set, and the field is asked for place by place.

    latents = encoder({[value, fields, position] of each sensor}),    u(place) = decoder(latents, [fields, position])
    loss    = |u - u_true|^2, the mean over some places

Any number of sensors at any places and times. Each training step looks at a random part of the places, and of a frame
with very many sensors at a random part of those. What is predicted is the change from the frame that is given in full,
where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from benchmark.core import Dataset, Problem, Task
from methods.blocks.conditioning import Shape, first_guess
from methods.blocks.learned import Learned
from methods.blocks.normaliser import SIGMA_DATA
from methods.blocks.regression import RegressionSettings, relative_error
from methods.blocks.training.budget import Training
from methods.blocks.training.examples import Observed
from methods.blocks.training.optimiser import Optimiser
from methods.blocks.training.sharing import permutation, uniform
from methods.senseiver.network import Architecture, SetNetwork, positions


@dataclass(frozen=True)
class Settings(RegressionSettings):
    """Defaults: the authors' code."""

    architecture: Architecture = Architecture()
    sensors: int = 4096  # ours; that are looked at, at most, drawn at random
    queries: int = 2048  # places of an example in a training step, and at once in an answer
    training: Training = field(
        default_factory=lambda: Training(
            batch=64,  # frames there, videos here
            optimiser=Optimiser(lr=1e-4, betas=(0.9, 0.999), weight_decay=0.0),
            ema=0.0,
        )
    )

    def __post_init__(self) -> None:
        if min(self.sensors, self.queries) < 1:
            raise ValueError(
                f"senseiver: expected sensors and queries of 1 or more, got {self.sensors} and {self.queries}"
            )


LAPTOP = Settings(
    architecture=Architecture(bands=4, finest=0.25, latents=64, width=64, query=64),
    sensors=1024,
    queries=1024,
    training=Training(
        steps=3500,
        curriculum=1 / 3,
        batch=8,
        optimiser=Optimiser(
            "muon", lr=1e-2, rest=0.2, betas=(0.9, 0.99), weight_decay=0.0, schedule="cosine", warmup=100
        ),
        ema=0.99,
    ),
    symmetries=True,
)
SMOKE = replace(
    LAPTOP,
    architecture=Architecture(bands=4, finest=0.5, token=32, latents=16, width=32, depth=1, query=32),
    queries=256,
    symmetries=False,
    training=Training(
        steps=100,
        batch=8,
        optimiser=Optimiser("muon", lr=2e-2, rest=0.2, weight_decay=0.0, schedule="cosine", warmup=10),
        ema=0.0,
        validations=2,
    ),
    validation=8,
)


class Senseiver(Learned):
    stochastic = False
    source = "Santos et al., Development of the Senseiver for efficient field reconstruction, Nature Mach. Int. 5, 2023"
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": Settings()}

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        seen = int(task.mask(dataset.grid(dataset.sizes.frames), torch.Generator().manual_seed(0)).sum())
        return f"looks at {self.settings.sensors} of {seen} observed values" if seen > self.settings.sensors else None

    def network(self, shape: Shape) -> nn.Module:
        place = 6 * self.settings.architecture.bands + shape.fields
        return SetNetwork(shape.channels + place, place, shape.channels, self.settings.architecture)

    # -- learning

    def losses(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        problem, truth = batch.problem, self.normaliser_.encode(batch.truth.u).flatten(1, 3)  # (B, N, C)
        order = uniform(truth.shape[:2], draws)
        sites = permutation(truth.shape[1], draws)[: self.settings.queries]
        sites = sites.expand(len(truth), -1)
        x = network(*self.tokens(problem, order), self.places(problem, sites))
        error = at(self.guess(problem), sites) + x - at(truth, sites)
        return (error / SIGMA_DATA).square().flatten(1).mean(1)

    def errors(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        """At all places."""
        order = torch.rand(batch.problem.mask.shape[:-1], generator=draws, device=draws.device).flatten(1)
        return relative_error(self.reconstruct(network, batch.problem, order), batch)

    # -- predicting

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        order = torch.stack([torch.rand(problem.mask[0, ..., 0].numel(), generator=g) for g in generators])
        return self.reconstruct(self.net_, problem, order.to(problem.values))

    def evaluations(self, problem: Problem) -> int:
        return 1

    def reconstruct(self, network: Any, problem: Problem, order: Tensor) -> Tensor:
        """(B, T, H, W, C) in physical units, looking at the sensors with the highest `order` (B, N)."""
        latents = network.encode(*self.tokens(problem, order))
        sites = torch.arange(order.shape[1], device=order.device).expand(order.shape)
        parts = [network.decode(latents, self.places(problem, s)) for s in sites.split(self.settings.queries, dim=1)]
        return self.normaliser_.decode((self.guess(problem) + torch.cat(parts, 1)).view_as(problem.values))

    def tokens(self, problem: Problem, order: Tensor) -> tuple[Tensor, Tensor]:
        """What is known of each sensor, (B, n, K), and which of them are not there but to fill up the batch, (B, n)."""
        mask = problem.mask.any(-1).flatten(1)  # (B, N)
        count = min(self.settings.sensors, int(mask.sum(1).max()))
        sites = order.masked_fill(~mask, -1.0).topk(count).indices
        values = at(self.normaliser_.encode_seen(problem.values, problem.mask).flatten(1, 3), sites)
        return torch.cat([values, self.places(problem, sites)], -1), mask.gather(1, sites)

    def places(self, problem: Problem, sites: Tensor) -> Tensor:
        """What is known of sites (B, n), numbered along T, H and W: (B, n, K)."""
        fields = self.fields(problem.static, problem.values).flatten(1, 2)  # (B, H W, K)
        a = self.settings.architecture
        wave = positions(sites, self.shape_.video, a.bands, a.finest)
        return torch.cat([at(fields, sites % fields.shape[1]), wave.to(fields)], -1)

    def guess(self, problem: Problem) -> Tensor:
        """(B, N, C), normalised."""
        return first_guess(problem, self.shape_.observed, self.normaliser_).movedim(2, -1).flatten(1, 3)


def at(values: Tensor, sites: Tensor) -> Tensor:
    """(B, N, C) at sites (B, n): (B, n, C)."""
    return values.gather(1, sites[..., None].expand(-1, -1, values.shape[-1]))
