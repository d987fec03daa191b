"""The fixed order of methods, tasks and datasets in every table, and the task families of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

REFERENCES = ("mean", "persistence", "nearest", "kriging", "solver")
LEARNED = (
    "videopde",
    "videopde_unified",
    "fno",
    "pino",
    "deeponet",
    "pinn",
    "diffusionpde",
    "diffusionpde_ext",
    "shu",
    "zhuang",
    "eci",
    "ablation_mixed",
    "ablation_concat",
    "ablation_latent",
    "ablation_hierarchical",
)
METHODS = (*REFERENCES, *LEARNED)
DATASETS = ("wave_layer", "navier_stokes", "kolmogorov", "allen_cahn", "helmholtz")
FAMILIES = {
    "Continuous partial observation": ("cont_05", "cont_1", "cont_3"),
    "Forward and inverse, full observation": ("fwd_full", "inv_full"),
    "Forward and inverse, partial observation": ("fwd_partial", "inv_partial"),
    "Long range": ("long_range",),
}
OTHER = "Other tasks"  # tasks of plugins
TASKS = tuple(task for tasks in FAMILIES.values() for task in tasks)


def ordered(names: Iterable[str], known: Sequence[str]) -> list[str]:
    """Known names in their fixed order, then the others alphabetically."""
    found = set(names)
    return [name for name in known if name in found] + sorted(found.difference(known))


def is_reference(method: str) -> bool:
    return method in REFERENCES


def family_of(task: str) -> str:
    return next((family for family, tasks in FAMILIES.items() if task in tasks), OTHER)
