"""What a figure shows of predictions: which frames under which names, on which scale of colours, how far off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmark.errors import UserError
from benchmark.records.predictions import STEPS, Predictions

SIGNED, POSITIVE, ERROR = "RdBu_r", "cividis", "magma_r"  # in order of lightness, also for the colour-blind
ONE_SIGN = 0.05  # of the range: a field that leaves zero less than this on one side has one sign
OUTLIERS = 99.5  # percentile of the errors at which their scale ends
TINY = 1e-30

Shown = Mapping[str, Predictions]  # by the name of the method


@dataclass(frozen=True)
class Scale:
    """Colours of values. Values beyond the limits have the colours of the limits, which the bar shows by arrows."""

    low: float
    high: float
    colours: str
    logarithmic: bool = False
    beyond: tuple[bool, bool] = (False, False)

    @property
    def extend(self) -> str:
        return {(True, True): "both", (True, False): "min", (False, True): "max"}.get(self.beyond, "neither")


def one_of(shown: Shown) -> Predictions:
    """Any of them, where they are alike."""
    return next(iter(shown.values()))


def check_alike(shown: Shown, trajectory: int) -> None:
    """One figure is of one truth behind one mask."""
    if not shown:
        raise UserError("a figure of predictions needs those of at least one method")
    first, p = next(iter(shown.items()))
    for name, other in shown.items():
        if not 0 <= trajectory < len(other):
            raise UserError(f"trajectory {trajectory}: {name} kept {len(other)}, 0 to {len(other) - 1}")
        shapes = {(one.truth.shape[1:], one.mask.shape[1:]) for one in (other, p)}
        if len(shapes) > 1 or not _same(p, other, trajectory):
            raise UserError(
                f"{name} and {first}: trajectory {trajectory} is not the same truth behind the same sensors "
                "(other data, other masks or another machine); run both again here with --overwrite"
            )


def _same(one: Predictions, other: Predictions, i: int) -> bool:
    """The same sensors, and the same truth up to what storing it rounds off."""
    a, b = one.truth[i], other.truth[i]
    return bool((one.mask[i] == other.mask[i]).all() and np.abs(a - b).max() <= 1e-3 * np.abs(a).max())


def choose_frames(p: Predictions, asked: Sequence[int] | None, count: int) -> list[int]:
    """Those asked for, else `count` from the first to the last; of a steady problem all its fields."""
    length = len(p.times)
    if asked is not None:
        wrong = [t for t in asked if t not in p.numbers]
        if wrong or not asked:
            known = ", ".join(map(str, p.numbers)) if p.thinned else f"0 to {length - 1}"
            raise UserError(f"frames: expected some of {known}, got {', '.join(map(str, wrong)) or 'none'}")
        return [p.numbers.index(t) for t in asked]
    if p.frame_names or count >= length:
        return list(range(length))
    return sorted({round(t) for t in np.linspace(0, length - 1, count)})


def choose_channel(p: Predictions, name: str | None) -> int:
    if name is not None and name not in p.channels:
        raise UserError(f"channel: expected one of {', '.join(p.channels)}, got {name!r}")
    return 0 if name is None else p.channels.index(name)


def frame_title(p: Predictions, t: int) -> str:
    """`t = 0.25`, or the field of a steady problem."""
    return f"field {symbol(p.frame_names[t])}" if p.frame_names else f"$t$ = {p.times[t]:.3g}"


def field_name(p: Predictions, t: int, channel: int) -> str:
    """Of a channel, or of the field that stands where frames stand."""
    return symbol(p.frame_names[t] if p.frame_names else p.channels[channel])


def error_name(p: Predictions, t: int, channel: int) -> str:
    """|u_hat - u|, as a label."""
    name = field_name(p, t, channel).strip("$")
    return rf"$|\hat{{{name}}} - {name}|$" if len(name) == 1 else f"|error of {name}|"


def symbol(name: str) -> str:
    """One letter is a quantity."""
    return f"${name}$" if len(name) == 1 else name


def relative_error(p: Predictions, i: int) -> float:
    """The headline of a trajectory in percent, of what was kept: see `rel_l2` in `scoring/metric_table.py`."""
    if p.thinned:
        return p.thinned.errors[i]
    scored = np.array(p.scored)
    v = p.truth[i][scored].astype(np.float64)
    error, norm = ((f**2).sum((1, 2, 3)) for f in (p.prediction[i][scored] - v, v))  # (F,)
    if not p.frame_names:
        return 100 * float(np.sqrt(error.sum() / max(norm.sum(), TINY)))
    target = _target(p.mask[i][scored].reshape(len(scored), -1))
    return 100 * float(np.sqrt(error[target] / np.maximum(norm[target], TINY)).mean())


def _target(seen: np.ndarray) -> list[int]:
    """Which fields of a steady problem are asked for: those without a sensor; if none is, all not given in full."""
    blind = [k for k, field in enumerate(seen) if not field.any()]
    return blind or [k for k, field in enumerate(seen) if not field.all()] or list(range(len(seen)))


def frame_error(u: np.ndarray, v: np.ndarray) -> float:
    """Relative l2 error of one frame in percent."""
    return 100 * float(np.linalg.norm((u - v).ravel()) / max(np.linalg.norm(v.ravel()), TINY))


def sensors(p: Predictions, i: int, t: int, channel: int) -> np.ndarray:
    """Rows and columns of what is seen in a frame: (n, 2)."""
    return np.argwhere(p.mask[i, t, :, :, channel])


# -- scales of colours, shared by all methods


def groups(p: Predictions, frames: Sequence[int]) -> list[list[int]]:
    """Which of `frames`, by place, share a scale: all frames of a video; each field of a steady problem has its own."""
    places = list(range(len(frames)))
    return [[k] for k in places] if p.frame_names else [places]


def field_scale(shown: Shown, i: int, frames: Sequence[int], channel: int) -> Scale:
    """From the truth; around zero where it has both signs."""
    truth = one_of(shown).truth[i, list(frames), ..., channel]
    low, high = float(truth.min()), float(truth.max())
    if -low > ONE_SIGN * (high - low) and high > ONE_SIGN * (high - low):
        limit = max(-low, high)
        scale = Scale(-limit, limit, SIGNED)
    else:
        scale = Scale(low, max(high, low + TINY), POSITIVE)
    answers = [f for p in shown.values() if len(f := answered(p, i, frames, channel))]
    slack = 0.01 * (scale.high - scale.low)
    below = any(f.min() < scale.low - slack for f in answers)
    return replace(scale, beyond=(below, any(f.max() > scale.high + slack for f in answers)))


def answered(p: Predictions, i: int, frames: Sequence[int], channel: int) -> np.ndarray:
    """Those of the frames that the method predicts."""
    return p.prediction[i, [t for t in frames if t in p.scored], ..., channel]


def error_scale(shown: Shown, i: int, frames: Sequence[int], channel: int, logarithmic: bool = False) -> Scale:
    """From nothing to where all but a few of the largest errors of all methods lie; on a logarithmic scale, from the
    smallest errors of the best method that storing its answer leaves."""
    errors = list(_errors(shown, i, frames, channel)) or [np.ones(1)]
    every = np.concatenate(errors)
    rounding = max(float(np.ptp(p.truth[i, list(frames), ..., channel])) for p in shown.values()) / STEPS
    high = max(float(np.percentile(every, OUTLIERS)), 10 * rounding, TINY)
    cut = float(every.max()) > 1.01 * high
    if not logarithmic:
        return Scale(0.0, high, ERROR, beyond=(False, cut))
    least = min(float(np.percentile(f, 100 - OUTLIERS)) for f in errors)
    return Scale(min(max(least, rounding), high / 10), high, ERROR, True, (True, cut))


def _errors(shown: Shown, i: int, frames: Sequence[int], channel: int) -> Iterator[np.ndarray]:
    for p in shown.values():
        scored = [t for t in frames if t in p.scored]
        if scored:
            yield np.abs(answered(p, i, frames, channel) - p.truth[i, scored, ..., channel]).ravel()
