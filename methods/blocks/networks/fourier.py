"""The Fourier neural operator of neuraloperator, over (x, y) or (x, y, t), as this suite sets it up."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal, get_args

from torch import nn

from benchmark.core import Grid

Form = Literal["3d", "2d", "recurrent"]


@dataclass(frozen=True)
class Architecture:
    """Defaults: the reference code's FNO-3D at the width of the paper's two-dimensional problems.

    Modes count both signs: 24 are the 12 positive ones of the paper. They are cut to what a grid has.
    """

    form: Form = "3d"
    width: int = 32
    modes: int = 24  # in x and in y
    time_modes: int = 16  # in t, where there is an axis of time
    layers: int = 4
    padding: float = 0.125  # of an axis that is not periodic, on both sides, as a share of it (ours)
    lifting: int = 2  # width of the first hidden layer over `width`: neuraloperator's
    projection: int = 4  # width of the last hidden layer over `width`: the paper's 128

    def __post_init__(self) -> None:
        if self.form not in get_args(Form):
            raise ValueError(f"form: expected one of {', '.join(get_args(Form))}, got {self.form!r}")


def operator(architecture: Architecture, grid: Grid, inputs: int, outputs: int, frames: int | None = None) -> nn.Module:
    """neuraloperator's FNO over (x, y), or over (x, y, t) with so many frames."""
    if any(n % 2 for n in grid.shape):
        raise ValueError(f"fno: expected an even number of points in x and y (neuraloperator 2.0), got {grid.shape}")
    modes = [min(architecture.modes, n) for n in grid.shape]
    padding = [0.0 if grid.boundary == "periodic" else architecture.padding] * 2
    if frames is not None:
        modes.append(min(architecture.time_modes, frames))
        padding.append(architecture.padding)
    return _import_fno()(
        n_modes=tuple(modes),
        in_channels=inputs,
        out_channels=outputs,
        hidden_channels=architecture.width,
        n_layers=architecture.layers,
        lifting_channel_ratio=architecture.lifting,
        projection_channel_ratio=architecture.projection,
        positional_embedding=None,  # coordinates come with the input
        domain_padding=padding if any(padding) else None,
    )


def _import_fno() -> Any:
    """The import changes what is done with warnings; here it does so for its own duration only."""
    with warnings.catch_warnings():
        from neuralop.models import FNO as NeuralOperatorFNO
    return NeuralOperatorFNO
