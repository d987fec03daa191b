"""The metric that a table shows: which values are better, and how they are written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from benchmark.errors import UserError
from benchmark.planning.registry import near
from benchmark.records.record import HEADLINE, MetricScore, Record
from benchmark.scoring.metric_table import METRIC_TABLE, NEGLIGIBLE, MetricInfo, metric_info

MEAN_OF_SAMPLES = "rel_l2_mean"  # has been that since scorer version 2
CURVES = ("rel_l2_curve",)  # one number a frame: a figure, not a place in a table
DIGITS = 3


@dataclass(frozen=True)
class Measure:
    name: str = HEADLINE
    digits: int = DIGITS  # significant ones

    @property
    def info(self) -> MetricInfo:
        return metric_info(self.name)

    @property
    def is_headline(self) -> bool:
        return self.name == HEADLINE

    @property
    def is_error(self) -> bool:
        """Whether it is a relative error in percent: those are tested in pairs, ranked, and alike below a floor."""
        return self.info.unit == "%" and self.info.goal == "low"

    @property
    def is_ranked(self) -> bool:
        return self.info.goal != "level"

    def score(self, record: Record, samples: str = "one") -> MetricScore | None:
        """What a table shows of a record: of the headline, the error of the mean of samples where that is asked for."""
        if self.is_headline:
            takes_mean = samples == "mean" and MEAN_OF_SAMPLES in record.metrics and record.basis.scorer >= 2
            return (record.metrics[MEAN_OF_SAMPLES] if takes_mean else record.headline).in_percent()
        return record.metrics.get(self.name)

    def loss(self, value: float) -> float:
        """The value as a number of which less is better."""
        if self.is_error:
            return max(value, NEGLIGIBLE)
        return -value if self.info.goal == "high" else value

    def text(self, value: float) -> str:
        """Errors that are alike where methods are compared look alike."""
        return f"<{NEGLIGIBLE:g}" if self.is_error and value < NEGLIGIBLE else number(value, self.digits)


ERROR = Measure()  # what tables show unless somebody wants another


def known_measure(name: str, digits: int = DIGITS) -> Measure:
    """By a name that somebody typed."""
    if not 1 <= digits <= 15:
        raise UserError(f"--digits: expected 1 to 15 significant digits, got {digits}")
    if name in CURVES:
        raise UserError(f"--metric {name}: a curve has a number for each frame; `plot --figure long_range` draws it")
    if name not in METRIC_TABLE and not name.startswith("rel_l2_"):
        raise UserError(f"unknown metric {name!r}{near(name, METRIC_TABLE)}; `list metrics` has all")
    return Measure(name, digits)


def check_measured(measure: Measure, records: Iterable[Record]) -> None:
    """A field's own error has a name of its own: one that no record has is a mistake."""
    found = {name for record in records for name in record.metrics}
    if measure.name not in METRIC_TABLE and measure.name not in found:
        raise UserError(f"unknown metric {measure.name!r}{near(measure.name, {*METRIC_TABLE, *found})}")


def number(value: float, digits: int = DIGITS) -> str:
    """About as many significant digits, two decimals from 0.1 on with three, no exponent where it can be helped."""
    size = abs(value)
    if size == 0 or 1e-3 <= size < 1e6:
        decimals = 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.1 or size == 0 else 4
        return f"{value:.{max(decimals + digits - DIGITS, 0)}f}"
    return f"{value:.{max(digits - 2, 0)}e}"
