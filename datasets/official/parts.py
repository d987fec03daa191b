"""What the published formats have in common: samples in one or more files, read block by block, checked on the way."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import h5py
import numpy as np
from scipy.io.matlab import MatReadError

from datasets.layout import DataError, refuse_elsewhere

BLOCK_BYTES = 2**27  # of float32 values held at a time
UNWRITTEN = 1e30  # NetCDF marks values that were never written by 9.97e36
KEYS = {  # the variables a file of each set holds
    "wave_layer": ("solution", "c"),
    "allen_cahn": ("solution",),
    "navier_stokes": ("a", "u", "t"),
    "helmholtz": ("f_data", "psi_data"),
}

Block = tuple[int, np.ndarray, np.ndarray | None]  # first sample, u (n, T, H, W), static (n, H, W, Cs), both float32


class Part(Protocol):
    """Some of a set's samples: those of one file."""

    @property
    def path(self) -> Path: ...
    @property
    def count(self) -> int: ...
    def blocks(self, start: int, stop: int, frames: slice) -> Iterator[Block]:
        """Samples start..stop-1 of this file, a block at a time."""
        ...


@dataclass(frozen=True)
class OfficialSet:
    """What the files hold, before any of it is read."""

    train: tuple[Part, ...]
    times: tuple[float, ...]  # of all frames in the files
    shape: tuple[int, int]  # (H, W)
    inputs: tuple[Path, ...]
    test: tuple[Part, ...] = ()  # empty: the test samples are the last ones of `train`
    whole_runs: bool = False  # runs far longer than a clip are kept whole
    warnings: tuple[str, ...] = ()


def block_ranges(start: int, stop: int, sample_values: int) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK_BYTES // (4 * sample_values))
    for first in range(start, stop, size):
        yield first, min(first + size, stop)


def numbered(paths: Sequence[Path]) -> list[tuple[int, Path]]:
    """The files whose names end in _<integer>, in the order of these integers."""
    ends = [(p.stem.rpartition("_")[2], p) for p in paths if "_" in p.stem]
    return sorted((int(end), p) for end, p in ends if end.isdecimal())


def identity(path: Path) -> dict[str, str | int]:
    """Name, size, and a digest of the first and last megabyte: cheap, and enough to tell two downloads apart."""
    size, digest = path.stat().st_size, hashlib.sha256()
    with open(path, "rb") as file:
        digest.update(file.read(2**20))
        file.seek(max(0, size - 2**20))
        digest.update(file.read(2**20))
    return {"name": path.name, "bytes": size, "sha256_of_ends": digest.hexdigest()}


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Whatever a reader says about a damaged file, in one form."""
    try:
        yield
    except DataError:
        raise
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; give the official file or the folder that holds it") from None
    except PermissionError:
        raise DataError(f"{path}: no permission to read it; change its mode") from None
    except (OSError, ValueError, TypeError, KeyError, EOFError, zlib.error, MatReadError) as error:
        raise DataError(f"{path}: truncated, damaged or of another format ({error}); download it again") from error


@contextmanager
def open_hdf5(path: Path) -> Iterator[h5py.File]:
    with readable(path), h5py.File(path, "r") as file:
        yield file


def hdf5_shapes(file: h5py.File) -> dict[str, tuple[int, ...]]:
    """The variables of a file; the dimension scales of NetCDF carry no values."""
    arrays = {k: v for k, v in file.items() if isinstance(v, h5py.Dataset)}
    for name, array in arrays.items():
        refuse_elsewhere(file, name, array)
    return {k: v.shape for k, v in arrays.items() if v.attrs.get("CLASS") != b"DIMENSION_SCALE"}


def require_keys(
    path: Path, dataset: str, found: Mapping[str, tuple[int, ...]], keys: tuple[str, ...] | None = None
) -> None:
    """`keys` (default: all of the dataset's) must be there; otherwise say which dataset's file it looks like."""
    wanted = keys or KEYS[dataset]
    other = next((name for name, theirs in KEYS.items() if name != dataset and set(theirs) <= set(found)), None)
    confused = dataset == "allen_cahn" and "c" in found  # the wave file has a `solution` too
    if set(wanted) <= set(found) and not confused:
        return
    remedy = f"it looks like {other} data: import it as that" if other else f"give the official {dataset} file"
    if dataset == "wave_layer" and "solution" in found and "c" not in found:
        remedy = "give the assembled file or the folder with solution_*.nc and c_0.nc (Allen-Cahn's file has no `c`)"
    listed = ", ".join(f"{k} {shape}" for k, shape in found.items()) or "none"
    raise DataError(f"{path}: expected the variables {', '.join(wanted)}, found {listed}; {remedy}")


def require_shape(path: Path, key: str, found: tuple[int, ...], expected: tuple[str | int, ...]) -> None:
    """Letters stand for any size."""
    fits = len(found) == len(expected) and all(
        isinstance(e, str) or e == f for e, f in zip(expected, found, strict=True)
    )
    if not fits:
        wanted = ", ".join(str(e) for e in expected)
        raise DataError(
            f"{path}: {key}: expected ({wanted}), found {found}; give the official file, "
            "and a profile of the same resolution (the official files are for `--profile paper`)"
        )


def require_values(path: Path, start: int, values: np.ndarray) -> None:
    """Refuse NaN, infinity and values that were never written."""
    if values.min() > -UNWRITTEN and values.max() < UNWRITTEN:  # both are NaN if one value is
        return
    flat = values.reshape(len(values), -1)
    bad = ~((flat > -UNWRITTEN) & (flat < UNWRITTEN)).all(axis=1)
    raise DataError(f"{path}: expected finite values, found NaN, infinite or never written ones in sample "
                    f"{start + int(bad.argmax())}; download it again")  # fmt: skip
