"""How long a cell will take on a machine: the work that its method counts of itself, at the machine's rates.

    fit         steps x (forward, backward, optimiser), of the batch of all devices together
    prediction  trajectories x samples x windows x evaluations of the network

Left out: reading and generating data, validations, scoring. Where PyTorch runs other kernels than those counted, as
natten's on CUDA, they may move fewer bytes than the forecast says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmark.core import Work
from benchmark.planning import counts
from benchmark.planning.machine import Machine, Precision
from benchmark.planning.resolve import Resolved
from benchmark.records.cell import field_names, is_settings


@dataclass(frozen=True)
class Forecast:
    """Of one cell on one device; several share the fit's seconds, as far as they keep each other busy."""

    machine: Machine
    fit: Work
    prediction: Work  # of the whole test set
    fit_seconds: float
    prediction_seconds: float

    @property
    def seconds(self) -> float:
        return self.fit_seconds + self.prediction_seconds

    @property
    def flop(self) -> float:
        return self.fit.flop + self.prediction.flop

    @property
    def basis(self) -> str:
        return f"forecast for {self.machine.assumption}"


def forecast(cell: Resolved, machine: Machine, has_fit: bool = False) -> Forecast | None:
    """`has_fit`: it is there, or another cell makes it. None: the method does not count its work."""
    evaluation, no_fit = cell.identity["evaluation"], has_fit or cell.method.scope == "instance"
    fit, one = Work() if no_fit else counts.fit_work(cell), counts.prediction_work(cell)
    if fit is None or one is None:
        return None
    prediction = evaluation["trajectories"] * evaluation["samples"] * one
    learning, answering = precisions(cell)
    return Forecast(machine, fit, prediction, machine.seconds(fit, learning), machine.seconds(prediction, answering))


def precisions(cell: Resolved) -> tuple[Precision, Precision]:
    """Of training and of prediction, on a GPU."""
    mixed = "bf16-mixed" in _precisions(cell.settings)
    return "bf16" if mixed else "fp32", "bf16" if mixed and getattr(cell.method, "autocast", False) else "fp32"


def _precisions(settings: Any) -> set[str]:
    found: set[str] = set()
    for name in field_names(settings) if is_settings(settings) else ():
        value = getattr(settings, name)
        found |= {value} if name == "precision" else _precisions(value)
    return found
