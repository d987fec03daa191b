"""What a cell was asked and what it answered on its first test trajectories, kept small enough to keep always.

    runs/<profile>/<dataset>/<method>-s<seed>/<task>[@<variant>].predictions.npz

A study's variant has a place of its own (`folders.kept_in`). Fields are rounded to 16 bits between the smallest and the
largest value of each trajectory and channel, so that they are off by at most 1/131070 of that range; scores never come
from here. Observed values are kept exactly, and the key of the record says which record they belong to. The file is
numpy's own and holds arrays alone, no pickles. Of large trajectories a part is kept (`thin.py`).
"""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.errors import UserError
from benchmark.records.cell import Cell
from benchmark.records.files import replacing
from benchmark.records.strict import checked, parse_json

ENDING = ".predictions.npz"
STEPS = 2**16 - 1
BYTES = 1 << 32  # of a file, unpacked
SAMPLES = 4  # of a method that samples: as many are kept at most
FIELDS = ("truth", "prediction", "samples", "spread")
PARTS = ("meta", "seen", "observed", *(f"{name}.{part}" for name in FIELDS for part in ("levels", "low", "high")))


class PredictionsError(UserError):
    """A file that does not hold predictions."""


@dataclass(frozen=True)
class Thinning:
    """What is kept of trajectories that are too large."""

    step: int  # every so-manieth point of a row and of a column
    frames: tuple[int, ...]  # by their numbers; the last one too
    errors: tuple[float, ...]  # the headline in percent, of each whole trajectory

    def __post_init__(self) -> None:
        if not (isinstance(self.step, int) and self.step >= 1 and self.frames and self.errors):
            raise ValueError(f"expected a step of at least 1, frames and errors, got {self}")

    def __str__(self) -> str:
        points = {1: "every point", 2: "every 2nd point", 3: "every 3rd point"}.get(
            self.step, f"every {self.step}th point"
        )
        return f"{points} of {len(self.frames)} of {self.frames[-1] + 1} frames"


@dataclass(frozen=True)
class Predictions:
    """N trajectories of T frames on H x W points with C channels; of a thinned one the fields have fewer points."""

    cell: Cell
    key: str  # of the record
    channels: tuple[str, ...]
    frame_names: tuple[str, ...] | None  # the fields of a steady problem, stored as frames
    times: tuple[float, ...]
    boundary: str
    lengths: tuple[float, float]
    frames: tuple[int, ...] | None  # that are predicted; None: all
    masks: int  # observations per test trajectory; video i shows trajectory i // masks
    truth: np.ndarray  # (N, T, H, W, C) float32, as all fields
    mask: np.ndarray  # (N, T, H, W, C) bool, what was seen
    values: np.ndarray  # (N, T, H, W, C), what the sensors said, zero where unseen
    prediction: np.ndarray  # (N, T, H, W, C), the answer that is scored
    samples: np.ndarray | None = None  # (S, N, T, H, W, C), the first of several
    spread: np.ndarray | None = None  # (N, T, H, W, C), the standard deviation of all samples
    thinned: Thinning | None = None

    def __len__(self) -> int:
        return len(self.truth)

    @property
    def scored(self) -> list[int]:
        """The frames that are predicted."""
        return list(range(len(self.times)) if self.frames is None else self.frames)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Of the frames that are kept."""
        return self.thinned.frames if self.thinned else tuple(range(len(self.times)))


def predictions_path(runs: Path, cell: Cell) -> Path:
    name = f"{cell.task}@{cell.variant}" if cell.variant else cell.task
    return runs / cell.profile / cell.dataset / f"{cell.method}-s{cell.seed}" / f"{name}{ENDING}"


def find_predictions(runs: Path, profile: str = "*", dataset: str = "*", task: str = "*") -> Iterator[Path]:
    """The files of a runs folder, in a fixed order."""
    for path in sorted(runs.glob(f"{profile}/{dataset}/*/*{ENDING}")):
        name = path.name.removesuffix(ENDING).partition("@")[0]
        if not path.name.startswith(".") and task in ("*", name):
            yield path


def write_predictions(path: Path, predictions: Predictions) -> None:
    """Whole or not at all."""
    p = predictions
    meta = {name: getattr(p, name) for name in ("key", "channels", "frame_names", "times", "boundary", "lengths")}
    meta |= {"cell": p.cell.to_json(), "frames": p.frames, "masks": p.masks, "shape": p.mask.shape}
    meta |= {"thinned": asdict(p.thinned)} if p.thinned else {}
    arrays = {
        "meta": np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8),
        "seen": np.packbits(p.mask),
        "observed": p.values[p.mask].astype(np.float32),
    }
    for name in FIELDS:
        if (field := getattr(p, name)) is not None:
            arrays |= {f"{name}.{part}": array for part, array in _rounded(field).items()}
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_predictions(path: Path, fields: Collection[str] = FIELDS) -> Predictions:
    """PredictionsError names the file and the remedy. Of `samples` and `spread` only what `fields` has is read."""
    try:
        _check_size(path)
        with np.load(path, allow_pickle=False) as arrays:
            wanted = [name for name in PARTS if "." not in name or name.partition(".")[0] in fields]
            return _predictions({name: arrays[name] for name in wanted if name in arrays})
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged archive makes zipfile, zlib, numpy and us raise whatever they can
        reason = f"{type(error).__name__}: {error}"
        raise PredictionsError(f"{path}: no predictions ({reason}); run the cell again with --overwrite") from error


def _check_size(path: Path) -> None:
    """A small archive can stand for more bytes than any machine has."""
    with zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > BYTES:
        raise ValueError(f"{size} bytes unpacked, more than {BYTES}")


def _predictions(arrays: dict[str, np.ndarray]) -> Predictions:
    meta = checked(parse_json(arrays["meta"].tobytes().decode()))
    shape = tuple(int(n) for n in meta.pop("shape"))
    if len(shape) != 5 or min(shape) < 1 or math.prod(shape) > 8 * len(arrays["seen"]):
        raise ValueError(f"expected a mask of shape {shape}, got one of {8 * len(arrays['seen'])} values")
    mask = np.unpackbits(arrays["seen"], count=int(np.prod(shape))).astype(bool).reshape(shape)
    values = np.zeros(shape, dtype=np.float32)
    values[mask] = arrays["observed"]
    fields: dict[str, Any] = {name: _values(arrays, name) for name in FIELDS if f"{name}.levels" in arrays}
    few = meta.pop("thinned", None)
    thinned = Thinning(**_tuples(few)) if few else None
    n, t, h, w, c = shape
    own = (n, t, h // thinned.step, w // thinned.step, c) if thinned else shape
    if any(field.shape[-5:] != own for field in fields.values()):
        raise ValueError(f"expected fields of {own}, got {[field.shape for field in fields.values()]}")
    if thinned and (len(thinned.frames), len(thinned.errors)) != (t, n):
        raise ValueError(f"expected {t} frames and {n} errors, got {thinned}")
    cell = Cell.from_json(meta.pop("cell"))
    return Predictions(cell=cell, **_tuples(meta), **fields, mask=mask, values=values, thinned=thinned)


def _tuples(meta: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in meta.items()}


def _rounded(field: np.ndarray) -> dict[str, np.ndarray]:
    """A field (..., T, H, W, C) as whole steps between its bounds (..., 1, 1, 1, C)."""
    low = field.min((-4, -3, -2), keepdims=True).astype(np.float64)
    high = field.max((-4, -3, -2), keepdims=True).astype(np.float64)
    steps = (field - low) * (STEPS / np.where(high > low, high - low, 1.0))
    return {"levels": np.rint(steps).astype(np.uint16), "low": low, "high": high}


def _values(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    levels, low, high = (arrays[f"{name}.{part}"] for part in ("levels", "low", "high"))
    return (low + levels * ((high - low) / STEPS)).astype(np.float32)
