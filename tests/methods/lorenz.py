"""A small chaotic problem for tests: the first frame of Lorenz' 1996 ring of sites from later readings."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmark.core import Grid, Problem
from benchmark.core.equation import Equation
from methods.blocks.gaussian.bases import make_basis
from methods.blocks.gaussian.first_frame import FirstFrame

SITES = (4, 4)  # a ring of 16


class Lorenz(Equation):
    name = "lorenz"
    formula = "u_t(i) = (u(i + 1) - u(i - 2)) u(i - 1) - u(i) + 8"

    def space_terms(self, fields, static, d):
        raise NotImplementedError("sites are no points of space")

    def solve(self, first, static, grid, dt=0.05):
        """Runge and Kutta's fourth-order steps."""
        u = first.flatten(1)
        frames = [u]
        for span in torch.tensor(grid.times).diff().tolist():
            steps = max(1, round(span / dt))
            for _ in range(steps):
                u = _step(u, span / steps)
            frames.append(u)
        return torch.stack(frames, 1).view(len(u), -1, *grid.shape, 1)


def _step(u: Tensor, h: float) -> Tensor:
    a = _rate(u)
    b = _rate(u + h / 2 * a)
    c = _rate(u + h / 2 * b)
    return u + h / 6 * (a + 2 * b + 2 * c + _rate(u + h * c))


def _rate(u: Tensor) -> Tensor:
    return (u.roll(-1, 1) - u.roll(2, 1)) * u.roll(1, 1) - u + 8


def grid(duration: float, frames: int = 2) -> Grid:
    times = torch.linspace(0, duration, frames, dtype=torch.float64)
    return Grid(SITES, (1.0, 1.0), tuple(times.tolist()), "periodic")


def problem(count: int, mask: Tensor, duration: float) -> tuple[Problem, Tensor, FirstFrame]:
    """Readings at sites of `mask` (T, H, W), the true first frames, and the law of states on the attractor."""
    generator = torch.Generator().manual_seed(0)
    start = 8 + torch.randn(200 + count, *SITES, 1, generator=generator, dtype=torch.float64)
    states = Lorenz().solve(start, None, grid(20.0))[:, -1]
    first, others = states[200:], states[:200, ..., 0]
    times = grid(duration, len(mask))
    seen = mask[None, ..., None].expand(count, -1, -1, -1, -1)
    values = torch.where(seen, Lorenz().solve(first, None, times), 0)
    basis, mean, none = make_basis("fourier", times, mask.device), others.mean(0), values.new_zeros(SITES)
    law = FirstFrame(mean, (others - mean).flatten(1) / 199**0.5, basis, none[None, None, :, : SITES[1] // 2 + 1], none)
    return Problem(values, seen, times, Lorenz()), first, law
