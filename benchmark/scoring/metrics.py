"""Scoring: a prediction against the truth, one number per metric and trajectory.

Every metric is defined in `metric_table`. Trajectories are scored one by one on the CPU, each by one thread, and summed
in float64, so that a number depends neither on its batch nor on how many threads there are. Spectra are in `spectra`,
samples in `ensemble`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from benchmark.core import Prediction, Problem, Trajectories
from benchmark.scoring.ensemble import ensemble_metrics
from benchmark.scoring.metric_table import metric_info
from benchmark.scoring.spectra import EPS, Shells, relative, shells, spectral_metrics, total

VRMSE_EPS = 1e-7  # The Well's
CONSTANT = 1e-7  # a frame that varies by less than this share of its size is constant in float32
CORRELATED = 0.8


class NonFinitePrediction(ValueError):
    """A prediction with NaN or infinity; the message names the first bad trajectory."""


@dataclass(frozen=True)
class Metric:
    unit: str
    values: list  # a float per trajectory; for a curve a list over the scored frames


@dataclass(frozen=True)
class _Case:
    """One trajectory, scored frames only, float64."""

    u: Tensor  # (F, C, H, W) the answer: `point`, or the first sample
    v: Tensor  # (F, C, H, W) truth
    y: Tensor  # (F, C, H, W) observations
    seen: Tensor  # (F, C, H, W) 1 where observed
    elapsed: Tensor  # (F,) time since the observed end
    end: int  # the scored frame farthest from the observed end: 0 or F - 1
    target: Tensor  # (F,) bool: the fields of a steady problem that are asked for, else all frames


def score(
    prediction: Prediction,
    truth: Trajectories,
    problem: Problem,
    *,
    frame_names: Sequence[str] | None = None,
    one_step: Prediction | None = None,
) -> dict[str, Metric]:
    """All metrics that apply. `frame_names`: the fields of a steady problem; `one_step`: an answer at once."""
    _check_shapes(prediction, truth, problem, frame_names)
    if one_step is not None:
        _check_shapes(one_step, truth, problem, frame_names)
    frames = _predicted(prediction, len(truth.grid.times))
    modes = shells(truth.grid)
    seen_any = bool(problem.mask[:, frames].any())

    @torch.no_grad()
    def one(i: int) -> dict[str, Any]:
        samples = _finite(prediction.u[:, i], i, frames)  # (S, T, C, H, W)
        answer = samples[0] if prediction.point is None else _finite(prediction.point[i : i + 1], i, frames)[0]
        case = _case(answer, truth, problem, i, frames, frame_names is not None)
        row = _score_trajectory(case, samples, truth, i, frames, modes, frame_names)
        if prediction.point is not None and len(samples) > 1:
            row["rel_l2_mean"] = row["rel_l2"]
        if one_step is not None:
            at_once = _finite(one_step.u[:1, i], i, frames)[0]
            case = _case(at_once, truth, problem, i, frames, frame_names is not None)
            row["rel_l2_one_step"] = _relative_errors(case, frame_names is not None)["rel_l2"]
        return row if seen_any else {k: x for k, x in row.items() if k != "observation_misfit"}

    rows = _one_thread_each(one, len(truth))
    return {name: Metric(metric_info(name).unit, [row[name] for row in rows]) for name in rows[0]}


def _one_thread_each(work: Callable[[int], dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """work(0) .. work(count - 1), as many at a time as torch has threads; the first error in that order is raised."""
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            return list(pool.map(work, range(count)))
    finally:
        torch.set_num_threads(threads)  # the workers' setting is also that of threads yet to come


def _check_shapes(prediction: Prediction, truth: Trajectories, problem: Problem, names: Sequence[str] | None) -> None:
    expected = tuple(truth.u.shape)
    if len(prediction.u) < 1 or tuple(prediction.u.shape[1:]) != expected:
        raise ValueError(f"prediction: expected (S >= 1, {str(expected)[1:]}, got {tuple(prediction.u.shape)}")
    if problem.values.shape != truth.u.shape:
        raise ValueError(f"problem: expected {expected}, got {tuple(problem.values.shape)}")
    if not len(truth):
        raise ValueError("truth: expected at least one trajectory, got none")
    if names is not None and len(names) != len(truth.grid.times):
        raise ValueError(f"frame_names: expected {len(truth.grid.times)} names, got {tuple(names)}")


def _predicted(prediction: Prediction, count: int) -> list[int]:
    """The frames that are predicted, and so scored, in order."""
    frames = set(range(count)) if prediction.frames is None else set(prediction.frames)
    if not frames or not frames <= set(range(count)):
        raise ValueError(f"prediction.frames: expected some of 0 .. {count - 1}, got {sorted(frames)}")
    return sorted(frames)


def _finite(u: Tensor, i: int, frames: list[int]) -> Tensor:
    """Samples (S, T, H, W, C) of trajectory i as (S, T, C, H, W), checked wherever they were predicted."""
    u = u.cpu().movedim(-1, 2)
    for s, sample in enumerate(u):
        if sample.sum().isfinite():  # then so is every term; the other way round a sum may overflow
            continue
        for frame in frames:
            if not sample[frame].isfinite().all():
                raise NonFinitePrediction(f"prediction: NaN or infinity in trajectory {i} (sample {s}, frame {frame})")
    return u


def _take(frames: list[int]) -> slice | list[int]:
    """The same frames, as a slice where that saves a copy."""
    first, last = frames[0], frames[-1]
    return slice(first, last + 1) if last - first == len(frames) - 1 else frames


def _score_trajectory(
    case: _Case, samples: Tensor, truth: Trajectories, i: int, frames: list[int], modes: Shells, names: Any
) -> dict[str, Any]:
    steady = names is not None
    row: dict[str, Any] = {
        **_relative_errors(case, steady),
        **_frame_metrics(case, steady),
        **spectral_metrics(case.u, case.v, truth.grid, modes, steady),
    }
    if steady:
        row |= {f"rel_l2_{names[f]}": value for f, value in zip(frames, row["rel_l2_curve"], strict=True)}
    if len(frames) == len(truth.grid.times):
        row |= _residuals(case, truth, i)
    if len(samples) > 1:
        row |= ensemble_metrics(samples[:, _take(frames)], case.v, case.seen == 0, case.target, steady)
    else:
        row["crps"] = row["rel_l1"]
    return row


def _case(u: Tensor, truth: Trajectories, problem: Problem, i: int, frames: list[int], steady: bool) -> _Case:
    mask = problem.mask[i].cpu()
    seen_frames = mask.flatten(1).any(1).nonzero().flatten().tolist()
    last = len(truth.grid.times) - 1
    backwards = seen_frames == [last]  # only the last frame is observed
    times = torch.tensor(truth.grid.times, dtype=torch.float64)
    v = _video(truth.u[i], frames)
    if not v.isfinite().all():
        raise ValueError(f"truth: expected finite values, got NaN or infinity in trajectory {i}")
    seen = _video(mask, frames)
    return _Case(
        u=u[_take(frames)].to(torch.float64).contiguous(),
        v=v,
        y=_video(problem.values[i], frames),
        seen=seen,
        target=_target(seen) if steady else torch.ones(len(seen), dtype=torch.bool),
        elapsed=(times[frames] - times[last if backwards else 0]).abs(),
        end=0 if backwards else len(frames) - 1,
    )


def _video(u: Tensor, frames: list[int]) -> Tensor:
    """(T, H, W, C) -> (F, C, H, W), a float64 copy in its own memory."""
    return u.cpu()[_take(frames)].movedim(-1, 1).to(torch.float64, copy=True).contiguous()


def _target(seen: Tensor) -> Tensor:
    """Which fields (F,) of a steady problem are asked for: those without a sensor; if none is, all not given in full.

    A task that sees the coefficient in full or in part asks for the solution, and the other way round; one with sensors
    in both asks for both.
    """
    blind, given = (seen == 0).flatten(1).all(1), (seen != 0).flatten(1).all(1)
    return next((fields for fields in (blind, ~given) if fields.any()), given)


def _dot(f: Tensor, g: Tensor) -> Tensor:
    """Sum of f g over channels and sites: (F, C, H, W) -> (F,)"""
    return torch.einsum("fn,fn->f", f.flatten(1), g.flatten(1))


def _relative_errors(case: _Case, steady: bool) -> dict[str, Any]:
    v, seen, hidden = case.v, case.seen, 1 - case.seen
    e = case.u - v
    e2, v2, size = e.square(), v.square(), e.abs()
    error, norm = (f.sum((1, 2, 3)) for f in (e2, v2))  # (F,)
    hidden_error = _dot(e2, hidden)
    curve = 100 * relative(error.sqrt(), norm.sqrt())
    misfit = (case.u - case.y) * seen
    return {
        "rel_l2": _percent(error, norm, steady, case.target if steady else None),
        **({"rel_l2_fields": _percent(error, norm, steady, _dot(hidden, hidden))} if steady else {}),
        "rel_l2_frame": float(curve.mean()),
        "rel_l2_end": float(curve[case.end]),
        "rel_l2_hidden": _percent(hidden_error, _dot(v2, hidden), steady, _dot(hidden, hidden)),
        "rel_l2_observed_part": _part(_dot(e2, seen), norm, steady),
        "rel_l2_hidden_part": _part(hidden_error, norm, steady),
        "rel_l2_curve": curve.tolist(),
        "rel_l1": 100 * float(relative(*(total(f.sum((1, 2, 3)), steady) for f in (size, v.abs()))).mean()),
        "max_error": float(size.max()),
        "observation_misfit": _percent(_dot(misfit, misfit), _dot(case.y.square(), seen), steady, _dot(seen, seen)),
    }


def _percent(error2: Tensor, norm2: Tensor, steady: bool, sites: Tensor | None = None) -> float:
    """100 sqrt(error2 / norm2), from sums of squares (F,); steady: mean over the fields with `sites`, 0 if none has."""
    error2, norm2 = total(error2, steady), total(norm2, steady)
    if sites is not None:
        here = total(sites, steady) > 0
        error2, norm2 = error2[here], norm2[here]
    return 100 * float(relative(error2.sqrt(), norm2.sqrt()).mean()) if len(error2) else 0.0


def _part(error2: Tensor, norm2: Tensor, steady: bool) -> float:
    """As `_percent`, but the fields' squares are averaged, so that the squares of all parts add up."""
    ratio = relative(total(error2, steady).sqrt(), total(norm2, steady).sqrt())
    return 100 * float(ratio.square().mean().sqrt())


def _frame_metrics(case: _Case, steady: bool) -> dict[str, float]:
    """What is taken frame by frame and channel by channel: The Well's VRMSE, PDEBench's nRMSE, Pearson correlation."""
    sites = case.v[0, 0].numel()
    mse, square_u, square_v = (_inner(f, f) / sites for f in (case.u - case.v, case.u, case.v))  # (F, C)
    u0, v0 = (f - f.mean((2, 3), keepdim=True) for f in (case.u, case.v))
    variance_u, variance_v = (_inner(f, f) / sites for f in (u0, v0))
    given = case.seen.flatten(1).all(1)  # (F,) frames that were input
    kept = ~given if not given.all() else given
    flat_u, flat_v = (var <= CONSTANT**2 * square for var, square in ((variance_u, square_u), (variance_v, square_v)))
    correlation = torch.where(
        flat_u | flat_v,
        (flat_u & flat_v).to(mse.dtype),  # 1 for two constant frames, 0 for a constant and a varying one
        _inner(u0, v0) / sites / (variance_u * variance_v).sqrt(),
    )
    return {
        "vrmse": float((mse / (variance_v * sites / (sites - 1) + VRMSE_EPS)).sqrt().mean()),
        "nrmse": float(relative(mse.sqrt(), square_v.sqrt())[kept].mean()),
        **_correlations(correlation.mean(1), case.elapsed, steady),
    }


def _inner(f: Tensor, g: Tensor) -> Tensor:
    """Sum of f g over sites: (F, C, H, W) -> (F, C)"""
    return torch.einsum("fcn,fcn->fc", f.flatten(2), g.flatten(2))


def _correlations(frame: Tensor, elapsed: Tensor, steady: bool) -> dict[str, float]:
    result = {"correlation": float(frame.mean())}
    if not steady:
        lost = elapsed[frame < CORRELATED]
        result["correlation_time"] = float(lost.min() if len(lost) else elapsed.max())
    return result


def _residuals(case: _Case, truth: Trajectories, i: int) -> dict[str, float]:
    residual, floor = (_residual(f.movedim(1, -1)[None], truth, i) for f in (case.u, case.v))
    return {"residual": residual, "residual_ratio": residual / max(floor, EPS)}


def _residual(u: Tensor, truth: Trajectories, i: int) -> float:
    """In the data's precision; in float64 where that overflows. Between 0 and 1."""
    static = None if truth.static is None else truth.static[i : i + 1].cpu().clone()
    for dtype in (truth.u.dtype, torch.float64):
        given = None if static is None else static.to(dtype)
        value = float(truth.equation.relative_residual(u.to(dtype).contiguous(), given, truth.grid))
        if math.isfinite(value):
            return value
    terms = truth.equation.terms(u, None if static is None else static.to(u.dtype), truth.grid)
    return 0.0 if all(not t.any() for t in terms.values()) else 1.0
