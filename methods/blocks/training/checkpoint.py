"""What a fit leaves in its folder: checkpoints to go on from, and a log of what happened.

    checkpoint-<step>/<name>.safetensors   weights, one file a set (model, ema, best)
    checkpoint-<step>/state.pt             optimiser states and plain values, read with `weights_only=True`
    log.jsonl                              one JSON object per line

A checkpoint is whole as soon as it has its name, and outlives a kill at any byte: a new one is written beside the old
one, flushed to disk and renamed; only then the old one goes.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from benchmark.errors import FileError

PREFIX = "checkpoint-"

Weights = dict[str, Tensor]


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
    """One checkpoint, unless this step has one; older ones are removed."""
    path, part = folder / f"{PREFIX}{step:09d}", folder / f"{PREFIX}new"
    if path.exists():
        return path
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for name, values in weights.items():
        save_file(values, part / f"{name}.safetensors")
    torch.save(dict(state), part / "state.pt")
    for file in (*part.iterdir(), part):
        _flush(file)
    os.replace(part, path)
    _flush(folder)
    for old in found(folder):
        if old != path:
            shutil.rmtree(old)
    return path


def found(folder: Path) -> list[Path]:
    """Checkpoints under a folder, the newest last."""
    return sorted(p for p in folder.glob(f"{PREFIX}*") if p.name.removeprefix(PREFIX).isdigit())


def load(path: Path) -> tuple[dict[str, Weights], dict[str, Any]]:
    """Weights by name, and the state."""
    try:
        weights = {file.stem: load_file(file) for file in path.glob("*.safetensors")}
        return weights, torch.load(path / "state.pt", map_location="cpu", weights_only=True)
    except (OSError, SafetensorError, UnpicklingError, RuntimeError, EOFError) as error:
        raise FileError(f"{path}: cannot be read ({error}); remove it to start from the beginning") from error


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
