"""Small files in exactly the published formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np


def write_netcdf(path: Path, variables: Mapping[str, tuple[Sequence[str], np.ndarray]]) -> Path:
    """As the netCDF4 library does it: a dimension without coordinates is a dimension scale without values."""
    sizes = {d: n for dims, values in variables.values() for d, n in zip(dims, values.shape, strict=True)}
    with h5py.File(path, "w", track_order=True) as file:
        file.attrs["_NCProperties"] = np.bytes_("version=2,netcdf=4.9.2,hdf5=1.14.2")
        for number, (name, size) in enumerate(sizes.items()):
            scale = file.create_dataset(name, (size,), dtype=">f4")
            scale.make_scale(f"This is a netCDF dimension but not a netCDF variable.{size:10d}")
            scale.attrs["_Netcdf4Dimid"] = np.int32(number)
        for name, (dims, values) in variables.items():
            chunks = (*(1 for _ in values.shape[:-2]), *values.shape[-2:])
            data = file.create_dataset(
                name, values.shape, values.dtype, chunks=chunks, fillvalue=np.float32(9.96921e36)
            )
            data[...] = values
            data.attrs["_FillValue"] = np.array([np.nan], dtype=values.dtype)
            for axis, dim in enumerate(dims):
                data.dims[axis].attach_scale(file[dim])
    return path


def write_solution(path: Path, u: np.ndarray, c: np.ndarray | None = None) -> Path:
    variables: dict[str, tuple[Sequence[str], np.ndarray]] = {"solution": (("sample", "time", "x", "y"), u)}
    return write_netcdf(path, variables if c is None else variables | {"c": (("sample", "x", "y"), c)})


def write_mat73(path: Path, variables: Mapping[str, np.ndarray]) -> Path:
    """MATLAB 7.3: HDF5 behind a header of 512 bytes, axes reversed, the class in an attribute."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, values in variables.items():
            data = file.create_dataset(name, data=values.T)
            data.attrs["MATLAB_class"] = np.bytes_("single" if values.dtype == np.float32 else "double")
    with open(path, "r+b") as file:
        file.write(
            b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Mon Jan  1 00:00:00 2024 HDF5 schema 1.00 .".ljust(
                124
            )
        )
        file.write(b"\x00\x02IM")
    return path


def fields(*shape: int, seed: int = 0, std: float = 1.0, dtype: str = "float32") -> np.ndarray:
    return (std * np.random.default_rng(seed).standard_normal(shape)).astype(dtype)
