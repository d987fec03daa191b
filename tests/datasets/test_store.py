import pickle

import h5py
import numpy as np
import pytest
import torch

from datasets.generate import ensure_data
from datasets.layout import DataError, split_path
from datasets.store import open_split
from tests.datasets import small


def test_reads_back_what_the_generator_made(tmp_path):
    dataset = small.wave_layer()
    ensure_data(dataset, tmp_path)
    stored = open_split(dataset, "train", tmp_path)
    u, c = dataset.generate("train", range(10), 4)
    assert len(stored) == 10 and stored.source == "generated"
    assert torch.equal(stored[:].u, u) and torch.equal(stored[:].static, c)
    picked = stored[torch.tensor([7, -1, 2])]
    assert torch.equal(picked.u, u[[7, 9, 2]]) and torch.equal(picked.static, c[[7, 9, 2]])
    with pytest.raises(IndexError, match="trajectory 10 of 10"):
        stored[[10]]


def test_clips_are_windows_of_runs(tmp_path):
    dataset = small.kolmogorov()
    ensure_data(dataset, tmp_path)
    runs, _ = dataset.generate("train", range(2), dataset.layout("train").frames)
    train = open_split(dataset, "train", tmp_path)
    assert len(train) == 12 and dataset.layout("train").runs == 2
    assert torch.equal(train[[7]].u[0], runs[1, 2:6])
    test = open_split(dataset, "test", tmp_path, frames=8)
    assert len(test) == 4 and test[:].u.shape[1] == 8
    assert torch.equal(open_split(dataset, "test", tmp_path)[:].u, test[:].u[:, :4])


def test_the_file_has_the_wells_layout(tmp_path):
    dataset = small.wave_layer()
    ensure_data(dataset, tmp_path, ("valid",))
    with h5py.File(split_path(dataset, "valid", tmp_path)) as file:
        assert file.attrs["n_trajectories"] == 4 and file.attrs["n_spatial_dims"] == 2
        assert list(file["t0_fields"].attrs["field_names"]) == ["u", "c"]
        assert file["t0_fields/u"].shape == (4, 4, 16, 16) and file["t0_fields/u"].dtype == np.float32
        assert file["t0_fields/u"].attrs["time_varying"] and not file["t0_fields/c"].attrs["time_varying"]
        assert list(file["t1_fields"].attrs["field_names"]) == [] and "scalars" in file
        assert list(file["dimensions"].attrs["spatial_dims"]) == ["x", "y"]
        assert file["boundary_conditions/x_absorbing"].attrs["bc_type"] == "OPEN"


def test_a_longer_file_starts_with_the_shorter_ones_runs(tmp_path):
    from dataclasses import replace

    short = small.navier_stokes()
    longer = type(short)(replace(short.settings, sizes=replace(small.SIZES, train=14)))
    ensure_data(short, tmp_path, ("train",))
    ten = open_split(short, "train", tmp_path)
    with pytest.raises(DataError, match="holds 10 runs .* 14 .* asked for"):
        open_split(longer, "train", tmp_path)
    ensure_data(longer, tmp_path, ("train",))
    again = open_split(short, "train", tmp_path)
    assert len(again) == 10 and torch.equal(again[:].u, ten[:].u) and again.fingerprint == ten.fingerprint


def test_other_settings_lie_in_another_file(tmp_path):
    paths = {split_path(small.navier_stokes(**change), "train", tmp_path) for change in ({}, {"seed": 2}, {"nu": 1e-2})}
    assert len(paths) == 3


def test_can_be_sent_to_a_worker(tmp_path):
    dataset = small.navier_stokes()
    ensure_data(dataset, tmp_path, ("valid",))
    stored = open_split(dataset, "valid", tmp_path)
    stored[:1]
    assert torch.equal(pickle.loads(pickle.dumps(stored))[:].u, stored[:].u)
    loader = torch.utils.data.DataLoader(_Samples(stored), batch_size=2, num_workers=2)
    assert torch.equal(torch.cat(list(loader)), stored[:].u)


class _Samples(torch.utils.data.Dataset):
    def __init__(self, stored):
        self.stored = stored

    def __len__(self):
        return len(self.stored)

    def __getitem__(self, index):
        return self.stored[[index]].u[0]


@pytest.mark.parametrize("damage", ["truncate", "text", "foreign", "missing"])
def test_bad_files_are_named_with_a_remedy(tmp_path, damage):
    dataset = small.navier_stokes()
    ensure_data(dataset, tmp_path, ("valid",))
    path = split_path(dataset, "valid", tmp_path)
    if damage == "truncate":
        with open(path, "r+b") as file:
            file.truncate(path.stat().st_size // 2)
    elif damage == "text":
        path.write_text("not data")
    elif damage == "foreign":
        with h5py.File(path, "w") as file:
            file["solution"] = np.zeros(3)
    else:
        path.unlink()
    with pytest.raises(DataError) as error:
        open_split(dataset, "valid", tmp_path)
    assert str(path) in str(error.value)
    assert any(word in str(error.value) for word in ("generate", "import"))


def test_clips_follow_the_layout_even_in_a_file_of_longer_runs(tmp_path):
    from dataclasses import replace

    long = small.kolmogorov()
    ensure_data(long, tmp_path, ("test",))
    short = type(long)(replace(long.settings, sizes=replace(long.sizes, long_frames=None)))
    assert split_path(short, "test", tmp_path) == split_path(long, "test", tmp_path)
    assert torch.equal(open_split(short, "test", tmp_path)[:].u, open_split(long, "test", tmp_path)[:].u)


@pytest.mark.parametrize("kind", ["link", "external", "virtual"])
def test_values_in_another_file_are_refused(tmp_path, kind):
    dataset = small.navier_stokes()
    ensure_data(dataset, tmp_path, ("valid",))
    path, secret = split_path(dataset, "valid", tmp_path), tmp_path / "secret.hdf5"
    secret.write_bytes(path.read_bytes())
    with h5py.File(path, "r+") as file:
        elsewhere(file, f"t0_fields/{dataset.channels[0]}", secret, kind)
    with pytest.raises(DataError, match="lies in another file|chunked or not float32"):
        open_split(dataset, "valid", tmp_path)


def elsewhere(file, name, other, kind):
    """Puts an array of another file, or its bytes, in the place of a file's own."""
    own = file[name]
    shape, attributes = own.shape, dict(own.attrs)
    del file[name]
    if kind == "link":
        file[name] = h5py.ExternalLink(str(other), name)
        return
    if kind == "external":
        new = file.create_dataset(name, shape, "<f4", external=[(str(other), 0, h5py.h5f.UNLIMITED)])
    else:
        layout = h5py.VirtualLayout(shape, "<f4")
        layout[...] = h5py.VirtualSource(str(other), name, shape)
        new = file.create_virtual_dataset(name, layout)
    new.attrs.update(attributes)
