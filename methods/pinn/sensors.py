"""What is observed and not already part of the ansatz, instance by instance."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from benchmark.core import Problem
from methods.pinn.ansatz import Ansatz, shown
from methods.pinn.points import Points


@dataclass(frozen=True)
class Sensors:
    """Readings of each instance, padded to equal number; the weights of an instance sum to 1, or 0 if it has none."""

    points: Points  # (B, M)
    unknown: Tensor  # (B, M) which of the K unknowns is read
    value: Tensor  # (B, M)
    weight: Tensor  # (B, M)

    def some(self, most: int, generator: Generator) -> Sensors:
        """All of them, or `most` of them drawn at random; the draw does not depend on the other instances."""
        if self.value.shape[1] <= most:
            return self
        count = (self.weight > 0).sum(1, keepdim=True)  # (B, 1)
        chosen = (torch.rand(most, generator=generator).to(self.value) * count).long()  # (B, most)
        chosen = chosen.clamp(max=self.value.shape[1] - 1)
        site, time, unknown, value, weight = (
            v.gather(1, chosen) for v in (self.points.site, self.points.time, self.unknown, self.value, self.weight)
        )
        return Sensors(Points(site, time), unknown, value, (weight > 0).float() / most)


def find_sensors(problem: Problem, ansatz: Ansatz) -> Sensors | None:
    """None if nothing is left to fit: the ansatz holds frames seen in full, and walls are part of the problem."""
    (h, w), device = problem.grid.shape, problem.values.device
    unknown = torch.tensor(shown(problem.equation, problem.grid), device=device)  # (T,)
    seen = problem.mask[..., 0] & _left(ansatz, unknown)[..., None, None]  # (B, T, H, W)
    if problem.grid.boundary == "dirichlet":
        seen[..., 0, :] = seen[..., -1, :] = seen[..., 0] = seen[..., -1] = False
    flat = seen.flatten(1)
    if not flat.any():
        return None
    order = torch.argsort(~flat, dim=1, stable=True)[:, : int(flat.sum(1).max())]  # (B, M), seen ones first
    weight = flat.gather(1, order).float()
    value = problem.values[..., 0].flatten(1).gather(1, order)
    frame, site = order // (h * w), order % (h * w)
    times = torch.tensor(problem.grid.times, device=device)
    count = weight.sum(1, keepdim=True).clamp(min=1)
    return Sensors(Points(site, times[frame]), unknown[frame], torch.where(weight > 0, value, 0), weight / count)


def _left(ansatz: Ansatz, unknown: Tensor) -> Tensor:
    """Which frames of which instance the ansatz does not hold, (B, T)."""
    frame = torch.arange(len(unknown), device=unknown.device)
    return (frame != ansatz.anchor[:, None]) & (ansatz.free[:, unknown] > 0)
