"""Names as a paper prints them. Whoever is not listed here is printed as typed."""

from __future__ import annotations

from benchmark.leaderboard.shape import Names

DISPLAY = {
    # methods
    "mean": "Mean",
    "persistence": "Persistence",
    "nearest": "Nearest sensor",
    "kriging": "Kriging",
    "linear": "Linear",
    "residual_min": "Residual minimisation",
    "solver": "True solver",
    "videopde": "VideoPDE",
    "videopde_unified": "VideoPDE (unified)",
    "videopde_kriged": "VideoPDE on kriging",
    "fno": "FNO",
    "pino": "PINO",
    "pino_refined": "PINO (refined)",
    "deeponet": "DeepONet",
    "pinn": "PINN",
    "voronoi_unet": "Voronoi U-Net",
    "senseiver": "Senseiver",
    "diffusionpde": "DiffusionPDE",
    "diffusionpde_ext": "DiffusionPDE (Ext.)",
    "fundps": "FunDPS",
    "shu": "Shu et al.",
    "zhuang": "Zhuang et al.",
    "eci": "ECI",
    "sda": "SDA",
    "ablation_mixed": "A: mixed input",
    "ablation_concat": "B: concat(x, y)",
    "ablation_latent": "C: latent",
    "ablation_flat": "B-D: flat HV-DiT",
    "ablation_hierarchical": "D: HV-DiT without mask",
    # datasets
    "wave_layer": "Wave-Layer",
    "navier_stokes": "Navier-Stokes",
    "kolmogorov": "Kolmogorov flow",
    "allen_cahn": "Allen-Cahn",
    "helmholtz": "Helmholtz",
    # tasks
    "cont_05": "0.5 %",
    "cont_1": "1 %",
    "cont_3": "3 %",
    "fwd_full": "forward",
    "inv_full": "inverse",
    "fwd_partial": "fwd. 3 %",
    "inv_partial": "inv. 3 %",
    "long_range": "long range",
}
ALONE = {
    "cont_05": "continuous, 0.5 %",
    "cont_1": "continuous, 1 %",
    "cont_3": "continuous, 3 %",
    "fwd_partial": "forward, 3 %",
    "inv_partial": "inverse, 3 %",
}


def display(name: str, names: Names = "display") -> str:
    """`fno @ wide` -> `FNO @ wide`; with `id` every name stays as it is."""
    base, at, variant = name.partition(" @ ")
    return name if names == "id" else f"{DISPLAY.get(base, base)}{at}{variant}"


def display_alone(task: str) -> str:
    """Of a task outside the table that names its family: `continuous, 3 %`."""
    return ALONE.get(task, display(task))
