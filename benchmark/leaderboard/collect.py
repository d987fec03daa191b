"""Records of one profile, read fast and checked, without torch.

Nearly all bytes of a record are its secondary metrics, which no table shows. They are cut from the text before it is
parsed, which makes reading several times faster; `Record.metrics` goes back to the file for them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.records.record import Cell, RecordError, read_record, record_paths

HEADLINE = "rel_l2"
_HEADLINE_OBJECT = re.compile(r'"rel_l2"\s*:\s*\{[^{}]*\}')
_METRICS = '\n "metrics": {'
_VALUES = re.compile(r'"values"\s*:\s*\[(?:(?:\s*\[[^\]]*\],?)+\s*|[^\]]*)\]')  # a list, or a list of lists, of numbers


def _without_values(score: Any) -> dict[str, Any]:
    return {key: value for key, value in score.items() if key != "values"} if isinstance(score, dict) else {}


class Basis(NamedTuple):
    """What two scores must share to be compared: the same frames of the same trajectories, after the same training."""

    frames: tuple[int, ...] | None  # None: the whole video
    task: str  # its settings: rate, noise, ...
    test: str  # fingerprint of the test set
    training: str  # fingerprints of the other splits; "" for a method that uses none, which agrees with any
    masks: str
    trajectories: int
    scorer: int

    def agrees(self, other: Basis) -> bool:
        same_training = self.training == other.training or not (self.training and other.training)
        return self == other or (same_training and self._replace(training="") == other._replace(training=""))


@dataclass(frozen=True)
class Record:
    """One cell's record, as far as tables need it."""

    path: Path
    cell: Cell
    state: str
    reason: str
    remark: str
    frames: tuple[int, ...] | None
    task: dict[str, Any]  # the settings of the task
    headline: dict[str, Any]  # unit, mean, low, high, values; empty unless done
    cost: dict[str, Any]
    provenance: dict[str, Any]

    @property
    def percent(self) -> float:
        """What the headline is multiplied by to be in percent."""
        return 1.0 if self.headline.get("unit") == "%" else 100.0

    @property
    def values(self) -> list[float]:
        """The headline of each test trajectory, in percent."""
        values, percent = self.headline["values"], self.percent
        return values if percent == 1.0 else [percent * value for value in values]

    def metrics(self, number: Callable[[str], Any] = float) -> dict[str, dict[str, Any]]:
        """Every metric with its unit, mean and bounds, by name. Where the file is damaged beyond it, the headline.

        `number` reads a decimal; `str` leaves it as it is written, for those who only copy it.
        """
        text = self.path.read_text(encoding="utf-8")
        for candidate in (_VALUES.sub('"values": []', text), text):  # the second for values of an unusual form
            try:
                found = json.loads(candidate, parse_float=number).get("metrics") or {}
                return {name: _without_values(score) for name, score in sorted(found.items())}
            except json.JSONDecodeError:
                continue
        return {HEADLINE: _without_values(self.headline)} if self.headline else {}

    @property
    def source(self) -> str:
        """Where the test data comes from: generated or official."""
        return str(self.provenance.get("data_source") or "unknown")

    @cached_property
    def basis(self) -> Basis:
        splits = self.provenance.get("data") or {}
        return Basis(
            frames=self.frames,
            task=json.dumps(self.task, sort_keys=True),
            test=str(self.provenance.get("data_fingerprint")),
            training=" ".join(splits[name]["fingerprint"] for name in sorted(splits) if name != "test"),
            masks=str(self.provenance.get("mask_hash")),
            trajectories=len(self.headline["values"]),
            scorer=int(self.provenance.get("scorer_version") or 0),
        )


def read_records(results: Path, profile: str) -> tuple[list[Record], list[str]]:
    """The records of a profile in a fixed order, and what could not be read (file names relative to `results`)."""
    records, problems = [], []
    for path in record_paths(results, profile):
        try:
            records.append(_checked(read_record(path, parse=parse), path))
        except (RecordError, OSError) as error:
            problems.append(str(error).replace(f"{results}/", ""))
    return sorted(records, key=lambda record: tuple(vars(record.cell).values())), problems


def parse(text: str) -> Any:
    """A record with its headline as the only metric, where it has the layout that records are written in."""
    start, headline = text.find(_METRICS), _HEADLINE_OBJECT.search(text)
    end = text.find('\n },\n "', start)
    if headline is None or not 0 <= start < headline.start() < headline.end() <= end:
        return json.loads(text)
    try:
        return json.loads(text[: start + len(_METRICS)] + headline.group() + text[end:])
    except json.JSONDecodeError:  # another layout, or a damaged file: the full text tells
        return json.loads(text)


def _checked(raw: dict[str, Any], path: Path) -> Record:
    try:
        record = _record(raw, path)
        is_sound = record.state != "done" or (_is_whole(record.headline) and record.basis.trajectories > 0)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path}: a part has another form than expected ({error}); {_REMEDY}") from error
    if not is_sound:
        raise RecordError(f"{path}: done, but without a finite {HEADLINE} (mean, low, high, values); {_REMEDY}")
    return record


_REMEDY = "run the cell again with --overwrite"


def _record(raw: dict[str, Any], path: Path) -> Record:
    frames = raw.get("frames")
    metrics, cost, provenance = (dict(raw.get(name) or {}) for name in ("metrics", "cost", "provenance"))
    return Record(
        path=path,
        cell=Cell(**raw["cell"] | {"seed": int(raw["cell"]["seed"])}),
        state=raw["state"],
        reason=str(raw.get("reason") or ""),
        remark=str(raw.get("remark") or ""),
        frames=None if frames is None else tuple(int(frame) for frame in frames),
        task=dict((raw.get("settings") or {}).get("task") or {}),
        headline=dict(metrics.get(HEADLINE) or {}),
        cost={name: value for name, value in cost.items() if value is not None},
        provenance=provenance,
    )


def _is_whole(score: dict[str, Any]) -> bool:
    try:
        numbers = [score["mean"], score["low"], score["high"], *score["values"]]
        return len(numbers) > 3 and all(map(math.isfinite, numbers))
    except (KeyError, TypeError):
        return False
