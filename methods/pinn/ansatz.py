"""What is known goes into the form of the answer, so that the network need not learn it.

    field = base + gain * scale * network

A frame that is seen in full becomes `base` and gain = (t - t_seen) / T: the answer passes through it (Lagaris et al.,
1998). A field of a steady problem that is seen in full needs no network: gain = 0. With walls where the solution is
zero, gain vanishes on them. Otherwise base = 0 and gain = 1. `scale` is the size of what is seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from benchmark.core import Grid, Problem
from benchmark.core.equation import Equation
from benchmark.core.operators import on_grid
from methods.pinn.jets import VALUE, Axes
from methods.pinn.points import Points


@dataclass(frozen=True)
class Ansatz:
    """K unknowns of B instances."""

    axes: Axes
    grid: Grid
    base: Tensor  # (B, D, HW, K)
    edge: Tensor  # (D, HW, K), the part of gain that depends on the place
    scale: Tensor  # (B, K)
    anchor: Tensor  # (B,) index of the frame the answer passes through, -1: none
    free: Tensor  # (B, K) 0 where a field is known
    rest: bool

    def __call__(self, out: Tensor, points: Points) -> Tensor:
        """Jets of the network (B, D, N, K) -> jets of the unknowns (B, D, N, K); D = 1: values only."""
        axes = self.axes if out.shape[1] > 1 else VALUE
        d, b = len(axes), len(out)
        site = points.site.expand(b, -1)
        base = self.base[torch.arange(b, device=site.device)[:, None], :d, site].movedim(2, 1)  # (B, D, N, K)
        edge = self.edge[:d, site].movedim(0, 1)  # (B, D, N, K)
        gain = axes.product(self.ramp(points.time)[:, :d, :, None], edge, 1)
        return base + axes.product(gain, out * (self.scale * self.free)[:, None, None], 1)

    def ramp(self, t: Tensor) -> Tensor:
        """The jet (B, D, N) of the part of gain that depends on time."""
        times = torch.tensor(self.grid.times, dtype=t.dtype, device=t.device)
        seen = times[self.anchor.clamp(min=0)][:, None]  # (B, 1)
        span = times[-1] - times[0]
        one = torch.ones(len(seen), t.shape[1], dtype=t.dtype, device=t.device)
        if self.rest:  # even in time
            parts = {"": (t**2 - seen**2) / span**2, "t": 2 * t / span**2 * one, "tt": 2 / span**2 * one}
        else:
            parts = {"": (t - seen) / span, "t": one / span}
        ramp = torch.stack([parts.get(name, 0 * one) for name in self.axes.names], dim=1)
        flat = torch.zeros_like(ramp)
        flat[:, 0] = 1
        return torch.where((self.anchor >= 0)[:, None, None], ramp, flat)


def make_ansatz(problem: Problem, axes: Axes, rest: bool, exact: bool) -> Ansatz:
    """`exact`: the observations are free of noise, so that a frame seen in full can be kept."""
    equation, grid = problem.equation, problem.grid
    full = problem.mask.flatten(2).all(2) & exact  # (B, T)
    scale = _scales(problem)
    edge = torch.zeros(len(axes), *grid.shape, len(predicted(equation)))
    edge[0] = 1
    if grid.boundary == "dirichlet":
        edge[..., 0] = _bubble(grid, axes)
    if equation.time_order == 0:
        base, free = _known_fields(problem, full, axes)
        anchor = torch.full((len(problem),), -1)
    else:
        anchor = torch.where(full[:, 0], 0, torch.where(full[:, -1], len(grid.times) - 1, -1))
        base = _known_frame(problem, anchor, axes)
        free = torch.ones_like(scale)
    edge = edge.flatten(1, 2).to(base)
    return Ansatz(axes, grid, base.flatten(2, 3), edge, scale, anchor.to(base.device), free, rest)


def predicted(equation: Equation) -> tuple[str, ...]:
    """The unknowns a network predicts: all fields of a steady problem, otherwise the one that is stored."""
    return equation.unknowns[:1] if equation.time_order else equation.unknowns


def shown(equation: Equation, grid: Grid) -> list[int]:
    """The unknown that each frame shows, (T,): the first one, or in a steady problem what `derive` finds there."""
    frames = len(grid.times)
    if equation.time_order:
        return [0] * frames
    numbered = torch.arange(frames, dtype=torch.float32)[None, :, None, None, None].expand(1, -1, *grid.shape, 1)
    names = {int(field.flatten()[0]): name for name, field in equation.derive(numbered, grid).items()}
    return [equation.unknowns.index(names[i]) for i in range(frames)]


def first_mode(grid: Grid) -> float:
    """-Lap of the longest wave in the box: what ties the size of a field to that of its Laplacian."""
    return 2 * ((2 if grid.boundary == "periodic" else 1) * torch.pi / max(grid.lengths)) ** 2


def _scales(problem: Problem) -> Tensor:
    """The size of each unknown (B, K): what is observed of it, or of the unknowns that the Laplacian ties it to."""
    equation, factor = problem.equation, first_mode(problem.grid)
    if equation.time_order:
        return _rms(problem.values, problem.mask)[:, None]
    order = _frames(problem)
    seen = torch.stack([_rms(problem.values[:, i], problem.mask[:, i]) for i in order], dim=1)  # (B, K)
    known = torch.stack([problem.mask[:, i].flatten(1).any(1) for i in order], dim=1)
    ratio = torch.tensor([1.0] + [factor] * (len(order) - 1), device=seen.device)  # to the size of the solution
    level = (known * seen / ratio).sum(1, keepdim=True) / known.sum(1, keepdim=True).clamp(min=1)
    return torch.where(known, seen, level * ratio)


def _rms(values: Tensor, mask: Tensor) -> Tensor:
    """(B,), 1 where nothing but zeros is seen."""
    total = torch.where(mask, values, 0).double().square().flatten(1).sum(1)
    size = (total / mask.flatten(1).sum(1).clamp(min=1)).sqrt()
    return torch.where(size > 0, size, 1).float()


def _frames(problem: Problem) -> list[int]:
    """The frame that shows each unknown of a steady problem, (K,)."""
    unknowns = shown(problem.equation, problem.grid)
    return [unknowns.index(k) for k in range(len(unknowns))]


def _known_frame(problem: Problem, anchor: Tensor, axes: Axes) -> Tensor:
    """The anchored frame (B, D, H, W, 1); zero for an instance that has none."""
    rows = torch.arange(len(problem), device=anchor.device)
    frame = torch.where(problem.mask, problem.values, 0)[rows, anchor.clamp(min=0)]  # (B, H, W, 1)
    frame = frame[..., 0] * (anchor >= 0).view(-1, 1, 1)
    return _jet(frame, problem.grid, axes)[..., None]


def _known_fields(problem: Problem, full: Tensor, axes: Axes) -> tuple[Tensor, Tensor]:
    """The fields of a steady problem that are seen in full (B, D, H, W, K), and 0 for those, 1 for others (B, K)."""
    order = _frames(problem)
    known = full[:, order]  # (B, K)
    jets = [_jet(problem.values[:, i, ..., 0], problem.grid, axes) for i in order]
    return torch.where(known[:, None, None, None], torch.stack(jets, dim=-1), 0), (~known).float()


def _jet(field: Tensor, grid: Grid, axes: Axes) -> Tensor:
    """A still field (B, H, W) with its derivatives on the grid, (B, D, H, W); second ones are zero at walls."""
    d, (hx, hy) = on_grid(grid, field), grid.spacing
    rows = {"": field}
    for name in axes.names[1:]:
        if "t" in name:
            rows[name] = torch.zeros_like(field)
        elif grid.boundary != "periodic" and len(name) == 1:  # one-sided at walls
            rows[name] = torch.gradient(field, spacing=hx if name == "x" else hy, dim=-2 if name == "x" else -1)[0]
        else:
            rows[name] = d(field, name)
    return torch.stack(list(rows.values()), dim=1)


def _bubble(grid: Grid, axes: Axes) -> Tensor:
    """sin(pi x / L) sin(pi y / L) with its derivatives, (D, H, W)."""
    angle = [torch.pi * v / length for v, length in zip(grid.axes(torch.float64), grid.lengths, strict=True)]
    k = [torch.pi / length for length in grid.lengths]
    sx, sy = (a.sin() for a in angle)
    cx, cy = (a.cos() for a in angle)
    b = sx * sy
    rows = {"": b, "x": k[0] * cx * sy, "y": k[1] * sx * cy, "xx": -(k[0] ** 2) * b, "yy": -(k[1] ** 2) * b}
    return torch.stack([rows.get(name, torch.zeros_like(b)) for name in axes.names]).float()
