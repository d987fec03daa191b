"""One network to train: on which examples, by which losses, for how long. A fit is one stage or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from benchmark.core import Run, TrajectorySet
from methods.blocks.training.budget import Progress, Training
from methods.blocks.training.examples import Examples
from methods.blocks.training.loop import Validate, fit_loop
from methods.blocks.training.optimiser import Group

Losses = Callable[[nn.Module, Any, torch.Generator], Tensor]  # model, examples, draws -> of each example: (B,)

PART = 16  # validation examples at once


@dataclass(frozen=True)
class Stage:
    model: nn.Module  # trained in place
    examples: Examples
    losses: Losses
    training: Training
    validation: int  # examples of `valid` that choose among the weights; 0: the last ones stay
    errors: Losses | None = None  # what is validated; default: the losses
    groups: Sequence[Group] | None = None  # of parameters; default: `default_groups`
    name: str = ""  # of a folder of its own, where a fit has several stages

    def fit(self, train: TrajectorySet, valid: TrajectorySet, seed: int, run: Run) -> Progress:
        folder = run.folder if run.folder is None or not self.name else run.folder / self.name
        batches = self.examples.batches(train, self.training.batch, seed)
        validate = self.validate(valid) if self.validation and len(valid) else None
        own = replace(run, folder=folder)
        return fit_loop(self.model, self._loss, batches, self.training, own, seed, validate, self.groups)

    def _loss(self, model: nn.Module, batch: Any, draws: torch.Generator) -> Tensor:
        return self.losses(model, self.examples.augment(batch, draws), draws).mean()

    def validate(self, valid: TrajectorySet) -> Validate:
        """The mean error over examples, noise levels and noise that are the same for every fit."""
        examples, errors = self.examples.fixed(valid, self.validation), self.errors or self.losses

        def validate(model: nn.Module) -> float:
            device = next(model.parameters()).device
            draws = torch.Generator(device).manual_seed(0)
            parts = [examples[i : i + PART].to(device) for i in range(0, len(examples), PART)]
            return float(torch.cat([errors(model, part, draws) for part in parts]).mean())

        return validate
