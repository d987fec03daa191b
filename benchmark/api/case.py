"""One cell as an object: its data, what is seen of it, its stored fit, and the score of an answer.

case = benchmark.case("fno", "cont_3", "kolmogorov")
method = case.fit()                                  # stored by an earlier run, or made now and stored
problem = case.problem(first=4)                      # what a method sees of the first test trajectories
answer = method.predict(problem, seed=0)
case.score(answer, first=4)["rel_l2"].values         # held against the truth, as `run` does
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.core import Dataset, Method, Prediction, Problem, Split, Task, Trajectories, TrajectorySet
    from benchmark.planning.resolve import Resolved
    from benchmark.records.record import Record
    from benchmark.running.cell import RunContext
    from benchmark.scoring.metrics import Metric


@dataclass(frozen=True)
class Case:
    """Made by `case`; needs no record and no fit until it is asked for one."""

    resolved: Resolved
    context: RunContext

    def __repr__(self) -> str:
        return f"<{self.resolved.cell}>"

    @property
    def task(self) -> Task:
        return self.resolved.task

    @property
    def dataset(self) -> Dataset:
        return self.resolved.dataset

    def data(self, split: Split = "test") -> TrajectorySet:
        """The trajectories of a split, generated on first use; indexing reads them."""
        from datasets.store import open_split

        self._prepare()
        frames = self.resolved.scored_length if split == "test" else self.dataset.sizes.frames
        return open_split(self.dataset, split, self.context.request.data, frames=frames)

    def truth(self, first: int = 4) -> Trajectories:
        """The first test trajectories, once for each mask of the task."""
        from benchmark.running.evaluate import observe

        return observe(self._question(first))[0]

    def problem(self, first: int = 4) -> Problem:
        """What a method sees of them: the masks and readings that `run` uses."""
        from benchmark.running.evaluate import make_problem

        return make_problem(self._question(first)).to(self.context.device)

    def fit(self, only_stored: bool = False) -> Method:
        """The method ready to predict. `only_stored` refuses to train."""
        from benchmark.planning.resolve import is_fitted
        from benchmark.running.cell import fitted

        folder = self.resolved.fit_folder(self.context.request.runs)
        if only_stored and self.resolved.method.scope != "instance" and not is_fitted(folder):
            raise UserError(f"{folder}: no fit there; `python -m benchmark run` makes one, or fit()")
        self._prepare()
        return fitted(self.resolved, self.context).method

    def score(self, prediction: Prediction, first: int = 4) -> dict[str, Metric]:
        """Every metric that applies, one value (or curve) per trajectory; the first test trajectories are the truth."""
        from benchmark.running.evaluate import check_prediction, observe, score_prediction

        truth, seen = observe(self._question(first))
        checked = check_prediction(prediction, seen, len(prediction.u))
        return score_prediction(checked, truth, seen, self.dataset)

    def run(self) -> Record:
        """The cell's record, stored as `python -m benchmark run` stores it; what is done is read, not run again."""
        from benchmark.planning.plan import plan
        from benchmark.running.pool import execute

        (record,) = execute(self.context.request, plan(self.context.request))
        return record

    def _question(self, first: int) -> Any:
        from benchmark.running.cell import question_of

        self._prepare()
        return question_of(self.resolved, self.context, first)

    def _prepare(self) -> None:
        from benchmark.running.cell import prepare_data

        prepare_data(self.resolved, self.context)


def case(
    method: str,
    task: str,
    dataset: str = "navier_stokes",
    profile: str = "laptop",
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    samples: int | None = None,
    device: str = "auto",
    results: str | Path = "results",
    runs: str | Path = "runs",
    data: str | Path | None = None,
    plugins: str | Path | Sequence[str | Path] = (),
) -> Case:
    """A cell by the names and settings that `run` takes: settings={"architecture.width": 64}."""
    import json

    from benchmark.api.folders import data_folder
    from benchmark.planning.request import Request
    from benchmark.planning.resolve import Resolver
    from benchmark.records.cell import Cell
    from benchmark.running.cell import RunContext
    from benchmark.running.provenance import code, now
    from benchmark.running.worker import choose_device

    files = tuple(map(Path, [plugins] if isinstance(plugins, (str, Path)) else plugins))
    request = Request(
        (method,), (task,), (dataset,), (seed,), profile, samples, device,
        overrides=tuple(f"{key}={json.dumps(value)}" for key, value in (settings or {}).items()),
        plugins=files, results=Path(results), runs=Path(runs), data=data_folder(data),
    )  # fmt: skip
    resolver = Resolver.of(request)
    resolver.check_changes()
    for kind in ("methods", "tasks", "datasets"):
        resolver.names(kind)
    resolved = resolver.resolve(Cell(method, task, dataset, profile, seed))
    if resolved.unsupported:
        raise UserError(f"{resolved.cell}: {resolved.unsupported}")
    return Case(resolved, RunContext(request, choose_device(device, 0), now(), code()))


def open_data(
    dataset: str,
    split: Split = "test",
    profile: str = "laptop",
    data: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    plugins: str | Path | Sequence[str | Path] = (),
) -> TrajectorySet:
    """The trajectories of a dataset, generated on first use: `open_data("kolmogorov")[:4].u` is (B, T, H, W, C)."""
    return case("mean", "fwd_full", dataset, profile, settings=settings, data=data, plugins=plugins).data(split)
