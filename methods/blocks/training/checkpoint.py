"""What a fit leaves in its folder: checkpoints to go on from, and a log of what happened.

    checkpoint-<step>/<name>.safetensors   weights, one file a set (model, ema, best), and the tensors of the state
    checkpoint-<step>/state.json           the state: plain values of the fit and its optimisers
    checkpoint-<step>/digests.json         sha256 of these files
    log.jsonl                              one JSON object per line

A checkpoint is whole as soon as it has its name, and outlives a kill at any byte: a new one is written beside the old
ones, flushed to disk and renamed; then all but the newest two go. One whose files no longer have their digests, on a
disk that lies, is passed over for the one before. Nothing in it can run code.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from benchmark.errors import FileError
from methods.blocks.training.packing import pack, unpack

PREFIX = "checkpoint-"
KEPT = 2
STATE, DIGESTS = "state", "digests.json"

Weights = dict[str, Tensor]


class Checkpoint(NamedTuple):
    path: Path
    weights: dict[str, Weights]  # by name
    state: dict[str, Any]


def tensors(module: nn.Module) -> Weights:
    """Parameters and buffers, sharing memory with the module. (Some modules keep other things in their state_dict.)"""
    return {name: value for name, value in module.state_dict().items() if isinstance(value, Tensor)}


def snapshot(module: nn.Module) -> Weights:
    """A copy of the tensors in main memory."""
    return {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors(module).items()}


@torch.no_grad()
def load_weights(module: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """In place, whatever device the module is on."""
    own = tensors(module)
    wrong = sorted(own.keys() ^ weights.keys()) or [k for k, v in own.items() if v.shape != weights[k].shape]
    if wrong:
        raise ValueError(f"weights: expected those of this model, {wrong[0]!r} is missing, new or of another shape")
    for name, value in own.items():
        value.copy_(weights[name])


def save(folder: Path, step: int, weights: Mapping[str, Weights], state: Mapping[str, Any]) -> Path:
    """One checkpoint, unless this step has one; all but the newest are removed."""
    path, part = folder / f"{PREFIX}{step:09d}", folder / f"{PREFIX}new"
    shutil.rmtree(part, ignore_errors=True)
    if not path.exists():
        _write(part, weights, state)
        os.replace(part, path)
        _flush(folder)
    for old in found(folder)[:-KEPT]:
        shutil.rmtree(old)
    return path


def _write(part: Path, weights: Mapping[str, Weights], state: Mapping[str, Any]) -> None:
    part.mkdir(parents=True)
    values, own = pack(dict(state))
    for name, tensors in {**weights, STATE: own}.items():
        save_file(tensors, part / f"{name}.safetensors")
    (part / f"{STATE}.json").write_text(json.dumps(values), encoding="utf-8")
    digests = {file.name: _digest(file) for file in part.iterdir()}
    (part / DIGESTS).write_text(json.dumps(digests, sort_keys=True), encoding="utf-8")
    for file in (*part.iterdir(), part):
        _flush(file)


def found(folder: Path) -> list[Path]:
    """Checkpoints under a folder, the newest last."""
    return sorted(p for p in folder.glob(f"{PREFIX}*") if p.name.removeprefix(PREFIX).isdigit())


def newest(folder: Path) -> Checkpoint | None:
    """The newest that is undamaged, and younger ones removed; None where there is none at all."""
    damaged: dict[Path, FileError] = {}
    for path in reversed(found(folder)):
        try:
            checkpoint = load(path)
        except FileError as error:
            damaged[path] = error
            continue
        for other, error in damaged.items():
            warnings.warn(f"{error}; going on from {path.name}", stacklevel=2)
            shutil.rmtree(other)
        return checkpoint
    if damaged:
        raise next(iter(damaged.values()))
    return None


def load(path: Path) -> Checkpoint:
    try:
        digests = json.loads((path / DIGESTS).read_text(encoding="utf-8"))
        names = {file.name for file in path.iterdir()} - {DIGESTS}
        wrong = sorted(names ^ digests.keys()) or [name for name in names if _digest(path / name) != digests[name]]
        if wrong:
            raise ValueError(f"{', '.join(wrong)} has changed on disk")
        weights = {file.stem: load_file(file) for file in path.glob("*.safetensors")}
        values = json.loads((path / f"{STATE}.json").read_text(encoding="utf-8"))
        return Checkpoint(path, weights, unpack(values, weights.pop(STATE)))
    except (OSError, SafetensorError, ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
        raise FileError(f"{path}: cannot be read ({error}); remove it to start from the beginning") from error


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class TrainingLog:
    """Lines of steps after `step` belong to work that was lost with a kill; they are removed. No folder: no log."""

    def __init__(self, folder: Path | None, step: int):
        self.file = None
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "log.jsonl"
        _drop_after(path, step)
        self.file = path.open("a", encoding="utf-8")

    def write(self, step: int, **values: Any) -> None:
        if self.file is not None:
            self.file.write(json.dumps({"step": step, **values}) + "\n")
            self.file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a log; a last line that a kill cut short is left out."""
    path = folder / "log.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def _drop_after(path: Path, step: int) -> None:
    kept = [row for row in read_log(path.parent) if row["step"] <= step]
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    os.replace(part, path)
