"""May two records be compared? One rule for tables, and for what `run` shows beside its own numbers.

Two scores are comparable if they are of the same frames of the same trajectories behind the same masks, after training
on the same data, by the same scorer. A method that uses no training data agrees with any.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from benchmark.records.record import Record


class Basis(NamedTuple):
    """What two scores must share."""

    frames: tuple[int, ...] | None  # None: the whole video
    task: str  # its settings: rate, noise, ..., and the source of a plugin's
    test: str  # the test set: its fingerprint, or its recipe
    training: str  # the other splits likewise; "" for a method that uses none
    masks: str
    trajectories: int
    scorer: int

    @classmethod
    def of(cls, record: Record) -> Basis:
        """By fingerprints: data that differs in a bit is other data."""
        provenance = record.provenance
        splits = provenance.get("data") or {}
        return cls(
            frames=record.frames,
            task=_text(_task(record)),
            test=str(provenance.get("data_fingerprint")),
            training=" ".join(splits[name]["fingerprint"] for name in sorted(splits) if name != "test"),
            masks=str(provenance.get("mask_hash")),
            trajectories=len(record.headline.values) if record.state == "done" else 0,
            scorer=int(provenance.get("scorer_version") or 0),
        )

    def by_recipe(self, record: Record) -> Basis:
        """The same with data told apart by what it is made from: its bits depend on the machine that generates it."""
        settings = record.settings
        recipe, splits = (settings.get("dataset"), record.provenance.get("dataset_version")), settings.get("data") or {}
        others = {name: splits[name] for name in sorted(splits) if name != "test"}
        return self._replace(
            test=_text([recipe, splits.get("test")]), training=_text([recipe, others]) if others else ""
        )


def difference(one: Basis, other: Basis) -> str | None:
    """What sets the first apart from the other, or None if their scores may be compared."""
    if one == other:
        return None
    fewer = one.trajectories != other.trajectories  # which makes other masks of them too
    parts = [
        (one.frames != other.frames, scored_part(one) or "all frames are scored"),
        (one.task != other.task, "other task settings"),
        (one.test != other.test, "other test data"),
        (one.training != other.training and bool(one.training and other.training), "other training data"),
        (one.masks != other.masks and not fewer, "other masks"),
        (fewer, f"{one.trajectories} test trajectories instead of {other.trajectories}"),
        (one.scorer != other.scorer, f"scorer version {one.scorer} instead of {other.scorer}"),
    ]
    return ", ".join(text for is_different, text in parts if is_different) or None


def machine_difference(one: Record, other: Record) -> tuple[str | None, bool]:
    """What sets two records apart beside the machine that generated their data, and whether that machine does."""
    recipes = (record.basis.by_recipe(record) for record in (one, other))
    reason = difference(*recipes)
    return reason, reason is None and difference(one.basis, other.basis) is not None


def scored_part(basis: Basis) -> str:
    """A word on frames that are left out, or nothing."""
    return "" if basis.frames is None else f"only frames {' '.join(map(str, basis.frames))} are predicted and scored"


def _task(record: Record) -> dict[str, Any]:
    """Its settings; what a plugin's task does follows from its source too."""
    source = (record.settings.get("sources") or {}).get("task")
    return record.task | ({"source": source} if source else {})


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
