"""Where a split lies on disk and what is in its file: one HDF5 file per split, in The Well's layout.

    <root>/<dataset>/<resolution>-<recipe hash>/{train,valid,test}.hdf5

The recipe is everything that decides the content of a run (settings, seed, version of the generator), but not how many
runs there are: a longer file starts with the shorter one's runs.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from benchmark.core import Dataset, Grid, Split
from benchmark.errors import FileError

UNREADABLE = (
    OSError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RuntimeError, MemoryError,
)  # fmt: skip
COUNTS = ("train", "valid", "test", "long_frames")


class DataError(FileError):
    """Data that cannot be used; the message names the file, what was expected and found, and the remedy."""


def recipe(dataset: Dataset) -> dict[str, Any]:
    settings = {k: v for k, v in asdict(dataset.settings).items() if k not in dataset.layout_settings}
    settings["sizes"] = {k: v for k, v in settings["sizes"].items() if k not in COUNTS}
    code = {"code": dataset.code} if dataset.code else {}
    return {"dataset": dataset.name, "version": dataset.version, "settings": settings, **code}


def recipe_hash(dataset: Dataset) -> str:
    return hashlib.sha256(json.dumps(recipe(dataset), sort_keys=True).encode()).hexdigest()


def split_path(dataset: Dataset, split: Split, root: Path) -> Path:
    return root / dataset.name / f"{dataset.sizes.resolution}-{recipe_hash(dataset)[:8]}" / f"{split}.hdf5"


@dataclass(frozen=True)
class Field:
    """One array of a file: where it starts, so that it can be read and written without HDF5 in between."""

    name: str
    shape: tuple[int, ...]  # (runs, T, H, W[, C]) or, for a static field, (runs, H, W)
    offset: int

    @property
    def run_bytes(self) -> int:
        return int(np.prod(self.shape[1:])) * 4


def field_shapes(dataset: Dataset, runs: int, frames: int) -> dict[str, tuple[int, ...]]:
    """HDF5 path -> shape. One channel is a scalar field (t0), several are a vector field (t1)."""
    h = w = dataset.sizes.resolution
    channels = len(dataset.channels)
    video = (runs, frames, h, w)
    shapes = {f"t0_fields/{dataset.channels[0]}": video} if channels == 1 else {"t1_fields/u": (*video, channels)}
    return shapes | {f"t0_fields/{name}": (runs, h, w) for name in dataset.static_names}


def create_skeleton(path: Path, dataset: Dataset, runs: int, grid: Grid, source: str, recipe_json: str) -> None:
    """A file with everything but the values: space is reserved, so that later writes touch no HDF5 structure."""
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file.attrs.update(
            dataset_name=dataset.name,
            grid_type="cartesian",
            n_spatial_dims=2,
            n_trajectories=runs,
            source=source,
            recipe=recipe_json,
            fingerprint="0" * 64,
            simulation_parameters=[],
        )
        _write_dimensions(file, grid)
        _write_boundary(file, grid)
        file.create_group("scalars").attrs["field_names"] = []
        shapes = field_shapes(dataset, runs, len(grid.times))
        for order in range(3):
            names = [k.split("/")[1] for k in shapes if k.startswith(f"t{order}_")]
            file.create_group(f"t{order}_fields").attrs["field_names"] = names
        for name, shape in shapes.items():
            _reserve(file, name, shape, time_varying=name.split("/")[1] not in dataset.static_names)
        _reserve_bytes(file, "digests", (runs, 32))


def _write_dimensions(file: h5py.File, grid: Grid) -> None:
    group = file.create_group("dimensions")
    group.attrs["spatial_dims"] = ["x", "y"]
    x, y = grid.axes()
    for name, values in (("time", grid.times), ("x", x.flatten().numpy()), ("y", y.flatten().numpy())):
        group[name] = np.asarray(values, dtype=np.float32 if name != "time" else np.float64)
        group[name].attrs.update(sample_varying=False, time_varying=False)


def _write_boundary(file: h5py.File, grid: Grid) -> None:
    kind = {"periodic": "PERIODIC", "absorbing": "OPEN", "dirichlet": "WALL"}[grid.boundary]
    for axis, n in zip("xy", grid.shape, strict=True):
        group = file.create_group(f"boundary_conditions/{axis}_{grid.boundary}")
        group.attrs.update(
            associated_dims=[axis], bc_type=kind, associated_fields=[], sample_varying=False, time_varying=False
        )
        mask = np.zeros(n, dtype=bool)
        mask[[0, -1]] = True
        group["mask"] = mask


def _reserve(file: h5py.File, name: str, shape: tuple[int, ...], time_varying: bool) -> None:
    field = _reserve_raw(file, name, shape, h5py.h5t.IEEE_F32LE)
    field.attrs.update(dim_varying=[True, True], sample_varying=True, time_varying=time_varying)


def _reserve_bytes(file: h5py.File, name: str, shape: tuple[int, ...]) -> None:
    _reserve_raw(file, name, shape, h5py.h5t.STD_U8LE)


def _reserve_raw(file: h5py.File, name: str, shape: tuple[int, ...], kind: Any) -> h5py.Dataset:
    """A contiguous array whose place in the file is fixed at once and whose values are not filled in."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.CONTIGUOUS)
    plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    plist.set_obj_track_times(False)  # the clock is no part of the content
    space = h5py.h5s.create_simple(shape)
    return h5py.Dataset(h5py.h5d.create(file.id, name.encode(), kind, space, dcpl=plist))


def stored_array(file: h5py.File, name: str) -> h5py.Dataset:
    """An array of a file, and nothing else that HDF5 may hold under a name."""
    found = file[name]
    if not isinstance(found, h5py.Dataset):
        raise DataError(f"{file.filename}: {name}: expected an array; generate, import or download the file again")
    refuse_elsewhere(file, name, found)
    return found


@contextmanager
def understood(path: Path) -> Iterator[None]:
    """What h5py, or we, raise of a file that is damaged or made to mislead, in words."""
    try:
        yield
    except DataError:
        raise
    except UNREADABLE as error:
        remedy = "remove it and generate or import it again"
        raise DataError(f"{path}: cannot be understood ({type(error).__name__}: {error}); {remedy}") from error


def refuse_elsewhere(file: h5py.File, name: str, found: h5py.Dataset) -> None:
    """HDF5 can hold links to other files: a downloaded one must not bring in what lies beside it."""
    if found.file.id != file.id or found.external or found.is_virtual:
        raise DataError(f"{file.filename}: {name} lies in another file; get one that holds its own values")


def number(file: h5py.File, name: str) -> int:
    """An attribute of a file."""
    value: Any = file.attrs[name]
    return int(value)


def locate_fields(file: h5py.File, path: Path) -> dict[str, Field]:
    """The arrays of a file by name ("u" for the video), checked against the file's size."""
    fields, size = {}, os.path.getsize(path)
    for group in ("t0_fields", "t1_fields"):
        names: Any = file[group].attrs["field_names"]
        for name in names:
            data = stored_array(file, f"{group}/{name}")
            offset = data.id.get_offset()
            if offset is None or data.dtype != np.dtype("<f4"):
                raise DataError(f"{path}: {group}/{name} is chunked or not float32; import it with `data import`")
            if offset + data.nbytes > size:
                raise DataError(
                    f"{path}: truncated: {group}/{name} needs {offset + data.nbytes} bytes, the file has {size}; "
                    "remove the file and run `data generate` (or `data import`) again"
                )
            key = "u" if data.attrs["time_varying"] else name
            fields[key] = Field(f"{group}/{name}", data.shape, offset)
    return fields
