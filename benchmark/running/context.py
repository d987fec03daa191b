"""The context of a run: what its cells share, what they may use, and whom they tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from benchmark.planning.request import Request


@dataclass(frozen=True)
class RunContext:
    """What a cell's run may use and whom it tells."""

    request: Request
    device: torch.device
    since: str  # when this run began; with --overwrite older fits are thrown away
    code: dict[str, Any]  # commit and dirty flag
    progress: Callable[[str, float], None] = lambda message, fraction: None
    clock: Callable[[bool], None] = lambda runs: None  # False: what follows is not on the cell's time limit
