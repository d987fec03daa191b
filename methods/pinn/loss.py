"""The loss of a batch of instances: misfit at the sensors and residuals at collocation points, all without units.

    loss = weight * mean ((u - y) / U)^2 + mean (r T^n / U)^2 + mean (outflow T / U)^2

U is the size of what is observed, T the time span: a residual r that acts for a time T moves u by r T^n (n the order
in time; a steady problem has the Laplacian's smallest eigenvalue instead of T^-n). No instance enters another's loss.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from benchmark.core import Problem
from methods.pinn.ansatz import Ansatz, first_mode, predicted, shown
from methods.pinn.features import Features
from methods.pinn.jets import VALUE
from methods.pinn.network import evaluate
from methods.pinn.points import Collocation, Points, Sampling, Sites
from methods.pinn.residuals import Lookup, Slices, outflow, squared_speed
from methods.pinn.sensors import Sensors, find_sensors


class Answer:
    """The unknowns as functions of the weights: features, network and ansatz in turn."""

    def __init__(self, features: Features, sizes: Sequence[int], ansatz: Ansatz):
        self.features, self.sizes, self.ansatz = features, sizes, ansatz

    def jets(self, weights: Tensor, points: Points) -> Tensor:
        """(B, D, N, K)."""
        out = evaluate(weights, self.sizes, self.features(points), self.features.axes)
        return self.ansatz(out, points)

    def values(self, weights: Tensor, points: Points) -> Tensor:
        """(B, N, K)."""
        out = evaluate(weights, self.sizes, self.features(points, values_only=True), VALUE)
        return self.ansatz(out, points)[:, 0]


class Loss:
    def __init__(self, problem: Problem, answer: Answer, sampling: Sampling, weight: float, seed: int):
        self.equation, self.grid, self.answer = problem.equation, problem.grid, answer
        self.sampling, self.weight = sampling, weight
        self.size = answer.ansatz.scale[:, :1]  # (B, 1)
        self.static = None if problem.static is None else problem.static.flatten(1, 2)  # (B, HW, Cs)
        self.sites = Sites(self.grid, problem.values.device)
        steady, device = self.equation.time_order == 0, problem.values.device
        self.times = Collocation(self.grid, sampling, steady, seed, device)
        self.slices = Slices(self.equation, self.grid, problem.values) if self.grid.boundary == "periodic" else None
        self.sensors = find_sensors(problem, answer.ansatz)

    def __call__(self, weights: Tensor, step: int | None) -> Tensor:
        """(B,); step None: on the fixed points."""
        times = self.times(step)
        total = self._equation(weights, Points.slices(self.sites.inner, times))
        if self.grid.boundary == "absorbing":
            total = total + self._outflow(weights, Points.slices(self.sites.walls, times))
        if self.sensors is not None:
            few = step is not None  # L-BFGS sees them all
            sensors = self.sensors.some(self.sampling.sensors, self.times.generator(step)) if few else self.sensors
            total = total + self.weight * self._misfit(weights, sensors)
        return total

    def _equation(self, weights: Tensor, points: Points) -> Tensor:
        names, axes = predicted(self.equation), self.answer.features.axes
        jets = dict(zip(names, self.answer.jets(weights, points).unbind(-1), strict=True))
        d = Lookup(jets, axes, self.sites.x[points.site], self.sites.y[points.site], self.slices)
        residuals = self.equation.pointwise(d.fields, self._static(points), d)  # type: ignore[arg-type]
        total = _mean_square(residuals.pop("equation") / (self.size * self._rate()))
        if len(names) == len(self.equation.unknowns):  # derived unknowns obey the closure as they are
            total = total + sum(_mean_square(closure / self.size) for closure in residuals.values())
        return total

    def _rate(self) -> float:
        order, times = self.equation.time_order, self.grid.times
        return (times[-1] - times[0]) ** -order if order else first_mode(self.grid)

    def _outflow(self, weights: Tensor, points: Points) -> Tensor:
        site, span = points.site[0], self.grid.times[-1] - self.grid.times[0]
        speed = squared_speed(self.equation, self._static(points), (len(self.size), len(site))).sqrt()
        jet = self.answer.jets(weights, points)[..., 0]
        residual = outflow(jet, self.answer.features.axes, speed.to(jet), self.sites.normal[:, site])
        return _mean_square(residual * span / self.size)

    def _misfit(self, weights: Tensor, sensors: Sensors) -> Tensor:
        u = self.answer.values(weights, sensors.points)  # (B, M, K)
        size = self.answer.ansatz.scale[:, None].expand_as(u)
        u, size = (v.gather(-1, sensors.unknown[..., None])[..., 0] for v in (u, size))
        return (sensors.weight * ((u - sensors.value) / size).square()).sum(1)

    def _static(self, points: Points) -> Tensor | None:
        return None if self.static is None else self.static[:, points.site[0]]


def _mean_square(r: Tensor) -> Tensor:
    return r.square().mean(1)


def video(answer: Answer, weights: Tensor, problem: Problem) -> Tensor:
    """The answer on the grid, (B, T, H, W, 1), frame by frame; a field that vanishes at walls is zero on them."""
    times, sites = problem.grid.times, torch.arange(problem.values[0, 0].numel(), device=weights.device)[None]
    with torch.no_grad():
        fields = [answer.values(weights, Points(sites, torch.full_like(sites, t, dtype=weights.dtype))) for t in times]
    unknowns = shown(problem.equation, problem.grid)  # (T,)
    frames = torch.stack([field[..., k] for field, k in zip(fields, unknowns, strict=True)], dim=1)
    frames = frames.view_as(problem.values)
    if problem.grid.boundary == "dirichlet":
        inside = torch.nn.functional.pad(torch.ones_like(frames[0, 0, 1:-1, 1:-1, 0]), (1, 1, 1, 1))
        frames = frames * inside[..., None]
    return frames
