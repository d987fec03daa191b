"""Guidance weights: those of DiffusionPDE's code and paper, and those chosen for profile laptop.

The published ones belong to losses in physical units,

    code    z_a |a - a_obs| + z_u |u - u_obs| + z_pde |f| / m            unsquared norms, m cells
    paper   z_a |a - a_obs|^2 / n + z_u |u - u_obs|^2 / n + z_pde |f|^2 / m

for 500 sensors at 128^2 and 2000 steps, and to the units v in which the source samples, u = s v with s the scale of its
data: v <- v - z dL/dv. Here x = 0.5 (u - mean) / std = c v + const., c = 0.5 s / std, is what is sampled. A gradient
step is not invariant to that. With the denoiser's Jacobian J, which is the same in both, the estimate moves by

    there   du = s dv = - z s^2 J^T dL/du              here   du = (std / 0.5) dx = - w (std / 0.5)^2 J^T dL/du

so that the same loss asks for w = z c^2. Losses here are of residuals over a unit q, std / 0.5 for observations and the
size of its terms for f, and so q times smaller (mean squares q^2):

    code    w = z c^2 q,  of observations z s^2 0.5 / std          paper   w = z c^2 q^2,  of observations z s^2

The code's z_a and z_u of both equations come out alike, between 5 and 7 (the paper's do not): that is what equations
without a published weight get. The two fields of a steady problem have a c each, and f has their geometric mean. The
table `laptop` belongs to normalised units and to the profile's 100 steps; `benchmark sweep` chose it. The settings
`observation` and `physics` multiply any table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Table = Literal["code", "paper", "laptop"]

ALIKE = 5.5  # code, normalised units: NS 1 x 1.6^2 x 0.5 / 0.24 = 5.3, Helmholtz 6.7 and 5.7
ALIKE_PAPER = 1280.0  # paper, normalised units: that of Navier-Stokes, 500 x 1.6^2


@dataclass(frozen=True)
class Weights:
    first: float  # z_a, on the earlier frame or the coefficient
    second: float  # z_u, on the later frame or the solution
    pde: float  # z_pde
    scales: tuple[float, float] | None = None  # s of the two fields, for losses in physical units; None: see `convert`


def convert(
    w: Weights, units: tuple[float, float], size: float, cells: int, loss: Literal["norm", "mean_square"]
) -> Weights:
    """For x and for losses of normalised residuals: of observations over `units`, std / 0.5, and of f over `size`."""
    if w.scales is None:
        return w
    c = [s / q for s, q in zip(w.scales, units, strict=True)]
    power, cells = (1, cells) if loss == "norm" else (2, 1)  # a mean square divides by the cells itself
    observed = [ci**2 * q**power for ci, q in zip(c, units, strict=True)]
    return Weights(w.first * observed[0], w.second * observed[1], w.pde * c[0] * c[1] * size**power / cells)


TABLES: dict[Table, dict[str, Weights]] = {
    "code": {
        "navier_stokes": Weights(1.0, 1.0, 1.0, scales=(1.6, 1.6)),
        "helmholtz": Weights(0.8, 60.0, 1.0, scales=(2.15, 0.028)),
        "": Weights(ALIKE, ALIKE, 0.0),
    },
    "paper": {
        "navier_stokes": Weights(5e2, 5e2, 1e2, scales=(1.6, 1.6)),
        "helmholtz": Weights(2e2, 3e4, 1e2, scales=(2.15, 0.028)),
        "": Weights(ALIKE_PAPER, ALIKE_PAPER, 0.0),
    },
    "laptop": {  # chosen on `valid`, for 100 steps
        "navier_stokes": Weights(10.0, 10.0, 0.01),
        "kolmogorov": Weights(14.0, 14.0, 0.2),
        "allen_cahn": Weights(20.0, 20.0, 0.01),
        "helmholtz": Weights(7.0, 7.0, 0.01),
        "": Weights(10.0, 10.0, 0.0),
    },
}


def weights_for(table: Table, equation: str) -> Weights:
    """Of an equation, or what the table holds for all others."""
    return TABLES[table].get(equation, TABLES[table][""])
