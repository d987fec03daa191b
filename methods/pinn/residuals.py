"""The equation at points, written in `datasets` and evaluated on jets, and what must hold at absorbing walls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import mul

import torch
from torch import Tensor

from benchmark.core import Grid
from benchmark.core.equation import Equation
from benchmark.core.operators import Fourier
from methods.pinn.jets import Axes


class Slices:
    """What only a whole periodic slice can give: dealiased products, and unknowns that follow from the first one.

    Vorticity needs its stream function. A network that predicts both has to learn Lap psi = -w besides the equation,
    to a precision that grows with every turn of the flow; on a slice psi is one transform away.
    """

    def __init__(self, equation: Equation, grid: Grid, like: Tensor):
        self.equation, self.grid, self.fourier = equation, grid, Fourier(grid, like)

    def derived(self, u: Tensor) -> dict[str, Tensor]:
        """The other unknowns (B, N) from the first."""
        fields = self.equation.derive(self._slices(u)[..., None], self.grid)
        return {name: fields[name].flatten(1) for name in self.equation.unknowns[1:]}

    def derivative(self, u: Tensor, axes: str) -> Tensor:
        return self.fourier(self._slices(u), axes).flatten(1)

    def product(self, *factors: Tensor) -> Tensor:
        return self.fourier.product(*map(self._slices, factors)).flatten(1)

    def _slices(self, u: Tensor) -> Tensor:
        return u.unflatten(1, (-1, *self.grid.shape))  # (B, S, H, W)


class Lookup:
    """`d(u, "xx")` of the unknowns, read off their jets (B, D, N). Fields are (B, N), coordinates (B or 1, N)."""

    def __init__(self, jets: Mapping[str, Tensor], axes: Axes, x: Tensor, y: Tensor, slices: Slices | None):
        self.x, self.y, self.slices = x, y, slices
        self.fields = {name: jet[:, 0] for name, jet in jets.items()}
        self._rows = {name: jet.unbind(1) for name, jet in jets.items()}
        self._place = {name: i for i, name in enumerate(axes.names)}
        if slices is not None and len(jets) == 1:
            (first,) = self.fields.values()
            self.fields |= slices.derived(first)

    def __call__(self, u: Tensor, axes: str) -> Tensor:
        for name, field in self.fields.items():
            if field is u:
                return self._read(name, u, axes)
        raise ValueError("pinn: the equation differentiates something that is not one of its unknowns")

    def _read(self, name: str, u: Tensor, axes: str) -> Tensor:
        if self.slices is None or name in self._rows:
            return self._rows[name][self._place[axes]]
        return self.slices.derivative(u, axes)

    def product(self, *factors: Tensor) -> Tensor:
        return reduce(mul, factors) if self.slices is None else self.slices.product(*factors)


class _Probe:
    """Answers every derivative with a number by its name, and remembers what was asked."""

    def __init__(self, answers: Mapping[str, float]):
        self.x = self.y = torch.zeros(1, 1)
        self.answers, self.asked = answers, set()

    def __call__(self, u: Tensor, axes: str) -> Tensor:
        self.asked.add(axes)
        return torch.full_like(u, self.answers.get(axes, 0.0))

    def product(self, *factors: Tensor) -> Tensor:
        return reduce(mul, factors)


def axes_of(equation: Equation, static: Tensor | None) -> Axes:
    """The derivatives an equation asks for; time and the walls need first derivatives in any case."""
    probe = _Probe({})
    fields = {name: torch.zeros(1, 1) for name in equation.unknowns}
    site = None if static is None else static[:1].flatten(1, 2)[:, :1].cpu()  # (1, 1, Cs)
    equation.pointwise(fields, site, probe)  # type: ignore[arg-type]
    return Axes.of(probe.asked | set("xy") | ({"t"} if equation.time_order else set()))


def squared_speed(equation: Equation, static: Tensor | None, shape: tuple[int, int]) -> Tensor:
    """c^2 of u_tt = c^2 Lap u at points (B, N): minus what the equation makes of u_xx = 1. static is (B, N, Cs)."""
    fields = {name: torch.zeros(shape, device=None if static is None else static.device) for name in equation.unknowns}
    return -torch.stack(list(equation.space_terms(fields, static, _Probe({"xx": 1.0})).values())).sum(0)


def outflow(jet: Tensor, axes: Axes, speed: Tensor, normal: Tensor) -> Tensor:
    """u_t + c du/dn at a wall: jet (B, D, N), speed (B, N), normal (2, N), the outward direction."""
    rows = dict(zip(axes.names, jet.unbind(1), strict=True))
    return rows["t"] + speed * (normal[0] * rows["x"] + normal[1] * rows["y"])
