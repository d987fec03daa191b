"""What methods can do, by what all records of a profile say: a number, a refusal with its reason, or nothing yet.

The types and ticks are those of the VideoPDE paper's Table 1, told from records:

    type                 what the method declares: fitted to each trajectory by the equation, one answer, or samples
    partial observation  a number from sensors on a share of the sites
    flexible inference   one fit, or none, for sensors at all frames, forward and inverse
    dense temporal       every answer has all frames; of steady problems, whose frames are fields, nothing follows
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.leaderboard.entries import MISSING
from benchmark.records.record import About, Record

CAN, CANNOT, UNKNOWN = "✓", "no", ""
SENSORS, FORWARD, INVERSE, FORWARD_PART, INVERSE_PART, LONG = ASKED = (
    "sensors at all frames", "forward", "inverse", "forward, part", "inverse, part", "long range",
)  # fmt: skip
HEADER = ("method", *ASKED)
NOTE = (
    f"{CAN}: at least one number; no: unsupported wherever there is a record; blank: no number yet; of all records of "
    "the profile, also those not shown. Part: a share of the sites of one frame is seen; forward and inverse else from "
    "a whole frame."
)
TICKS = ("type", "partial obs.", "flexible inference", "dense temporal")
TICKS_NOTES = (
    f"Types and ticks follow from what methods declare and from all records of the profile; {CAN}: yes; blank: not "
    "known yet.",
    "PDE loss: fitted to each trajectory by the equation; Operator: a network with one answer; Generative: answers are "
    "samples; +PDE: uses the equation.",
    "Partial obs.: a number from sensors on a share of the sites. Dense temporal: every answer has all frames.",
    "Flexible inference: one fit, or none, answers sensors at all frames, forward and inverse.",
    "The paper ticks flexible inference for VideoPDE; the one model that has it is videopde_unified here.",
)


@dataclass(frozen=True)
class Capabilities:
    type: str
    partial_observation: str
    flexible_inference: str
    dense_temporal: str
    asked: Mapping[str, str]  # what can be asked -> CAN, CANNOT or UNKNOWN

    @property
    def ticks(self) -> tuple[str, ...]:
        return self.type, self.partial_observation, self.flexible_inference, self.dense_temporal


def read_capabilities(records: Iterable[Record]) -> dict[str, Capabilities]:
    """Of every method that has a record."""
    own: dict[str, list[Record]] = {}
    for record in records:
        own.setdefault(record.cell.method, []).append(record)
    return {method: _capabilities(found) for method, found in own.items()}


def capability_rows(methods: Sequence[str], known: Mapping[str, Capabilities]) -> list[list[str]]:
    return [[m, *(known[m].asked.values() if m in known else [MISSING] * len(ASKED))] for m in methods]


def capability(task: Mapping[str, Any]) -> str | None:
    """What a task asks for, by its own settings."""
    family = task.get("family")
    if family in ("forward", "inverse"):
        return str(family) if task.get("rate") == 1 else f"{family}, part"
    return {"continuous": SENSORS, "long_range": LONG}.get(str(family))


def _capabilities(records: Sequence[Record]) -> Capabilities:
    states: dict[str | None, set[str]] = {}
    for record in records:
        states.setdefault(capability(record.task), set()).add(record.state)
    asked = {name: _answer(states.get(name, set())) for name in ASKED}
    about = next((record.about for record in records if record.about), None)
    return Capabilities(
        _type(about, records),
        _any_of(asked[SENSORS], asked[FORWARD_PART], asked[INVERSE_PART]),
        _flexible(about, asked),
        _dense(records),
        asked,
    )


def _answer(states: set[str]) -> str:
    if "done" in states:
        return CAN
    return CANNOT if states == {"unsupported"} else UNKNOWN


def _any_of(*answers: str) -> str:
    """Whether one of several things can be asked; a refusal counts where nothing else is known."""
    return CAN if CAN in answers else CANNOT if CANNOT in answers else UNKNOWN


def _type(about: About | None, records: Sequence[Record]) -> str:
    if about is None:
        return UNKNOWN
    if about.kind == "learned" and about.scope == "instance" and about.uses_equation:
        return "PDE loss"
    learned = "Generative" if _samples(about, records) else "Operator"
    return ("Reference" if about.kind == "reference" else learned) + "+PDE" * about.uses_equation


def _samples(about: About, records: Sequence[Record]) -> bool:
    """Whether answers are samples; records from before they said so show it where several were asked for."""
    if about.stochastic is not None:
        return about.stochastic
    return any(record.settings.get("evaluation", {}).get("samples", 1) > 1 for record in records)


def _flexible(about: About | None, asked: Mapping[str, str]) -> str:
    kinds = (asked[SENSORS], _any_of(asked[FORWARD], asked[FORWARD_PART]), _any_of(asked[INVERSE], asked[INVERSE_PART]))
    if about is None or about.scope == "task" or CANNOT in kinds:
        return UNKNOWN if about is None else CANNOT
    return CAN if set(kinds) == {CAN} else UNKNOWN


def _dense(records: Sequence[Record]) -> str:
    """By all records with a number, but those of steady problems, whose frames are fields."""
    whole = [r.frames is None for r in records if r.state == "done" and "rel_l2_fields" not in r.metrics]
    return UNKNOWN if not whole else CAN if all(whole) else CANNOT
