"""Checks of a stored file, generated or official: is it whole, and does it obey its equation?

`verify_file` gives a table of checks. The equation's residual is compared with that of our own solution from the file's
first frame, on the same grid and frames: what is left of a true solution is the truncation error of both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import h5py
import numpy as np
import torch
from torch import Tensor

from benchmark.core import Dataset, Grid, Trajectories
from benchmark.core.equation import Equation
from datasets.bands import bands, statistic
from datasets.laws import Law, laws
from datasets.layout import DataError, Field, field_shapes, locate_fields, number, recipe, stored_array
from datasets.store import StoredTrajectories, open_checked
from datasets.writer import fingerprint

ALL_RUNS_BYTES = 2**31  # files up to this size are read whole for their digests
BLOCK_VALUES = 2**22  # of a video in memory, so that the terms of a residual stay small
RESIDUAL_FACTOR = 1.5
# the last frame of our own solution against the stored one; our solver is not theirs, nor are all its constants known
RESIMULATION = {"generated": 1e-3, "official": 0.1}
UNKNOWN_CONSTANTS = ("wave_layer", "allen_cahn")  # of the official files
TURNOVERS = 10.0  # time in units of 1 / rms vorticity after which two solutions may part


@dataclass(frozen=True)
class Check:
    name: str
    value: float | None
    bound: str
    verdict: Literal["pass", "fail", "skip"]
    note: str = ""


def verify_file(dataset: Dataset, path: Path, *, trajectories: int = 64) -> list[Check]:
    """Checks of at most `trajectories` runs; digests of all runs where the file is small enough."""
    try:
        stored = _Stored.open(dataset, path)
        checks = [Check("readable", None, "", "pass", f"{stored.runs} runs of {stored.frames} frames, {stored.source}")]
        checks += _integrity(stored, trajectories)
        if any(c.verdict == "fail" and c.name == "non-finite runs" for c in checks):
            return checks
        return checks + _physics(dataset, stored, trajectories)
    except DataError as error:
        return [Check("readable", None, "", "fail", str(error))]


@dataclass(frozen=True)
class _Stored:
    """What a file says of itself."""

    path: Path
    fields: dict[str, Field]
    source: str  # "generated" or an official one
    grid: Grid  # of a whole run
    digests: list[str]
    sealed: bool  # whether digests and recipe give the fingerprint the file was closed with

    @property
    def runs(self) -> int:
        return self.fields["u"].shape[0]

    @property
    def frames(self) -> int:
        return self.fields["u"].shape[1]

    @property
    def kind(self) -> str:
        return "generated" if self.source == "generated" else "official"

    @classmethod
    def open(cls, dataset: Dataset, path: Path) -> _Stored:
        with open_checked(path) as file:
            fields = locate_fields(file, path)
            source, recipe_json = str(file.attrs["source"]), str(file.attrs["recipe"])
            if source == "generated" and json.loads(recipe_json) != json.loads(json.dumps(recipe(dataset))):
                raise DataError(f"{path}: made by another recipe; verify it with the settings it was made with")
            grid = _grid(dataset, file, fields, path)
            digests = [bytes(d).hex() for d in stored_array(file, "digests")[...]]
            sealed = fingerprint(recipe_json, digests) == file.attrs["fingerprint"]
        return cls(path, fields, source, grid, digests, sealed)


def _grid(dataset: Dataset, file: h5py.File, fields: dict[str, Field], path: Path) -> Grid:
    times = tuple(float(t) for t in stored_array(file, "dimensions/time")[...])
    expected = field_shapes(dataset, number(file, "n_trajectories"), len(times))
    found = {f.name: f.shape for f in fields.values()}
    if found != expected:
        raise DataError(f"{path}: expected {expected}, found {found}; remove it and generate or import it again")
    grid = dataset.grid(len(times))
    return grid if np.allclose(grid.times, times) else replace(grid, times=times)


def _integrity(stored: _Stored, trajectories: int) -> list[Check]:
    """Every run's digest, and whether its values are finite."""
    total = stored.runs * sum(f.run_bytes for f in stored.fields.values())
    chosen = range(stored.runs) if total <= ALL_RUNS_BYTES else _spread(stored.runs, trajectories)
    changed, bad = [], []
    for run in chosen:
        digest, finite = hashlib.sha256(), True
        for field in _in_digest_order(stored.fields):
            values = _read_run(stored.path, field, run)
            digest.update(values.data)
            finite = finite and bool(np.isfinite(values).all())
        changed += [run] if digest.hexdigest() != stored.digests[run] else []
        bad += [run] if not finite else []
    seal = "" if stored.sealed else "the digests or the recipe in the file were changed"
    return [
        Check("fingerprint", None, "", "pass" if stored.sealed else "fail", seal),
        _count("runs that differ from their digest", changed, len(chosen), "damaged"),
        _count("non-finite runs", bad, len(chosen), "NaN or infinite values"),
    ]


def _count(name: str, runs: list[int], total: int, what: str) -> Check:
    if not runs:
        return Check(name, 0, "0", "pass", f"{total} runs read")
    named = ", ".join(map(str, runs[:5])) + (", ..." if len(runs) > 5 else "")
    return Check(name, len(runs), "0", "fail", f"{what}: run {named}; remove the file and generate or import it again")


def _in_digest_order(fields: dict[str, Field]) -> list[Field]:
    return [fields["u"], *(f for name, f in fields.items() if name != "u")]


def _read_run(path: Path, field: Field, run: int) -> np.ndarray:
    offset = field.offset + run * field.run_bytes
    values = np.fromfile(path, "<f4", field.run_bytes // 4, offset=offset)
    if values.nbytes < field.run_bytes:
        raise DataError(f"{path}: truncated in run {run}; remove it and generate or import it again")
    return values


def _spread(count: int, most: int) -> Sequence[int]:
    """At most `most` of `count` numbers, evenly spread."""
    return range(count) if count <= most else [i * count // most for i in range(most)]


def _physics(dataset: Dataset, stored: _Stored, trajectories: int) -> list[Check]:
    clips = list(_clips(dataset, stored, trajectories))
    equation = dataset.equation()
    found = [laws(equation, _double(c)) for c in clips]
    some = _first(clips, 2 * dataset.tile)
    return [
        *_statistics(dataset, stored, clips),
        *(_judge(group) for group in zip(*found, strict=True)),
        *_own_solution(dataset, stored, some),
    ]


def _clips(dataset: Dataset, stored: _Stored, trajectories: int) -> Iterator[Trajectories]:
    """Clips of the profile's length, spread over the runs, in blocks. A wave's clip must start at rest."""
    frames = min(dataset.sizes.frames, stored.frames)
    stride = frames if dataset.equation().time_order == 1 else stored.frames
    clips = (stored.frames - frames) // stride + 1  # of a run
    grid, count = stored.grid.first(frames), stored.runs * clips
    source = StoredTrajectories(
        stored.path, grid, dataset.equation(), runs=stored.runs, clips=clips, stride=stride, count=count
    )
    numbers = list(_spread(count, trajectories))
    size = max(1, BLOCK_VALUES // (frames * dataset.sizes.resolution**2))
    for start in range(0, len(numbers), size):
        yield source[numbers[start : start + size]]


def _double(clips: Trajectories) -> Trajectories:
    return replace(clips, u=clips.u.double(), static=None if clips.static is None else clips.static.double())


def _first(clips: Sequence[Trajectories], count: int) -> list[Trajectories]:
    """Blocks with the first `count` clips: an own solution of all would take long."""
    blocks = []
    for block in clips:
        if count > 0:
            blocks.append(block[:count])
        count -= len(block)
    return blocks


def _statistics(dataset: Dataset, stored: _Stored, clips: Sequence[Trajectories]) -> Iterator[Check]:
    wanted = bands(dataset, stored.source, stored.path.stem)
    if not wanted:
        yield Check("reference statistics", None, "", "skip", "no published ones for these settings")
    for band in wanted:
        found = statistic(band, clips, dataset.static_names)
        if found is None:
            yield Check(band.label, None, "", "skip", "its frame is not stored, or there are too few trajectories")
            continue
        value, error = found
        low, high = band.low - 3 * error, band.high + 3 * error
        verdict = "pass" if low <= value <= high else "fail"
        yield Check(band.label, value, f"{low:.4g} .. {high:.4g}", verdict, "with three standard errors of the sample")


def _judge(group: Sequence[Law]) -> Check:
    """The worst trajectory of all blocks."""
    law = group[0]
    if law.values is None:
        return Check(law.name, None, "", "skip", law.note)
    value = max(part.values.max().item() for part in group if part.values is not None)
    return _at_most(law.name, value, max(part.bound for part in group), law.note)


def _at_most(name: str, value: float, bound: float, note: str = "") -> Check:
    return Check(name, value, f"<= {bound:.4g}", "pass" if value <= bound else "fail", note)  # NaN fails


def _own_solution(dataset: Dataset, stored: _Stored, clips: Sequence[Trajectories]) -> list[Check]:
    """The stored clips against our own solution from their first frame: residual, and last frame."""
    equation, ratio, last = dataset.equation(), 0.0, 0.0
    if equation.time_order == 2 and clips[0].grid.times[0] != 0:
        note = "the first frame is not the state at rest, and the velocity is not stored"
        return [Check(name, None, "", "skip", note) for name in ("residual / own residual", "re-simulation error")]
    for block in map(_double, clips):
        with torch.no_grad():
            own = equation.solve(block.u[:, 0], block.static, block.grid).float().double()
        mine = replace(block, u=own)
        ratio = max(ratio, _least_ratio(equation, block, mine, stored.kind == "official").max().item())
        last = max(last, _distance(own[:, -1], block.u[:, -1]).max().item())
    count = sum(map(len, clips))
    residual = _at_most("residual / own residual", ratio, RESIDUAL_FACTOR, f"{count} clips, worst one")
    return [residual, _resimulation(dataset, stored, clips, last)]


def _least_ratio(equation: Equation, block: Trajectories, mine: Trajectories, either: bool) -> Tensor:
    """Residual over own residual (B,). An official file may be made by finite differences where we use Fourier modes:
    then the smaller of both forms' ratios counts."""
    ratios = [_residual(equation, block, block.grid) / _residual(equation, mine, block.grid)]
    if either and block.grid.boundary == "periodic":
        differences = replace(block.grid, boundary="absorbing")  # the same spacing
        ratios.append(_residual(equation, block, differences) / _residual(equation, mine, differences))
    return torch.stack(ratios).amin(0)


def _residual(equation: Equation, clips: Trajectories, grid: Grid) -> Tensor:
    return equation.relative_residual(clips.u, clips.static, grid) + torch.finfo(torch.float32).eps


def _distance(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).flatten(1).norm(dim=1) / b.flatten(1).norm(dim=1)


def _resimulation(dataset: Dataset, stored: _Stored, clips: Sequence[Trajectories], last: float) -> Check:
    name, grid = "re-simulation error", clips[0].grid
    if stored.kind == "official" and dataset.name in UNKNOWN_CONSTANTS:
        return Check(name, last, "", "skip", "the official solver's constants are not published")
    vorticity = dataset.equation().unknowns[0] == "w"
    if vorticity and (grid.times[-1] - grid.times[0]) * clips[0].u.std().item() > TURNOVERS:
        return Check(name, last, "", "skip", "chaotic: too many turnover times for two solvers to agree")
    return _at_most(name, last, RESIMULATION[stored.kind], "last frame, from the first one")
