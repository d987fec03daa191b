"""The fit cache: each fit is made once, kept in its run folder, and read back by every cell that it serves.

    runs/<profile>/<dataset>/<method>-s<seed>/<task or all>-<fit key>/
        begun.json          when the fit was first begun
        elapsed.json        seconds spent so far, by clock and processor, so that a resumed fit reports what it took
        state.safetensors   what the method learned
        fit.json            written last: with it the fit is whole
        (and whatever the method keeps there, such as checkpoints)

A prediction is always made with a state read back from disk, so that a resumed run and an undisturbed one take the
same path.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from benchmark.core import Method, Run, TrajectorySet
from benchmark.errors import FileError
from benchmark.planning.resolve import FIT, Resolved
from benchmark.records.files import replacing, write_json
from benchmark.records.strict import checked, read_json
from benchmark.running import locks
from benchmark.running.meter import Meter
from benchmark.running.provenance import now

SAVE_EVERY = 10.0  # seconds between notes of the time spent


@dataclass(frozen=True)
class Fit:
    """What a fit took."""

    seconds: float
    memory_mb: float
    cost: dict[str, float]
    created: str
    cached: bool = False
    cpu_seconds: float = 0.0  # of the processor, all threads


@dataclass(frozen=True)
class FitStore:
    """The fits of one runs folder. `since`: with --overwrite, fits begun before that moment are thrown away."""

    runs: Path
    device: torch.device
    since: str | None
    progress: Callable[[str, float], None]
    clock: Callable[[bool], None]  # False: the time that passes now, waiting for another's fit, is not ours
    call: Callable[[], AbstractContextManager[int]] = lambda: nullcontext(1)  # the team to a fit: how many processes

    def serve(self, cell: Resolved, train: TrajectorySet, valid: TrajectorySet) -> tuple[Method, Fit]:
        """The fitted method of a cell, fitted now if nobody has."""
        folder = cell.fit_folder(self.runs)
        with locks.hold(folder.with_name(f"{folder.name}.lock"), self._wait):
            self.clock(True)
            if self.since is not None and not self.since <= _begun(folder) <= now():
                discard(folder)
            fit = read_fit(folder)
            if fit is None:
                fit = self._make(cell, train, valid, folder)
        method = cell.method(cell.settings).restore(_load(folder, self.device), train)
        return method, fit

    def _wait(self) -> None:
        self.progress("waiting for a fit", 0.0)
        self.clock(False)

    def _make(self, cell: Resolved, train: TrajectorySet, valid: TrajectorySet, folder: Path) -> Fit:
        for part in folder.glob(".*.tmp"):  # of a killed process; we hold the lock
            part.unlink(missing_ok=True)
        if not (folder / "begun.json").exists():
            write_json(folder / "begun.json", {"created": now()})
        before = {"seconds": 0.0, "cpu_seconds": 0.0} | _read(folder / "elapsed.json")
        run = Run(self.device, folder, _Elapsed(folder / "elapsed.json", before, self.progress))
        call = self.call if cell.method.shares_fits else nullcontext
        with Meter(self.device) as meter, call() as processes:
            method = cell.method(cell.settings).fit(train, valid, cell.tasks, cell.cell.seed, run)
        if not isinstance(method, Method):
            raise TypeError(f"fit: expected the method itself to be returned, got {type(method).__name__}")
        _save(folder, method.state())
        cost = {name: value if isinstance(value, int) else float(value) for name, value in method.cost().items()}
        if processes is not None and processes > 1:
            cost["processes"] = processes
        spent = {name: value + getattr(meter, name) for name, value in before.items()}
        fit = Fit(memory_mb=meter.memory_mb, cost=cost, created=now(), **spent)
        write_json(folder / FIT, {**asdict(fit), "identity": cell.fit_identity})
        return fit


class _Elapsed:
    """Passes progress on and notes now and then how long the fit has taken."""

    def __init__(self, path: Path, before: Mapping[str, float], progress: Callable[[str, float], None]):
        self.path, self.before, self.progress = path, before, progress
        self.start = self.saved = time.monotonic()
        self.cpu_start = time.process_time()

    def __call__(self, message: str, fraction: float) -> None:
        clock = time.monotonic()
        if clock - self.saved >= SAVE_EVERY:
            spent = {"seconds": clock - self.start, "cpu_seconds": time.process_time() - self.cpu_start}
            write_json(self.path, {name: self.before[name] + value for name, value in spent.items()})
            self.saved = clock
        self.progress(message, fraction)


def read_fit(folder: Path) -> Fit | None:
    """A whole fit, or None."""
    try:
        return replace(Fit(**{k: v for k, v in _read(folder / FIT).items() if k != "identity"}), cached=True)
    except TypeError:  # no notes, or of another form
        return None


def discard(folder: Path) -> None:
    """Renamed first, so that a kill half-way leaves no half-deleted fit under its name."""
    waste = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(waste, ignore_errors=True)
    if folder.exists():
        os.replace(folder, waste)
        shutil.rmtree(waste, ignore_errors=True)


def _begun(folder: Path) -> str:
    return str(_read(folder / "begun.json").get("created", ""))


def _read(path: Path) -> dict[str, Any]:
    """The notes of a fit; none where they are damaged, so that the fit is made again."""
    try:
        notes = checked(read_json(path))
    except (OSError, ValueError):
        return {}
    return notes if isinstance(notes, dict) else {}


def _save(folder: Path, state: dict[str, Tensor]) -> None:
    """Atomic, like a record: under its name the file is whole."""
    wrong = [name for name, value in state.items() if not isinstance(value, Tensor)]
    if wrong:
        raise TypeError(f"state: expected tensors, {wrong[0]!r} is a {type(state[wrong[0]]).__name__}")
    with replacing(folder / "state.safetensors") as part:
        save_file({name: value.detach().cpu().contiguous().clone() for name, value in state.items()}, part)


def _load(folder: Path, device: torch.device) -> dict[str, Tensor]:
    path = folder / "state.safetensors"
    try:
        return load_file(path, device=str(device))
    except (OSError, SafetensorError) as error:
        raise FileError(f"{path}: cannot be read ({error}); run again with --overwrite") from error
