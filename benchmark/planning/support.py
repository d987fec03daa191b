"""What goes with what: why a task, or a method on a task, cannot be run on a dataset.

Task and method may each give a reason of their own. That a long roll-out needs long trajectories is decided here and
not by the tasks: the family alone says which length of the test set is opened (`scored_length`), so a plugin's task
that forgets to ask would otherwise be scored on short trajectories and called long.
"""

from __future__ import annotations

from benchmark.core import Dataset, Method, Task


def unsupported(method: Method, task: Task, dataset: Dataset) -> str | None:
    """Why this method cannot do this task on this dataset, or None."""
    return task_unsupported(task, dataset) or method.unsupported(task, dataset)


def task_unsupported(task: Task, dataset: Dataset) -> str | None:
    """Why this task makes no sense on this dataset, or None."""
    return task.unsupported(dataset) or _no_long_frames(task, dataset)


def scored_length(task: Task, dataset: Dataset) -> int:
    """How many frames the test trajectories of a task have."""
    long_frames = dataset.sizes.long_frames
    return long_frames if task.family == "long_range" and long_frames else dataset.sizes.frames


def _no_long_frames(task: Task, dataset: Dataset) -> str | None:
    if task.family == "long_range" and not dataset.sizes.long_frames:
        return f"{dataset.name} has no trajectories longer than those it trains on"
    return None
