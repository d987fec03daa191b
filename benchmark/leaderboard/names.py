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


def ordered(names: Iterable[str], kind: Kind) -> list[str]:
    """Registered names in their order, then the others alphabetically; variants follow what they are of."""
    place = {name: i for i, name in enumerate(known(kind))}
    return sorted(set(names), key=lambda name: (place.get(name.partition(" @ ")[0], len(place)), name))


def family_of(task: Mapping[str, Any]) -> str:
    """The table that a task belongs to, by its own settings, so that a stranger's finds its place too."""
    family, rate = task.get("family"), task.get("rate")
    if family in ("forward", "inverse") and rate is not None:
        return FULL if rate == 1 else PARTIAL
    return {"continuous": CONTINUOUS, "long_range": LONG_RANGE}.get(str(family), OTHER)
