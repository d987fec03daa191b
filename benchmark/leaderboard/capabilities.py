"""What methods can be asked, by what their records say: a number, a refusal with its reason, or nothing yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmark.records.record import Record

CAN, CANNOT, UNKNOWN = "✓", "no", ""
CAPABILITIES = ("sensors at all frames", "forward", "inverse", "forward, part", "inverse, part", "long range")
HEADER = ("method", *CAPABILITIES)
NOTE = (
    f"{CAN}: at least one number; no: unsupported wherever there is a record; blank: no number yet. Part: a share of "
    "the sites of one frame is seen; forward and inverse else from a whole frame."
)


def capability(task: Mapping[str, Any]) -> str | None:
    """What a task asks for, by its own settings."""
    family = task.get("family")
    if family in ("forward", "inverse"):
        return str(family) if task.get("rate") == 1 else f"{family}, part"
    return {"continuous": CAPABILITIES[0], "long_range": CAPABILITIES[-1]}.get(str(family))


def capability_rows(methods: Sequence[str], records: Iterable[Record]) -> list[list[str]]:
    states: dict[tuple[str, str | None], set[str]] = {}
    for record in records:
        states.setdefault((record.cell.method, capability(record.task or {})), set()).add(record.state)
    return [[method, *(_answer(states.get((method, asked), set())) for asked in CAPABILITIES)] for method in methods]


def _answer(states: set[str]) -> str:
    if "done" in states:
        return CAN
    return CANNOT if states == {"unsupported"} else UNKNOWN
