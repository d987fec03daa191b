"""Guidance weights: those of DiffusionPDE's code and paper, and those chosen for profile laptop.

The published ones belong to losses in physical units,

    code    z_a |a - a_obs| + z_u |u - u_obs| + z_pde |f| / m            unsquared norms, m cells
    paper   z_a |a - a_obs|^2 / n + z_u |u - u_obs|^2 / n + z_pde |f|^2 / m

for 500 sensors at 128^2 and 2000 steps. Samplers here work in normalised units (`normaliser.py`), where the published
z_a and z_u of all equations come out alike, near 1.6: that is what equations without a published weight get. The table
`laptop` belongs to normalised units and to the profile's 100 steps; `benchmark sweep` chose it. The settings
`observation` and `physics` multiply any table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Table = Literal["code", "paper", "laptop"]

ALIKE = 1.6  # code: NS 1 x 1.6, Helmholtz .8 x 2.15 and 60 x .028, with the code's scales of the data
SENSORS = 500  # paper: weights were given for so many


@dataclass(frozen=True)
class Weights:
    first: float  # z_a, on the earlier frame or the coefficient
    second: float  # z_u, on the later frame or the solution
    pde: float  # z_pde
    physical: bool = True  # losses in physical units; else in normalised ones, f relative to the size of its terms


TABLES: dict[Table, dict[str, Weights]] = {
    "code": {
        "navier_stokes": Weights(1.0, 1.0, 1.0),
        "helmholtz": Weights(0.8, 60.0, 1.0),
        "": Weights(ALIKE, ALIKE, 0.0, physical=False),
    },
    "paper": {
        "navier_stokes": Weights(5e2, 5e2, 1e2),
        "helmholtz": Weights(2e2, 3e4, 1e2),
        "": Weights(ALIKE * SENSORS, ALIKE * SENSORS, 0.0, physical=False),
    },
    "laptop": {  # chosen on `valid`, for 100 steps
        "navier_stokes": Weights(10.0, 10.0, 0.01, physical=False),
        "kolmogorov": Weights(14.0, 14.0, 0.2, physical=False),
        "allen_cahn": Weights(20.0, 20.0, 0.01, physical=False),
        "helmholtz": Weights(7.0, 7.0, 0.01, physical=False),
        "": Weights(10.0, 10.0, 0.0, physical=False),
    },
}


def weights_for(table: Table, equation: str) -> Weights:
    """Of an equation, or what the table holds for all others."""
    return TABLES[table].get(equation, TABLES[table][""])
