"""Sizes along time and space, and constant tensors that depend on them alone: computed once and then looked up."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, TypeVar

import torch

Triple = tuple[int, int, int]  # along T, H and W
R = TypeVar("R")


def table(build: Callable[..., R]) -> Callable[..., R]:
    """Remember what `build` returns for each set of (hashable) arguments: masks, indices, rotations.

    Tables are made outside of inference mode, so that one first needed while sampling can serve training later, and
    outside of `torch.compile`: a function compiled after one ordinary call finds its tables and stays one graph.
    """
    remembered: dict[tuple[Hashable, ...], R] = {}

    def fill(arguments: tuple[Hashable, ...]) -> None:
        with torch.inference_mode(False), torch.no_grad():
            remembered[arguments] = build(*arguments)

    fill_uncompiled: Any = torch.compiler.disable(fill)

    @wraps(build)
    def look_up(*arguments: Hashable) -> R:
        if arguments not in remembered:
            fill_uncompiled(arguments)
        return remembered[arguments]

    return look_up
