"""Validation of a denoiser: its loss at fixed examples, noise levels and noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from methods.blocks.training.loop import Validate

Losses = Callable[[nn.Module, Any, torch.Generator], Tensor]  # model, examples, draws -> the loss of each: (B,)


def at_fixed_noise(losses: Losses, parts: Sequence[Any]) -> Validate:
    """The mean over all examples, which come in parts that are on any device."""

    def validate(model: nn.Module) -> float:
        device = next(model.parameters()).device
        draws = torch.Generator(device).manual_seed(0)
        return float(torch.cat([losses(model, part.to(device), draws) for part in parts]).mean())

    return validate


def in_parts(examples: Any, size: int) -> list[Any]:
    """Slices of at most `size` examples."""
    return [examples[i : i + size] for i in range(0, len(examples), size)]
