"""What methods count of themselves before they run, and where the counts are kept.

Counting a network of the paper's size takes seconds, of all methods and datasets half an hour. So the counts of the
suite at profile `paper` lie in `counts.json`, by the digest of all they follow from; what is not there, such as a
variant, is counted now and remembered by this process. `python -m benchmark.tools.count_paper` brings the file up to
date, and a test says when it must.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from benchmark.core import Memory, Task, Work
from benchmark.planning.resolve import Resolved, method_versions
from benchmark.records.cell import digest, plain

STORED = Path(__file__).with_name("counts.json")

_COUNTED: dict[str, Any] = {}


def fit_work(cell: Resolved) -> Work | None:
    """Of the fit that serves this cell."""
    return _known(fit_key(cell), Work, lambda: cell.method(cell.settings).fit_work(cell.tasks, cell.dataset))


def prediction_work(cell: Resolved) -> Work | None:
    """Of one sample of one test trajectory."""

    def count() -> Work | None:
        method = cell.method(cell.settings)
        return method.prediction_work(cell.task, cell.tasks, cell.dataset, cell.scored_length)

    return _known(prediction_key(cell), Work, count)


def memory(cell: Resolved, videos: int, most: float = inf) -> Memory | None:
    """None too where it is not known yet and this process has counted `most` things already."""

    def count() -> Memory | None:
        return cell.method(cell.settings).memory(cell.task, cell.tasks, cell.dataset, videos)

    key = memory_key(cell, videos)
    is_known = key in stored() or key in _COUNTED
    return _known(key, Memory, count) if is_known or len(_COUNTED) < most else None


def fit_key(cell: Resolved) -> str:
    return _key("fit", cell, sorted(set(map(_shown, cell.tasks))))


def prediction_key(cell: Resolved) -> str:
    return _key("prediction", cell, [_shown(cell.task), cell.scored_length])


def memory_key(cell: Resolved, videos: int) -> str:
    return _key("memory", cell, [_shown(cell.task), videos])


def _shown(task: Task) -> tuple[bool, bool]:
    """All frames or one, in part or in full: how many sensors there are moves little."""
    return task.family == "continuous", task.is_sparse


def _key(kind: str, cell: Resolved, more: list[Any]) -> str:
    sizes = {**plain(cell.dataset.settings), "name": cell.cell.dataset}
    sizes["sizes"] = {name: sizes["sizes"][name] for name in ("resolution", "frames")}
    parts = [method_versions(cell.method), plain(cell.settings), sizes, *more]
    return f"{kind} {cell.cell.method} {cell.cell.dataset} {digest(parts)[:16]}"


def _known(key: str, kind: type[Any], count: Callable[[], Any]) -> Any:
    """From the file, or counted; None where the method cannot say, or fails at it, which is no reason not to plan."""
    if key in stored():
        return kind(**stored()[key])
    if key not in _COUNTED:
        try:
            _COUNTED[key] = count()
        except Exception:  # whatever a stranger's network does with tensors that have no numbers
            _COUNTED[key] = None
    return _COUNTED[key]


@cache
def stored() -> dict[str, dict[str, float]]:
    return json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}


def counted() -> dict[str, dict[str, float]]:
    """What this process had to count."""
    return {key: asdict(value) for key, value in _COUNTED.items() if value is not None}
