"""What a cell will take, before it runs: from records of the same method nearby, else from what is declared.

Nearest first: this cell's own record, then the same task with another seed, then other tasks of the dataset. Without
any, it is what the profile allows for a fit of its scope on one quiet core (`python -m benchmark budget` measures it),
which leaves the prediction out.

Memory without a record is what the method counts of itself (`Method.memory`), with the test set, its prediction and the
process. Counting runs networks without their arithmetic and takes a second or more, so it is done where it is asked for
and once for all tasks that show alike much; otherwise, and where a method cannot say, there is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark.core import Memory, Split
from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolved, is_fitted
from benchmark.records.cell import Cell, digest, plain
from benchmark.records.files import read_record
from benchmark.records.record import Record, RecordError

SCOPES = ("task", "dataset", "instance")
BUDGET = {  # seconds of a fit, by profile and scope; `paper` has none
    "smoke": dict.fromkeys(SCOPES, 10.0),
    "laptop": dict(zip(SCOPES, (300.0, 900.0, 300.0), strict=True)),
}
BYTES = 4  # float32
PROCESS_MB = 400.0  # of Python, torch and what they import

_COUNTED: dict[str, Memory | None] = {}


@dataclass(frozen=True)
class Estimate:
    seconds: float | None  # None: nothing is known
    memory_mb: float
    disk_mb: float
    basis: str


NOTHING = Estimate(0.0, 0.0, 0.0, "nothing to do")


def estimate(
    cell: Resolved, request: Request, to_generate: Iterable[Split], fit_counted: bool, count_memory: bool = False
) -> Estimate:
    """`to_generate`: splits that this cell will make; `fit_counted`: an earlier cell makes the fit that it uses."""
    trajectories = cell.identity["evaluation"]["trajectories"]
    resolution, samples = cell.dataset.sizes.resolution, cell.identity["evaluation"]["samples"]
    video_mb = trajectories * cell.scored_length * resolution**2 * BYTES / 2**20
    disk = _data_mb(cell, to_generate)
    has_fit = fit_counted or is_fitted(cell.fit_folder(request.runs))
    record = _nearest_record(cell.cell, request.results)
    if record is None:
        seconds, basis = _declared(cell, request, has_fit)
        own = method_memory(cell, trajectories * samples) if count_memory else None
        memory = 0.0 if own is None else PROCESS_MB + max(own.fit, own.predict) / 2**20
        return Estimate(seconds, memory + video_mb * (samples + 3), disk, basis)
    cost = record.cost
    longer = 1.0 if record.cell.variant == cell.cell.variant else request.budget  # a record of the plain budget
    seconds = cost["predict_seconds"] * trajectories * samples * (longer if cell.method.scope == "instance" else 1.0)
    disk += 0.0 if has_fit else cost.get("parameters", 0) * BYTES / 2**20
    seconds += 0.0 if has_fit else longer * cost["fit_seconds"]
    return Estimate(seconds, max(cost["peak_memory_mb"], video_mb), disk, f"the record of {record.cell}")


def method_memory(cell: Resolved, videos: int) -> Memory | None:
    """None: the method cannot say, or fails at it, which is no reason not to plan."""
    task = cell.task
    key = digest([cell.cell.method, cell.cell.dataset, plain(cell.settings), plain(cell.dataset.settings),
                  task.family == "continuous", task.is_sparse, videos])  # fmt: skip
    if key not in _COUNTED:
        try:
            _COUNTED[key] = cell.method(cell.settings).memory(task, cell.tasks, cell.dataset, videos)
        except Exception:  # whatever a stranger's network does with tensors that have no numbers
            _COUNTED[key] = None
    return _COUNTED[key]


def _declared(cell: Resolved, request: Request, has_fit: bool) -> tuple[float | None, str]:
    """Seconds, and who says so."""
    if request.profile not in BUDGET or cell.method.kind == "reference":
        return None, "nothing known"
    seconds = request.budget * BUDGET[request.profile][cell.method.scope]
    return (0.0 if has_fit else seconds), "the profile's budget of a fit"


def _data_mb(cell: Resolved, splits: Iterable[Split]) -> float:
    dataset = cell.dataset
    layouts = [dataset.layout(split) for split in splits]
    frames = sum(
        layout.runs * (layout.frames * len(dataset.channels) + len(dataset.static_names)) for layout in layouts
    )
    return frames * dataset.sizes.resolution**2 * BYTES / 2**20


def _nearest_record(cell: Cell, results: Path) -> Record | None:
    folder = results / cell.profile / cell.dataset
    same_task = sorted((folder / cell.task).glob(f"{cell.method}-s*.json"))
    others = sorted(folder.glob(f"*/{cell.method}-s*.json"))
    return next(_with_cost([cell.path(results), *same_task, *others]), None)


def _with_cost(paths: Iterable[Path]) -> Iterator[Record]:
    for path in paths:
        try:
            record = read_record(path)
        except (OSError, RecordError):
            continue
        if record.state == "done" and {"predict_seconds", "fit_seconds", "peak_memory_mb"} <= record.cost.keys():
            yield record
