"""VideoPDE on what kriging leaves over: ours, not a method of any paper.

    u = k(y) + s r,    r diffused by HV-DiT, conditioned on m, y and k(y)

Kriging answers what a Gaussian law of the training set says of the sensors, the network learns the rest. Its scale s is
that of the remainder, frame by frame, so that r has the standard deviation sigma_data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Self

import torch
from torch import Tensor, nn

from benchmark.core import Problem, Run, Task, TrajectorySet
from methods.blocks.conditioning import Shape
from methods.blocks.learned import under
from methods.blocks.training.examples import Observations, Observed
from methods.blocks.training.loop import Stage
from methods.kriging import Kriging
from methods.kriging import Settings as KrigingSettings
from methods.videopde import method as videopde
from methods.videopde.method import VideoPDE
from methods.videopde.model import HVDiT

KRIGED = "what kriging answers as input"
SCALED_ON = 256  # training examples
FLOOR = 1e-3  # of the data's standard deviation: a frame that kriging knows has a remainder of rounding only


@dataclass(frozen=True)
class Settings(videopde.Settings):
    kriging: KrigingSettings = field(default_factory=KrigingSettings)


def _settings(profile: str) -> Settings:
    of = VideoPDE.profiles[profile]
    return Settings(**{f.name: getattr(of, f.name) for f in fields(of)}, kriging=Kriging.profiles[profile])


SMOKE, LAPTOP, PAPER = map(_settings, ("smoke", "laptop", "paper"))
LAPTOP = replace(  # chosen on `valid`; kriging dense masks would take longer than the network's step
    LAPTOP,
    edm=replace(LAPTOP.edm, log_mean=1.5, log_std=1.5),
    training=replace(LAPTOP.training, steps=5500, curriculum=0.0),
)


class VideoPDEKriged(VideoPDE):
    source = "this suite; VideoPDE (Li et al. 2025) on the remainder of kriging (Rasmussen and Williams 2006)"
    parts = (Kriging,)
    profiles = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}

    spread_: Tensor  # (T, 1, 1, C) of the remainder

    def __init__(self, settings: Settings):
        super().__init__(settings)
        self.kriging = Kriging(settings.kriging)

    def aids(self, task: Task) -> tuple[str, ...]:
        return (*super().aids(task), KRIGED)

    def network(self, shape: Shape) -> nn.Module:
        architecture = self.settings.architecture.for_video(*shape.video)
        return HVDiT(shape.channels, 3 * shape.channels + shape.fields, architecture)

    # -- learning

    def stages(
        self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], device: torch.device
    ) -> Iterator[Stage]:
        self.kriging = Kriging(self.settings.kriging).fit(train, valid, tasks, 0, Run(device))
        self.spread_ = self._measure(Observations(tasks).fixed(train, min(SCALED_ON, len(train))), device)
        yield from super().stages(train, valid, tasks, device)

    @torch.no_grad()
    def _measure(self, examples: Observed, device: torch.device) -> Tensor:
        left = examples.truth.u.to(device) - self.kriged(examples.problem.to(device))
        return left.square().mean((0, 2, 3), keepdim=True)[0].sqrt().maximum(FLOOR * self.normaliser_.std)

    @torch.no_grad()
    def kriged(self, problem: Problem) -> Tensor:
        """The posterior mean (B, T, H, W, C), in full precision."""
        with torch.autocast(problem.values.device.type, enabled=False):
            return self.kriging.predict(problem, seed=0).u[0]

    def losses(self, network: nn.Module, batch: Observed, draws: torch.Generator) -> Tensor:
        mean = self.kriged(batch.problem)
        r = (batch.truth.u - mean) * (self.settings.edm.sigma_data / self.spread_)
        return self.denoising(network, r, self.told(batch.problem, mean), draws)

    def told(self, problem: Problem, mean: Tensor) -> Tensor:
        """What the network is conditioned on: (B, T, H, W, 3 C + K)."""
        return torch.cat([self.condition(problem), self.normaliser_.encode(mean)], dim=-1)

    # -- predicting

    def answer(self, problem: Problem, generators: Sequence[torch.Generator]) -> Tensor:
        mean = self.kriged(problem)
        r = self.sampled(problem, self.told(problem, mean), generators)
        return mean + r * (self.spread_ / self.settings.edm.sigma_data)

    # -- storing

    def state(self) -> dict[str, Tensor]:
        return super().state() | {f"kriging.{name}": value for name, value in self.kriging.state().items()}

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        self.kriging = Kriging(self.settings.kriging).restore(under("kriging.", state), train)
        return super().restore({name: v for name, v in state.items() if not name.startswith("kriging.")}, train)
