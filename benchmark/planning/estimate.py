"""What a cell will take, before it runs: from records of the same method nearby, else from what is declared or counted.

Nearest first: this cell's own record, then the same task with another seed, then other tasks of the dataset, then
variants. Without any, it is what the profile allows for a fit of its scope on one quiet core (`python -m benchmark
budget` measures it), which leaves the prediction out; a profile that allows nothing, such as `paper`, is forecast from
the work that a method counts of itself and the rate of a machine (`forecast.py`).

Memory without a record is what the method counts of itself (`Method.memory`), with the test set, its prediction and the
process. Counting runs networks without their arithmetic and takes a second or more, so it is done where it is asked
for, once for all tasks that show alike much, and so many times at most; otherwise, and where a method cannot say, there
is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmark.core import Memory, Split
from benchmark.planning import counts
from benchmark.planning.forecast import Forecast, forecast
from benchmark.planning.machine import Machine
from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolved, is_fitted
from benchmark.records.cell import Cell
from benchmark.records.files import read_record
from benchmark.records.record import Record, RecordError

SCOPES = ("task", "dataset", "instance")
BUDGET = {  # seconds of a fit, by profile and scope; `paper` has none
    "smoke": dict.fromkeys(SCOPES, 10.0),
    "laptop": dict(zip(SCOPES, (300.0, 900.0, 300.0), strict=True)),
}
BYTES = 4  # float32
PROCESS_MB = 400.0  # of Python, torch and what they import

COPIES = 11  # of the parameters on disk at most: weights, and two checkpoints with averages and the optimiser's state


@dataclass(frozen=True)
class Estimate:
    seconds: float | None  # None: nothing is known
    memory_mb: float
    disk_mb: float
    basis: str
    flop: float | None = None  # of fit and prediction, where they are forecast
    bound: bool = False  # there is more memory than `memory_mb`, nobody counted how much
    beyond: str = ""  # what a fit or a prediction does not go into: the memory of the machine it is forecast for


NOTHING = Estimate(0.0, 0.0, 0.0, "nothing to do")


@dataclass(frozen=True)
class Means:
    """What may be spent on estimates, and for which machine they are."""

    memory: float = 0  # how many counts of it may be made, each of a second or more
    machine: Callable[[Cell], Machine | None] = lambda cell: None  # that times are forecast for; None: they are not
    named: bool = False  # asked for by its name: its forecast counts more than records of other machines


NOTHING_SPENT = Means()


def estimate(
    cell: Resolved, request: Request, to_generate: Iterable[Split], fit_counted: bool, means: Means = NOTHING_SPENT
) -> Estimate:
    """`to_generate`: splits that this cell will make; `fit_counted`: an earlier cell makes the fit that it uses."""
    trajectories = cell.identity["evaluation"]["trajectories"]
    resolution, samples = cell.dataset.sizes.resolution, cell.identity["evaluation"]["samples"]
    video_mb = trajectories * cell.scored_length * resolution**2 * BYTES / 2**20
    disk = _data_mb(cell, to_generate)
    has_fit = fit_counted or is_fitted(cell.fit_folder(request.runs))
    record = None if means.named and cell.method.kind == "learned" else _nearest_record(cell.cell, request.results)
    if record is None:
        seconds, basis, found = _unseen(cell, request, has_fit, means)
        own = counts.memory(cell, trajectories * samples, means.memory) if means.memory else None
        memory = 0.0 if own is None else PROCESS_MB + max(own.fit, own.predict) / 2**20
        disk += COPIES * _parameters(cell) * BYTES / 2**20 if means.memory and not has_fit else 0.0
        flop, beyond = (found.flop, _beyond(own, found.machine)) if found else (None, "")
        return Estimate(seconds, memory + video_mb * (samples + 3), disk, basis, flop, own is None, beyond)
    cost = record.cost
    longer = 1.0 if record.cell.variant == cell.cell.variant else request.budget  # a record of the plain budget
    seconds = cost["predict_seconds"] * trajectories * samples * (longer if cell.method.scope == "instance" else 1.0)
    disk += 0.0 if has_fit else cost.get("parameters", 0) * BYTES / 2**20
    seconds += 0.0 if has_fit else longer * cost["fit_seconds"]
    return Estimate(seconds, max(cost["peak_memory_mb"], video_mb), disk, f"the record of {record.cell}")


def _unseen(cell: Resolved, request: Request, has_fit: bool, means: Means) -> tuple[float | None, str, Forecast | None]:
    """Seconds of a cell without a record, who says so, and the forecast if that does."""
    seconds, basis = _declared(cell, request, has_fit)
    if cell.method.kind != "learned" or (seconds is not None and not means.named):
        return seconds, basis, None
    machine = means.machine(cell.cell)
    found = forecast(cell, machine, has_fit) if machine is not None else None
    return (seconds, basis, None) if found is None else (found.seconds, found.basis, found)


def _beyond(own: Memory | None, machine: Machine) -> str:
    is_beyond = own is not None and max(own.fit, own.predict) > machine.memory
    return f"the {machine.memory / 1e9:.0f} GB of one {machine.name}" if is_beyond else ""


def _parameters(cell: Resolved) -> int:
    try:
        return cell.method(cell.settings).parameters(cell.task, cell.dataset) or 0
    except Exception:  # whatever a stranger's method does
        return 0


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
    variants = sorted(folder.glob(f"*/{cell.method}@*-s*.json"), key=lambda p: (p.parent.name != cell.task, p))
    return next(_with_cost([cell.path(results), *same_task, *others, *variants]), None)


def _with_cost(paths: Iterable[Path]) -> Iterator[Record]:
    for path in paths:
        try:
            record = read_record(path)
        except (OSError, RecordError):
            continue
        if record.state == "done" and {"predict_seconds", "fit_seconds", "peak_memory_mb"} <= record.cost.keys():
            yield record
