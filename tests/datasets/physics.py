"""Instances of the five datasets with other sizes or physics, and the two numbers a convergence test needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from torch import Tensor

from benchmark.core import Dataset
from datasets.allen_cahn import AllenCahn
from datasets.helmholtz import Helmholtz
from datasets.kolmogorov import Kolmogorov
from datasets.navier_stokes import NavierStokes
from datasets.wave_layer import WaveLayer

FIVE = (WaveLayer, NavierStokes, Kolmogorov, AllenCahn, Helmholtz)


def make(kind: type[Dataset], profile: str = "smoke", *, sizes: dict | None = None, **changes: object) -> Dataset:
    """A dataset of a profile, with other sizes or physics."""
    settings = kind.profiles[profile]
    return kind(replace(settings, sizes=replace(settings.sizes, **(sizes or {})), **changes))


def relative(a: Tensor, b: Tensor) -> float:
    return ((a - b).norm() / b.norm()).item()


def orders(errors: Sequence[float]) -> list[float]:
    """Observed orders of errors whose step is halved from one to the next."""
    return [math.log2(coarse / fine) for coarse, fine in zip(errors, errors[1:], strict=False)]
