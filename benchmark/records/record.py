"""What a run leaves of a cell, with a type for every part, and its JSON form. Needs neither torch nor numpy.

`files` keeps records on disk, `migrate` brings those of older schemas up to date, `compare` says which two of them may
stand side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal, get_args

from benchmark.errors import FileError
from benchmark.records.cell import Cell
from benchmark.records.compare import Basis
from benchmark.records.migrate import SCHEMA, upgrade
from benchmark.records.strict import checked, finite

SCORER_VERSION = 2  # raise it when a metric's definition or value changes
STATES = ("done", "failed", "timeout", "oom", "unsupported")  # stored; "stale" and "missing" are found by comparing
HEADLINE = "rel_l2"  # what tables rank by, stored in full
DIGITS = 6  # significant ones that are stored of the other metrics' values
AGAIN = "run the cell again with --overwrite"

Kind = Literal["reference", "learned"]
Scope = Literal["task", "dataset", "instance"]
Numbers = Any  # a float, or for a curve a list over frames


class RecordError(FileError):
    """A record that cannot be used; the message says what is wrong and the remedy."""


@dataclass(frozen=True)
class About:
    """What a method declares of itself, so that tables need not know it."""

    kind: Kind
    uses_equation: bool
    scope: Scope
    aids: tuple[str, ...] = ()  # what it is given beside data and observations
    stochastic: bool | None = None  # answers are samples; None: of a record from before it was said

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if value not in ((), None)}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> About:
        about = cls(**{**raw, "aids": tuple(str(aid) for aid in raw.get("aids", ()))})
        if about.kind not in get_args(Kind) or about.scope not in get_args(Scope):
            raise ValueError(
                f"about: expected a kind of {get_args(Kind)} and a scope of {get_args(Scope)}, got {about}"
            )
        return about


@dataclass(frozen=True)
class MetricScore:
    """Mean over test trajectories, the bounds of its 95 % bootstrap interval, and one value per trajectory.

    A curve has a mean and bounds per frame, and no values.
    """

    unit: str
    mean: Numbers
    low: Numbers
    high: Numbers
    values: list[float]

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> MetricScore:
        score = cls(**raw)
        bounds = (score.mean, score.low, score.high)
        numbers = (*chain(*bounds), *score.values) if isinstance(score.mean, list) else (*bounds, *score.values)
        if not isinstance(score.values, list) or not finite(*numbers):
            raise TypeError("a metric: expected finite numbers")
        return score if type(score.unit) is str else replace(score, unit=str(score.unit))

    def to_json(self, digits: int | None = None) -> dict[str, Any]:
        """`digits`: how many significant ones to keep of the values; None is all."""
        parts = {"unit": self.unit, "mean": self.mean, "low": self.low, "high": self.high}
        return {**parts, "values": self.values if digits is None else rounded(self.values, digits)}

    def in_percent(self) -> MetricScore:
        """The same relative error in percent; a curve has no such form."""
        if self.unit == "%":
            return self
        mean, low, high, *values = (100.0 * number for number in (self.mean, self.low, self.high, *self.values))
        return MetricScore("%", mean, low, high, values)

    @property
    def is_finite(self) -> bool:
        """Whether it is a number with an interval and at least one value, all finite."""
        return bool(self.values) and finite(self.mean, self.low, self.high, *self.values)


@dataclass(frozen=True)
class Record:
    """A cell's outcome: numbers, or the state and reason in their place, with all that is needed to make it again."""

    cell: Cell
    state: str
    reason: str = ""
    traceback: str = ""
    about: About | None = None  # None: the method could not be asked
    settings: dict[str, Any] = field(default_factory=dict)  # all that can move the numbers
    key: str = ""  # digest of the settings
    changes: dict[str, Any] = field(default_factory=dict)  # of a variant: what it changes, as `run` takes it
    remark: str = ""  # what a table must say beside the score
    frames: tuple[int, ...] | None = None  # those scored; None: the whole video
    metrics: dict[str, MetricScore] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.state not in STATES:
            raise RecordError(f"unknown state {self.state!r}; expected one of {', '.join(STATES)}")

    @property
    def headline(self) -> MetricScore:
        return self.metrics[HEADLINE]

    @property
    def is_reference(self) -> bool:
        return self.about is not None and self.about.kind == "reference"

    @property
    def created(self) -> str:
        return str(self.provenance.get("created") or "")

    @property
    def source(self) -> str:
        """Where the test data comes from: generated or official."""
        return " ".join(str(self.provenance.get("data_source") or "unknown").split())

    @property
    def groups(self) -> tuple[int, ...] | None:
        """The run that each test trajectory is cut out of; None: each is a run of its own."""
        groups = self.provenance.get("groups")
        return None if groups is None else tuple(int(run) for run in groups)

    @property
    def task(self) -> dict[str, Any]:
        """The settings of the task."""
        return self.settings.get("task") or {}

    @property
    def third_party(self) -> tuple[str, ...]:
        """Which of method, task and dataset are not the suite's own: those whose source is part of the key."""
        return tuple(self.settings.get("sources") or ())

    @cached_property
    def basis(self) -> Basis:
        return Basis.of(self)

    def to_json(self) -> dict[str, Any]:
        """Plain values; parts that are empty are left out. Nothing but values of secondary metrics is rounded."""
        parts = {
            "about": self.about and self.about.to_json(),
            "reason": self.reason,
            "traceback": self.traceback,
            "settings": self.settings,
            "key": self.key,
            "changes": self.changes,
            "remark": self.remark,
            "frames": None if self.frames is None else list(self.frames),
            "metrics": {
                name: score.to_json(None if name == HEADLINE else DIGITS) for name, score in self.metrics.items()
            },
            "cost": self.cost,
            "provenance": self.provenance,
        }
        head = {"schema": SCHEMA, "cell": self.cell.to_json(), "state": self.state}
        return head | {name: part for name, part in parts.items() if part not in (None, "", {})}

    @classmethod
    def from_json(cls, raw: Any) -> Record:
        """The inverse of `to_json`, also for older schemas. Raises RecordError."""
        _check_head(raw)
        try:
            record = _record(upgrade(raw))
            if record.state == "done" and not (HEADLINE in record.metrics and record.headline.is_finite):
                raise RecordError(f"done, but without a finite {HEADLINE} (mean, low, high, values); {AGAIN}")
            count, groups = record.basis.trajectories, record.groups  # what tables compare by must be there in its form
            if groups is not None and len(groups) != count:
                raise RecordError(f"groups: expected the run of each of {count} trajectories; {AGAIN}")
            return record
        except RecordError:
            raise
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise RecordError(f"a part has another form than expected ({error}); {AGAIN}") from error


def rounded(values: list[float], digits: int) -> list[float]:
    """To so many significant digits."""
    return [float(f"{v:.{digits}g}") for v in values]


def _check_head(raw: Any) -> None:
    """What even a record of a newer schema must have."""
    try:
        schema, _ = int(raw["schema"]), (raw["state"], Cell.from_json(raw["cell"]))
        checked({name: part for name, part in raw.items() if name != "metrics"})  # a metric is numbers, or no metric
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
        raise RecordError(f"not a record ({type(error).__name__}: {error}); move it away or {AGAIN}") from error
    if schema > SCHEMA:
        raise RecordError(f"written by a newer suite (schema {schema}, this one reads {SCHEMA}); update the suite")


def _record(raw: dict[str, Any]) -> Record:
    frames, about = raw.get("frames"), raw.get("about")
    settings, changes, cost, provenance = (
        dict(raw.get(name) or {}) for name in ("settings", "changes", "cost", "provenance")
    )
    metrics = dict(raw.get("metrics") or {})
    return Record(
        cell=Cell.from_json(raw["cell"]),
        state=raw["state"],
        about=None if about is None else About.from_json(about),
        settings=settings,
        changes=changes,
        frames=None if frames is None else tuple(int(frame) for frame in frames),
        metrics={name: MetricScore.from_json(score) for name, score in metrics.items()},
        cost=cost,
        provenance=provenance,
        **{name: str(raw.get(name) or "") for name in ("reason", "traceback", "key", "remark")},
    )
