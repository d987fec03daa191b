"""The order of names in every table, that of the registry, and the task families of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal

from benchmark.planning.registry import SUITE, registry

CONTINUOUS = "Continuous partial observation"
FULL = "Forward and inverse, full observation"
PARTIAL = "Forward and inverse, partial observation"
LONG_RANGE = "Long range"
OTHER = "Other tasks"
FAMILIES = (CONTINUOUS, FULL, PARTIAL, LONG_RANGE, OTHER)

# Of the suite's own names, for cells that have no record yet.
OWN_FAMILIES = {
    **dict.fromkeys(("cont_05", "cont_1", "cont_3"), CONTINUOUS),
    **dict.fromkeys(("fwd_full", "inv_full"), FULL),
    **dict.fromkeys(("fwd_partial", "inv_partial"), PARTIAL),
    "long_range": LONG_RANGE,
}
OWN_REFERENCES = frozenset({"mean", "persistence", "nearest", "kriging", "linear", "residual_min", "solver"})

Kind = Literal["methods", "tasks", "datasets"]


@cache
def known(kind: Kind) -> tuple[str, ...]:
    """Registered names, those of the suite first."""
    return tuple(registry().names(kind))


@cache
def _own(kind: str) -> frozenset[str]:
    return frozenset(name for (k, name), origin in registry().origin.items() if k == kind and origin == SUITE)


def of_suite(kind: str, name: str) -> bool:
    """Whether a method, task or dataset is the suite's own, by its name."""
    return name in _own(kind)


def own_names(names: Iterable[str], kind: Kind) -> tuple[str, ...]:
    """`all` spelled out as the suite's own names."""
    return tuple(name for name in known(kind) if of_suite(kind, name)) if "all" in names else tuple(names)


def ordered(names: Iterable[str], kind: Kind, first: Iterable[str] = ()) -> list[str]:
    """`first` in its order, then registered names in theirs, then the others alphabetically; variants follow what they
    are of."""
    place = {name: i for i, name in enumerate(dict.fromkeys((*first, *known(kind))))}
    return sorted(set(names), key=lambda name: (place.get(name.partition(" @ ")[0], len(place)), name))


def family_of(task: Mapping[str, Any], name: str = "") -> str:
    """The table that a task belongs to, by its own settings, so that a stranger's finds its place too; by its name
    where no record has its settings."""
    if not task:
        return OWN_FAMILIES.get(name, OTHER)
    family, rate = task.get("family"), task.get("rate")
    if family in ("forward", "inverse") and rate is not None:
        return FULL if rate == 1 else PARTIAL
    return {"continuous": CONTINUOUS, "long_range": LONG_RANGE}.get(str(family), OTHER)
