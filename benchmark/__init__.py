"""Compare learned PDE solvers on the same data, the same observations and the same scores.

From Python (nothing is imported before it is asked for):

    table = benchmark.load_records("results")                  # tidy pandas table: errors, intervals, costs, provenance
    case = benchmark.case("fno", "cont_3", "kolmogorov")       # a cell by the names that `run` takes
    method, problem = case.fit(), case.problem(first=4)
    scores = case.score(method.predict(problem, seed=0), first=4)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmark.api.case import Case, case, open_data
    from benchmark.api.plot import plot
    from benchmark.api.tables import load_records, load_values
    from benchmark.core import Dataset, Method, Prediction, Problem, Task, Trajectories

__all__ = [
    "Case",
    "Dataset",
    "Method",
    "Prediction",
    "Problem",
    "Task",
    "Trajectories",
    "case",
    "load_records",
    "load_values",
    "open_data",
    "plot",
]

_HOMES = {
    "benchmark.api.case": ("Case", "case", "open_data"),
    "benchmark.api.plot": ("plot",),
    "benchmark.api.tables": ("load_records", "load_values"),
    "benchmark.core": ("Dataset", "Method", "Prediction", "Problem", "Task", "Trajectories"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'benchmark' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
