"""Does a smaller profile keep the difficulty? Reference errors at a profile and at paper size, side by side.

3 % of 32 x 32 are 31 sensors where 3 % of 128 x 128 are 492, so that the same field would be a harder task on the
smaller grid. The profiles' physics is therefore smoother in proportion; the rule is that kriging from sensors and
persistence from the first frame lie within a factor 2 of their values at paper size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark.core import Dataset, Split
from benchmark.planning.registry import Registry, registry
from benchmark.planning.support import unsupported
from benchmark.running.evaluate import Question, evaluate, fit_in_memory
from benchmark.running.masks import MaskNames

FACTOR = 2.0
FIGURES = (("kriging", "cont_1"), ("kriging", "cont_3"), ("persistence", "fwd_full"))
TRAIN, VALID = 64, 8  # trajectories kriging is fitted on and chosen with
SPLITS: tuple[Split, ...] = ("train", "valid", "test")
Progress = Callable[[str, int, int], None]


def calibration(
    small: Dataset, large: Dataset, root: Path, test: int, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """One row per figure: the errors in percent, their ratio, and whether it is within the factor."""
    known = registry()
    rows = []
    for method, task in FIGURES:
        row: dict[str, Any] = {"dataset": small.name, "method": method, "task": task}
        for profile, dataset in ((_profile(small), small), ("paper", large)):
            row[profile] = reference_error(known, shortened(dataset, test), method, task, root, profile, progress)
        values = [v for v in row.values() if isinstance(v, float)]
        if len(values) == 2:
            ratio = values[0] / values[1]
            row |= {"ratio": ratio, "within 2x": "yes" if 1 / FACTOR <= ratio <= FACTOR else "no"}
        rows.append(row)
    return rows


def _profile(dataset: Dataset) -> str:
    resolution = dataset.sizes.resolution
    return next((n for n, s in dataset.profiles.items() if s.sizes.resolution == resolution), str(resolution))


def shortened(dataset: Dataset, test: int) -> Dataset:
    """Enough trajectories for the references; a run of its own for each, where runs are cut into clips."""
    sizes = replace(dataset.sizes, train=TRAIN, valid=VALID, test=test, long_frames=None)
    clips = {"clips_per_run": 1} if hasattr(dataset.settings, "clips_per_run") else {}
    return type(dataset)(replace(dataset.settings, sizes=sizes, **clips))


def reference_error(
    known: Registry,
    dataset: Dataset,
    method_name: str,
    task_name: str,
    root: Path,
    profile: str,
    progress: Progress | None,
) -> float | str:
    """Mean relative l2 error in percent, or why there is none."""
    from datasets.generate import ensure_data
    from datasets.store import open_split

    task, cls = known.load("tasks", task_name), known.load("methods", method_name)
    method = cls(cls.profiles.get(profile) or cls.profiles["laptop"])
    if reason := unsupported(method, task, dataset):
        return reason
    ensure_data(dataset, root, progress=progress)
    train, valid, test = (open_split(dataset, split, root) for split in SPLITS)
    question = Question(dataset, task, MaskNames(dataset.name, task.name), lambda: test[:])
    return evaluate(question, lambda: fit_in_memory(method, train, valid, task)).error
