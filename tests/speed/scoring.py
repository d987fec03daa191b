"""How long scoring takes: `python -m tests.speed.scoring`. 100 trajectories of 20 x 128^2, one sample, 2 threads.

Each case is run three times; best and worst are printed, the ratio is that of the best. The
load average is printed, as cores that are busy with something else make the times longer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

import torch
from torch import Tensor

from benchmark.core import Grid, Prediction, Problem, Trajectories
from benchmark.core.equation import Equation
from benchmark.core.operators import Derivative, Fourier
from benchmark.scoring.metrics import score
from tests.speed.measure import parser, sized

BOUND = 5.0  # seconds
REPEATS = 3
TRAJECTORIES, FRAMES, SIZE = sized((100, 20, 128), (4, 4, 16))


class Heat(Equation):
    """u_t - nu (u_xx + u_yy) = 0: the cheapest residual."""

    name, formula = "heat", "u_t - nu (u_xx + u_yy) = 0"

    def space_terms(self, fields: Mapping[str, Tensor], static: Tensor | None, d: Derivative) -> dict[str, Tensor]:
        return {"diffusion": -1e-3 * (d(fields["u"], "xx") + d(fields["u"], "yy"))}

    def solve(self, first: Tensor, static: Tensor | None, grid: Grid) -> Tensor:
        raise ValueError("heat: scoring needs no solution")


class Vorticity(Heat):
    """w_t + psi_y w_x - psi_x w_y - nu (w_xx + w_yy) = 0 with -(psi_xx + psi_yy) = w: the dearest residual."""

    name, formula, unknowns = "vorticity", "w_t + psi_y w_x - psi_x w_y - nu (w_xx + w_yy) = 0", ("w", "psi")

    def derive(self, u: Tensor, grid: Grid) -> dict[str, Tensor]:
        return {"w": u[..., 0], "psi": -Fourier(grid, u).inverse_laplacian(u[..., 0])}

    def space_terms(self, fields: Mapping[str, Tensor], static: Tensor | None, d: Derivative) -> dict[str, Tensor]:
        w, psi = fields["w"], fields["psi"]
        advection = d.product(d(psi, "y"), d(w, "x")) - d.product(d(psi, "x"), d(w, "y"))
        return {"advection": advection, "diffusion": -1e-3 * (d(w, "xx") + d(w, "yy"))}


def seconds(equation: Equation, boundary: str) -> list[float]:
    generator = torch.Generator().manual_seed(0)
    shape = (TRAJECTORIES, FRAMES, SIZE, SIZE, 1)
    grid = Grid((SIZE, SIZE), (1.0, 1.0), tuple(float(t) for t in range(FRAMES)), boundary)  # type: ignore[arg-type]
    truth = torch.randn(shape, generator=generator)
    mask = (torch.rand((TRAJECTORIES, 1, SIZE, SIZE, 1), generator=generator) < 0.03).expand(shape)
    prediction = Prediction((truth + 0.1 * torch.randn(shape, generator=generator))[None])
    trajectories = Trajectories(truth, grid, equation)
    problem = Problem(truth * mask, mask, grid, equation)
    score(Prediction(prediction.u[:, :1]), trajectories[:1], problem[:1])  # warm
    taken = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        score(prediction, trajectories, problem)
        taken.append(time.perf_counter() - start)
    return taken


def main() -> None:
    parser(__doc__).parse_args()
    torch.set_num_threads(2)
    print(f"{'case':<24}{'best s':>8}{'worst s':>9}{'bound':>7}{'ratio':>7}{'load':>7}")
    for equation, boundary in ((Heat(), "periodic"), (Heat(), "absorbing"), (Vorticity(), "periodic")):
        taken = seconds(equation, boundary)
        best, worst, load = min(taken), max(taken), os.getloadavg()[0]
        name = f"{equation.name}, {boundary}"
        print(f"{name:<24}{best:>8.2f}{worst:>9.2f}{BOUND:>7.1f}{best / BOUND:>7.2f}{load:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
