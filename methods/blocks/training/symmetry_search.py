"""Which symmetries an equation and its data have, found by trial.

A candidate g counts if it turns solutions into solutions, residual(g u) = g residual(u), which a force, a wall or a
drift may forbid, and if the data look alike before and after, in their mean, mean square and roughness: solutions that
never occur would only take the place of those that do. Shifts are tried along the axes and diagonals of a periodic
grid; two that count make a third, so that a product of the four families is all that is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import torch
from torch import Tensor

from benchmark.core import Trajectories, TrajectorySet
from methods.blocks.statistics import pieces
from methods.blocks.training.symmetry import Symmetries, Symmetry

COARSE = 32  # points per axis, at most, on which the equation is tried
EXACT = 1e-6  # of the size of the equation's terms
ALIKE = 3.0  # times the difference between two halves of the set
TRAJECTORIES = 512  # whose statistics are compared
PARTS = 16  # they are read in
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))
MATRICES = tuple((a, b, c, d) for a, b, c, d in product((-1, 0, 1), repeat=4) if abs(a * d - b * c) == 1 and not a * b)


def find_symmetries(train: TrajectorySet) -> Symmetries:
    """Of the equation of a set, on its grid."""
    grid, periodic = train.grid, train.grid.boundary == "periodic"
    step = max(1, min(grid.shape) // COARSE) if periodic else 1
    trial, look = Trial(_coarse(train[:1], step)), Look(train, step)

    def counting(candidates: Iterable[Symmetry]) -> set[Symmetry]:
        return trial.passed([g for g in candidates if look.holds(g)])

    square = grid.shape[0] == grid.shape[1] and grid.lengths[0] == grid.lengths[1]
    shape, points = trial.probe.grid.shape, []
    for matrix, sign in product([m for m in MATRICES if square or m[0]], (1, -1)):
        first, *others = [Symmetry(matrix, shift, sign) for shift in _shifts(matrix, shape, periodic)]
        found = counting([first]) or counting(others)
        points += [g for g in (first, *others) if g in found][:1]
    ways = DIRECTIONS if periodic else ()
    found = counting(Symmetry(shift=shift) for way in ways for shift in _along(way, shape))
    shifts = [_group(_along(way, shape), found) for way in ways]
    scaled = tuple(replace(g, shift=_times(step, g.shift)) for g in points)
    return Symmetries(scaled, tuple(tuple(_times(step, s) for s in family) for family in shifts if len(family) > 1))


class Trial:
    """Does the equation commute with a symmetry, on as many frames of a trajectory as its time derivative takes?"""

    def __init__(self, probe: Trajectories):
        frames = max(2, probe.equation.time_order + 1)
        self.probe = replace(probe, u=probe.u[:, :frames], grid=probe.grid.first(frames))
        terms = [self._field(t) for t in probe.equation.terms(self.probe.u, probe.static, self.probe.grid).values()]
        self.size = sum(float(term.norm()) for term in terms)
        self.residual = torch.stack(terms).sum(0)

    def passed(self, candidates: Sequence[Symmetry]) -> set[Symmetry]:
        if not candidates:
            return set()
        probe = self.probe
        u = torch.cat([g.sign * g(probe.u) for g in candidates])
        static = None
        if probe.static is not None:
            static = torch.cat([g(probe.static[:, None])[:, 0] for g in candidates])
        found = self._field(probe.equation.residual(u, static, probe.grid))
        expected = torch.cat([g.sign * self._inner(g)(self.residual) for g in candidates])
        errors = (found - expected).flatten(1).norm(dim=1)
        return {g for g, error in zip(candidates, errors.tolist(), strict=True) if error <= EXACT * self.size}

    def _inner(self, g: Symmetry) -> Symmetry:
        """The residual has no walls: a reflection shifts by fewer sites."""
        cut = self.probe.grid.shape[0] - self.residual.shape[2]
        return replace(g, shift=(g.shift[0] - cut * (g.shift[0] > 0), g.shift[1] - cut * (g.shift[1] > 0)))

    @staticmethod
    def _field(term: Tensor) -> Tensor:
        """(B, T', H', W') or, of a steady problem, (B, H', W') -> (B, T', H', W', 1)."""
        return (term if term.ndim == 4 else term[:, None])[..., None]


class Look:
    """Statistics of a set that a symmetry must leave alone, within what two halves of the set differ by."""

    def __init__(self, train: TrajectorySet, step: int):
        size = max(1, min(TRAJECTORIES, len(train)) // PARTS)
        parts = [_statistics(_coarse(piece, step)) for piece in pieces(train, TRAJECTORIES, size)]
        middle = len(parts) // 2
        halves = [_mean(part) for part in (parts[:middle] or parts, parts[middle:])]
        self.whole = _mean(parts)
        self.allowed = [ALIKE * _change(a, b) for a, b in zip(*halves, strict=True)]

    def holds(self, g: Symmetry) -> bool:
        return all(_change(s, _turned(s, g)) <= a for s, a in zip(self.whole, self.allowed, strict=True))


@dataclass(frozen=True)
class Statistic:
    """`value` (1, T, H, W, C) at each site, or (2,) along each axis; `size` makes differences of it relative."""

    value: Tensor
    size: Tensor
    odd: bool = False  # changes its sign with u


def _statistics(piece: Trajectories) -> list[Statistic]:
    """Mean and mean square of u, mean square deviation of the coefficients, roughness of both along x and y."""
    u, static = piece.u, piece.static
    square = u.square().mean(0, keepdim=True)
    found = [Statistic(u.mean(0, keepdim=True), square.sum().sqrt(), odd=True), Statistic(square, square.norm())]
    fields = [u] if static is None else [u, static[:, None] - static.mean((0, 1, 2))]
    if static is not None:
        square = fields[1].square().mean(0, keepdim=True)
        found.append(Statistic(square, square.norm()))
    for field in fields:
        rough = torch.stack([field.diff(dim=axis).square().mean() for axis in (2, 3)])
        found.append(Statistic(rough, rough.norm()))
    return found


def _mean(parts: Sequence[Sequence[Statistic]]) -> list[Statistic]:
    columns = zip(*parts, strict=True)
    return [
        Statistic(torch.stack([s.value for s in c]).mean(0), torch.stack([s.size for s in c]).mean(0), c[0].odd)
        for c in columns
    ]


def _turned(s: Statistic, g: Symmetry) -> Statistic:
    if s.value.ndim == 1:
        return s if g.matrix[0] else replace(s, value=s.value.flip(0))  # x and y change places
    return replace(s, value=(g.sign if s.odd else 1) * g(s.value))


def _change(before: Statistic, after: Statistic) -> float:
    return float((before.value - after.value).norm() / before.size.clamp(min=1e-30))


def _coarse(piece: Trajectories, step: int) -> Trajectories:
    """On every `step`-th point, in float64."""
    shape = piece.grid.shape[0] // step, piece.grid.shape[1] // step
    static = None if piece.static is None else piece.static[:, ::step, ::step].double()
    return Trajectories(
        piece.u[:, :, ::step, ::step].double(), replace(piece.grid, shape=shape), piece.equation, static
    )


def _shifts(matrix: tuple[int, ...], shape: tuple[int, int], periodic: bool) -> list[tuple[int, int]]:
    """To try with a matrix: between walls only the one that maps the domain onto itself."""
    a, b, c, d = matrix
    if not periodic:
        return [((a + b < 0) * (shape[0] - 1), (c + d < 0) * (shape[1] - 1))]
    return list(dict.fromkeys(shift for way in DIRECTIONS for shift in _along(way, shape)))


def _along(way: tuple[int, int], shape: tuple[int, int]) -> list[tuple[int, int]]:
    return [_times(k, way) for k in range(min(shape))]


def _group(family: Sequence[tuple[int, int]], found: set[Symmetry]) -> list[tuple[int, int]]:
    """The shifts that count together with all their multiples."""
    counts = [Symmetry(shift=shift) in found for shift in family]
    n = len(family)
    return [family[k] for k in range(n) if all(counts[k * m % n] for m in range(n))]


def _times(k: int, pair: tuple[int, int]) -> tuple[int, int]:
    return k * pair[0], k * pair[1]
