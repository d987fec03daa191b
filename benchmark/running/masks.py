"""Where the randomness of masks comes from when a method is evaluated: a pure function of names and numbers.

Every method sees the same sensors and the same sensor noise, on every machine and in any order of evaluation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from benchmark.core import keyed_generator


def mask_generator(dataset: str, task: str, index: int, mask_seed: int, repeat: int = 0) -> torch.Generator:
    """The generator that draws the mask of test trajectory `index`; `repeat` counts its further masks, if any."""
    return keyed_generator(dataset, task, index, mask_seed, repeat)


def mask_generators(
    dataset: str, task: str, indices: Iterable[int], mask_seed: int, masks: int = 1
) -> list[torch.Generator]:
    """One generator for each observation, trajectory by trajectory: with `masks` > 1 a trajectory has several.

    It belongs to trajectories repeated the same way: `u.repeat_interleave(masks, dim=0)`.
    """
    return [mask_generator(dataset, task, i, mask_seed, r) for i in indices for r in range(masks)]


@dataclass(frozen=True)
class MaskNames:
    """The names and numbers that the masks of a set of trajectories are drawn from."""

    dataset: str
    task: str
    seed: int = 0
    masks: int = 1  # per trajectory

    def generators(self, trajectories: int) -> list[torch.Generator]:
        return mask_generators(self.dataset, self.task, range(trajectories), self.seed, self.masks)
