from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.io import savemat

from benchmark.core import Dataset, Sizes
from datasets.allen_cahn import AllenCahn
from datasets.generate import is_stored
from datasets.helmholtz import Helmholtz
from datasets.kolmogorov import Kolmogorov
from datasets.layout import DataError, split_path
from datasets.navier_stokes import NavierStokes
from datasets.official import ImportReport, ImportSettings, import_official, parts
from datasets.official.reference import Moments, Reference
from datasets.store import even_stride, open_split
from datasets.wave_layer import WaveLayer
from datasets.writer import SplitWriter
from tests.datasets.official_files import fields, write_mat73, write_netcdf, write_solution
from tests.datasets.test_store import elsewhere

N = 8
TIMES = np.linspace(0.1, 1.0, 10, dtype=np.float32)[None]  # (1, 10)


def small(kind: type[Dataset], frames: int = 20, valid: int = 2, test: int = 3, **changes) -> Dataset:
    return kind(replace(kind.profiles["paper"], sizes=Sizes(N, frames, 1000, valid, test), **changes))


def kolmogorov(test: int = 10, long_frames: int = 16) -> Dataset:
    """Runs of 24 frames, clips of 4: 21 training clips per run."""
    return Kolmogorov(
        replace(
            Kolmogorov.profiles["paper"],
            sizes=Sizes(N, 4, 36 * 21, 3, test, long_frames),
            clips_per_run=21,
            wavenumber=1,
        )
    )


def bring(dataset: Dataset, source: Path, tmp_path: Path, progress=None, **settings) -> ImportReport:
    return import_official(dataset, source, tmp_path / "data", settings=ImportSettings(**settings), progress=progress)


def stored(dataset: Dataset, split, tmp_path: Path, frames: int | None = None):
    return open_split(dataset, split, tmp_path / "data", frames=frames)


def values(dataset: Dataset, split, tmp_path: Path) -> np.ndarray:
    return stored(dataset, split, tmp_path)[:].u[..., 0].numpy()  # (B, T, H, W)


def navier_stokes_samples(count: int, seed: int = 0) -> dict[str, np.ndarray]:
    return {"a": fields(count, N, N, seed=seed), "u": fields(count, N, N, 10, seed=seed + 100), "t": TIMES}


def video(samples: dict[str, np.ndarray]) -> np.ndarray:
    return np.concatenate([samples["a"][:, None], samples["u"].transpose(0, 3, 1, 2)], axis=1)  # (N, 11, H, W)


# ---- Poseidon ----------------------------------------------------------------------------------------------------


def test_the_assembled_wave_file_is_split_with_the_last_samples_for_test(tmp_path):
    u, c = fields(12, 21, N, N), fields(12, N, N, seed=1) + 3500
    dataset = small(WaveLayer)
    report = bring(dataset, write_solution(tmp_path / "Wave-Layer.nc", u, c), tmp_path)
    assert report.samples == {"train": 7, "valid": 2, "test": 3} and report.inputs == ("Wave-Layer.nc",)
    for split, rows in (("train", slice(0, 7)), ("valid", slice(7, 9)), ("test", slice(9, 12))):
        batch = stored(dataset, split, tmp_path)[:]
        np.testing.assert_array_equal(batch.u[..., 0], u[rows, :20])
        np.testing.assert_array_equal(batch.static[..., 0], c[rows])
        assert batch.grid == dataset.grid(20)
        assert is_stored(dataset, split, tmp_path / "data")
    assert stored(dataset, "test", tmp_path).source == "official"


def test_wave_frames_1_to_20(tmp_path):
    u, dataset = fields(8, 21, N, N), small(WaveLayer)
    report = bring(dataset, write_solution(tmp_path / "w.nc", u, fields(8, N, N)), tmp_path, first_frame=1)
    np.testing.assert_array_equal(values(dataset, "test", tmp_path), u[5:, 1:])
    assert report.times[0] == 0.05 and report.times[-1] == 1.0
    assert stored(dataset, "train", tmp_path).grid.times == report.times


def test_wave_chunks_are_joined_by_number_and_a_longer_c_is_cut(tmp_path):
    u, c, dataset = fields(24, 21, N, N), fields(30, N, N, seed=1), small(WaveLayer)
    folder = tmp_path / "official"
    folder.mkdir()
    for chunk in range(12):  # solution_10 comes after solution_9
        write_solution(folder / f"solution_{chunk}.nc", u[2 * chunk : 2 * chunk + 2])
    write_netcdf(folder / "c_0.nc", {"c": (("sample", "x", "y"), c)})
    bring(dataset, folder, tmp_path)
    batch = stored(dataset, "train", tmp_path)[:]
    np.testing.assert_array_equal(batch.u[..., 0], u[:19, :20])
    np.testing.assert_array_equal(batch.static[..., 0], c[:19])
    np.testing.assert_array_equal(stored(dataset, "test", tmp_path)[:].static[..., 0], c[21:24])


def test_a_missing_chunk_and_a_short_c_are_refused(tmp_path):
    dataset = small(WaveLayer)
    for chunk in (0, 2):
        write_solution(tmp_path / f"solution_{chunk}.nc", fields(4, 21, N, N))
    write_netcdf(tmp_path / "c_0.nc", {"c": (("sample", "x", "y"), fields(7, N, N))})
    with pytest.raises(DataError, match=r"solution_1\.nc is missing"):
        bring(dataset, tmp_path, tmp_path)
    (tmp_path / "solution_2.nc").rename(tmp_path / "solution_1.nc")
    with pytest.raises(DataError, match=r"c_0\.nc: expected `c` of at least 8 samples, found 7"):
        bring(dataset, tmp_path, tmp_path)


def test_allen_cahn_and_a_limit(tmp_path):
    u, dataset = fields(20, 20, N, N, std=0.65), small(AllenCahn)
    source = write_solution(tmp_path / "ACE.nc", u)
    report = bring(dataset, tmp_path, tmp_path, limit=2, test=5, valid=4)
    assert report.samples == {"train": 2, "valid": 2, "test": 2}
    np.testing.assert_array_equal(values(dataset, "train", tmp_path), u[:2])
    np.testing.assert_array_equal(values(dataset, "valid", tmp_path), u[11:13])
    np.testing.assert_array_equal(values(dataset, "test", tmp_path), u[15:17])
    assert stored(dataset, "test", tmp_path).grid == dataset.grid(20)
    assert bring(dataset, source, tmp_path).samples["train"] == 15  # other settings: imported again
    assert len(stored(dataset, "train", tmp_path)) == 15


# ---- DiffusionPDE ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("version", ["5", "5 compressed", "7.3"])
def test_navier_stokes_files(tmp_path, version, first):
    """Numbered training files and a test file; initial state and 10 frames make 11, of which 10 are kept."""
    dataset = small(NavierStokes)
    training, testing = tmp_path / "d/training/ns-nonbounded", tmp_path / "d/testing"
    training.mkdir(parents=True), testing.mkdir()

    def write(path: Path, samples: dict[str, np.ndarray]) -> np.ndarray:
        if version == "7.3":
            write_mat73(path, samples)
        else:
            savemat(path, samples, do_compression=version != "5")
        return video(samples)[:, first : first + 10]

    order = (1, 2, 10)
    train = [write(training / f"ns-nonbounded_{i}.mat", navier_stokes_samples(3, seed=i)) for i in order]
    test = write(testing / "ns-nonbounded.mat", navier_stokes_samples(5, seed=50))
    report = bring(dataset, tmp_path / "d", tmp_path, first_frame=first)
    assert report.samples == {"train": 7, "valid": 2, "test": 3}
    np.testing.assert_array_equal(values(dataset, "train", tmp_path), np.concatenate(train)[:7])
    np.testing.assert_array_equal(values(dataset, "valid", tmp_path), np.concatenate(train)[7:])
    np.testing.assert_array_equal(values(dataset, "test", tmp_path), test[:3])
    for frames in (None, 20):  # what is asked for without and with the profile's number
        assert stored(dataset, "test", tmp_path, frames).grid.times == report.times
    assert report.times == tuple((first + i) / 10 for i in range(10))
    assert any("10 frames are kept, the profile has 20" in w for w in report.warnings)
    assert [s.name for s in report.statistics] == [["a std"], ["u at t = 1 std"]][first]


@pytest.mark.parametrize("version", ["5", "7.3"])
def test_a_single_helmholtz_file_serves_all_splits(tmp_path, version):
    a, u = fields(9, N, N, dtype="float64"), fields(9, N, N, seed=1, dtype="float64")
    path, dataset = tmp_path / "helmholtz_1.mat", small(Helmholtz, frames=2)
    if version == "5":
        savemat(path, {"f_data": a, "psi_data": u})
    else:
        write_mat73(path, {"f_data": a, "psi_data": u})
    report = bring(dataset, path, tmp_path)
    expected = np.stack([a, u], axis=1).astype(np.float32)
    np.testing.assert_array_equal(values(dataset, "train", tmp_path), expected[:4])
    np.testing.assert_array_equal(values(dataset, "valid", tmp_path), expected[4:6])
    np.testing.assert_array_equal(values(dataset, "test", tmp_path), expected[6:])
    assert any("no separate test file" in w for w in report.warnings)


def test_blocks_of_any_size_give_the_same_file(tmp_path, monkeypatch):
    dataset, samples = small(NavierStokes), navier_stokes_samples(9)
    savemat(tmp_path / "ns.mat", samples)
    import_official(dataset, tmp_path / "ns.mat", tmp_path / "one", settings=ImportSettings())
    monkeypatch.setattr(parts, "BLOCK_BYTES", 2 * 10 * N * N * 4)  # two samples
    seen = []
    import_official(dataset, tmp_path / "ns.mat", tmp_path / "two", settings=ImportSettings(),
                    progress=lambda what, done, total: seen.append((what, done, total)))  # fmt: skip
    assert seen == [("navier_stokes train", 2, 4), ("navier_stokes train", 4, 4), ("navier_stokes valid", 2, 2),
                    ("navier_stokes test", 2, 3), ("navier_stokes test", 3, 3)]  # fmt: skip
    one, two = (open_split(dataset, "train", tmp_path / name) for name in ("one", "two"))
    assert one.fingerprint == two.fingerprint
    np.testing.assert_array_equal(one[:].u, two[:].u)


def test_two_files_of_one_number_are_refused(tmp_path):
    for name in ("ns-nonbounded_1.mat", "ns_1000_128_128_10_1.mat"):
        savemat(tmp_path / name, navier_stokes_samples(3))
    with pytest.raises(DataError, match=r"expected numbered training files .* found ns-nonbounded_1\.mat, ns_1000"):
        bring(small(NavierStokes), tmp_path, tmp_path)


# ---- Shu ---------------------------------------------------------------------------------------------------------


def test_kolmogorov_seeds_are_never_shared_between_splits(tmp_path):
    w, dataset = fields(9, 24, N, N), kolmogorov()
    np.save(tmp_path / "kf_2d_re1000_256_40seed.npy", w)
    report = bring(dataset, tmp_path, tmp_path)
    assert report.samples == {"train": 4, "valid": 1, "test": 4}
    train = stored(dataset, "train", tmp_path)
    assert len(train) == 4 * 21
    np.testing.assert_array_equal(train[[22]].u[0, ..., 0], w[1, 1:5])  # a clip starts at every frame
    valid = values(dataset, "valid", tmp_path)  # three clips spread over one run: 20 // 2 = 10 apart
    np.testing.assert_array_equal(valid, np.stack([w[4, s : s + 4] for s in (0, 10, 20)]))
    assert train.grid == dataset.grid(4)


def test_kolmogorov_test_clips_are_spread_for_every_length(tmp_path):
    w, dataset = fields(9, 24, N, N), kolmogorov(test=10)
    np.save(tmp_path / "kf.npy", w)
    bring(dataset, tmp_path / "kf.npy", tmp_path)
    short = stored(dataset, "test", tmp_path)  # 3 clips of 4 runs, (24 - 4) // 2 frames apart
    assert len(short) == 10 and short.stride == 10
    assert short.runs(10) == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3]
    starts = [(run, s) for run in range(4) for s in (0, 10, 20)][:10]
    np.testing.assert_array_equal(short[:].u[..., 0], np.stack([w[5 + r, s : s + 4] for r, s in starts]))
    long = stored(dataset, "test", tmp_path, frames=16)
    assert len(long) == 10 and long.stride == 4
    np.testing.assert_array_equal(long[[9]].u[0, ..., 0], w[8, :16])
    with pytest.raises(DataError, match="holds 4 runs of 24 frames.*no longer ones"):
        stored(dataset, "test", tmp_path, frames=25)


def test_the_paper_numbers_of_test_clips():
    """4 seeds of 320 frames: 20-frame clips 12 apart, 100-frame clips 9 apart; 16 disjoint validation clips."""
    assert even_stride(320 - 20, 4, 100) == 12
    assert even_stride(320 - 100, 4, 100) == 9
    assert even_stride(320 - 20, 1, 16) == 20
    assert even_stride(0, 100, 100) == 1 and even_stride(80, 100, 100) == 81 and even_stride(3, 1, 100) == 1


def test_kolmogorov_stride_setting_and_number_of_seeds(tmp_path):
    dataset = kolmogorov(test=100)
    np.save(tmp_path / "kf.npy", fields(120, 24, N, N))
    report = bring(dataset, tmp_path / "kf.npy", tmp_path, test=2, test_stride=4, limit=3)
    assert len(stored(dataset, "test", tmp_path)) == 2 * 6
    assert any("FactFormer" in w for w in report.warnings)


# ---- statistics --------------------------------------------------------------------------------------------------


def test_published_statistics_are_compared(tmp_path):
    n, dataset = 60, small(WaveLayer)
    u, c = fields(n, 21, N, N, std=0.104424) + np.float32(0.034674), fields(n, N, N, seed=1, std=700) + np.float32(3498)
    path = write_solution(tmp_path / "Wave-Layer.nc", u, c)
    report = bring(dataset, path, tmp_path)
    found = {s.name: s for s in report.statistics}
    assert {k: s.verdict for k, s in found.items()} == {
        "solution mean": "agrees", "solution std": "agrees", "c mean": "agrees", "c std": "differs",
    }  # fmt: skip
    assert not report.agrees and found["c std"].expected == 647.84
    assert found["solution std"].found == pytest.approx(u[:, :20].astype(np.float64).std(), rel=1e-9)
    assert found["c mean"].found == pytest.approx(c.astype(np.float64).mean(), rel=1e-9)
    assert bring(dataset, path, tmp_path).statistics == report.statistics  # also when nothing was left to import


def test_kolmogorov_statistics_know_the_training_seeds(tmp_path):
    w = fields(9, 24, N, N, std=4.787)
    w[5:] *= 1.2  # the test seeds
    np.save(tmp_path / "kf.npy", w)
    report = bring(kolmogorov(), tmp_path / "kf.npy", tmp_path)
    train, everything = report.statistics
    assert train.found == pytest.approx(w[:5].astype(np.float64).std(), rel=1e-4) and train.verdict == "agrees"
    assert everything.found == pytest.approx(w.astype(np.float64).std(), rel=1e-4)


def test_verdicts_take_the_sampling_error_into_account():
    reference = Reference("u std", "std", 1.0, 1.0)
    cases = {"agrees": [1.01, 1.02, 1.0, 0.99], "differs": [1.2, 1.21, 1.2, 1.19], "too few samples": [1.0]}
    for verdict, scales in cases.items():
        moments = Moments()
        for scale in scales:
            moments.add(scale * np.array([-1.0, 1.0]))
        assert moments.compare(reference).verdict == verdict


# ---- interruption and bad input ----------------------------------------------------------------------------------


def test_an_interrupted_import_resumes_and_ends_in_the_same_content(tmp_path, monkeypatch):
    u, dataset = fields(14, 20, N, N), small(AllenCahn)
    path = write_solution(tmp_path / "ACE.nc", u)
    import_official(dataset, path, tmp_path / "whole", settings=ImportSettings())
    monkeypatch.setattr(parts, "BLOCK_BYTES", 2 * 20 * N * N * 4)

    def stop(what: str, done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bring(dataset, path, tmp_path, progress=stop)
    assert not split_path(dataset, "train", tmp_path / "data").exists()
    written, write = [], SplitWriter.write
    monkeypatch.setattr(
        SplitWriter, "write", lambda self, runs, u, c: (written.append(runs), write(self, runs, u, c))[1]
    )
    bring(dataset, path, tmp_path)
    assert written[:3] == [[4, 5], [6, 7], [8]]
    np.testing.assert_array_equal(values(dataset, "train", tmp_path), u[:9])
    for split in ("train", "valid", "test"):
        whole = open_split(dataset, split, tmp_path / "whole")
        assert stored(dataset, split, tmp_path).fingerprint == whole.fingerprint
    written.clear()
    bring(dataset, path, tmp_path)
    assert written == []  # nothing left to do


def test_the_recipe_names_inputs_without_their_folder(tmp_path):
    dataset = small(AllenCahn)
    path = write_solution(tmp_path / "ACE.nc", fields(9, 20, N, N))
    bring(dataset, path, tmp_path, limit=3)
    with h5py.File(split_path(dataset, "valid", tmp_path / "data")) as file:
        recipe = json.loads(file.attrs["recipe"])
    assert recipe["dataset"] == "allen_cahn" and recipe["settings"]["limit"] == 3 and recipe["samples"] == [4, 6]
    assert recipe["inputs"][0]["name"] == "ACE.nc" and recipe["inputs"][0]["bytes"] == path.stat().st_size
    assert str(tmp_path) not in json.dumps(recipe)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 9.96921e36])
def test_values_that_are_not_numbers_are_refused(tmp_path, bad):
    u, dataset = fields(9, 20, N, N), small(AllenCahn)
    u[3, 5, 1, 2] = bad
    with pytest.raises(DataError, match=r"ACE\.nc: expected finite values, found .* in sample 3; download it again"):
        bring(dataset, write_solution(tmp_path / "ACE.nc", u), tmp_path)
    assert not split_path(dataset, "train", tmp_path / "data").exists()


def test_a_bad_speed_is_refused_by_its_own_file(tmp_path):
    c = fields(9, N, N)
    c[2, 0, 0] = np.nan
    write_solution(tmp_path / "solution_0.nc", fields(9, 21, N, N))
    write_netcdf(tmp_path / "c_0.nc", {"c": (("sample", "x", "y"), c)})
    with pytest.raises(DataError, match=r"c_0\.nc: expected finite values, found .* in sample 2"):
        bring(small(WaveLayer), tmp_path, tmp_path)


@pytest.mark.parametrize("kind", ["link", "external", "virtual"])
def test_values_in_another_file_are_refused(tmp_path, kind):
    secret = write_solution(tmp_path / "secret.nc", fields(9, 20, N, N))
    path = write_solution(tmp_path / "ACE.nc", fields(9, 20, N, N))
    with h5py.File(path, "r+") as file:
        elsewhere(file, "solution", secret, kind)
    with pytest.raises(DataError, match=r"ACE\.nc: solution lies in another file"):
        bring(small(AllenCahn), path, tmp_path)


def test_truncated_files_are_refused(tmp_path):
    samples = navier_stokes_samples(9)
    np.save(tmp_path / "kf.npy", fields(9, 24, N, N))
    savemat(tmp_path / "five.mat", samples)
    savemat(tmp_path / "packed.mat", samples, do_compression=True)
    write_mat73(tmp_path / "seven.mat", samples)
    write_solution(tmp_path / "ACE.nc", fields(9, 20, N, N))
    for name, dataset in {
        "kf.npy": kolmogorov(), "five.mat": small(NavierStokes), "packed.mat": small(NavierStokes),
        "seven.mat": small(NavierStokes), "ACE.nc": small(AllenCahn),
    }.items():  # fmt: skip
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
        with pytest.raises(DataError, match=rf"{name}: "):
            bring(dataset, path, tmp_path)
        assert not split_path(dataset, "train", tmp_path / "data").exists()


def test_other_formats_and_missing_files(tmp_path):
    (tmp_path / "x.nc").write_bytes(b"CDF\x01 not HDF5")
    with pytest.raises(DataError, match=r"x\.nc: truncated, damaged or of another format"):
        bring(small(AllenCahn), tmp_path / "x.nc", tmp_path)
    with pytest.raises(DataError, match=r"none\.nc: no such file"):
        bring(small(AllenCahn), tmp_path / "none.nc", tmp_path)
    with pytest.raises(DataError, match=r"expected ACE\.nc or solution_0\.nc.*found x\.nc"):
        bring(small(AllenCahn), tmp_path, tmp_path)
    with pytest.raises(DataError, match=r"expected kf_2d_re1000_256_40seed\.npy, found x\.nc"):
        bring(kolmogorov(), tmp_path, tmp_path)
    np.savez(tmp_path / "sparse.npz", u3232=fields(2, 3))
    with pytest.raises(DataError, match="found an archive"):
        bring(kolmogorov(), tmp_path / "sparse.npz", tmp_path)


def test_the_file_of_another_dataset_is_recognised(tmp_path):
    wave = write_solution(tmp_path / "Wave-Layer.nc", fields(9, 21, N, N), fields(9, N, N))
    ace = write_solution(tmp_path / "ACE.nc", fields(9, 20, N, N))
    savemat(tmp_path / "helmholtz.mat", {"f_data": fields(9, N, N), "psi_data": fields(9, N, N)})
    savemat(tmp_path / "ns.mat", navier_stokes_samples(9))
    with pytest.raises(
        DataError, match=r"found solution \(9, 21, 8, 8\), c \(9, 8, 8\); it looks like wave_layer data"
    ):
        bring(small(AllenCahn), wave, tmp_path)
    with pytest.raises(
        DataError, match=r"expected the variables solution, c, found solution \(9, 20, 8, 8\); .*c_0\.nc"
    ):
        bring(small(WaveLayer), ace, tmp_path)
    with pytest.raises(DataError, match="expected the variables a, u, t, found .* it looks like helmholtz data"):
        bring(small(NavierStokes), tmp_path / "helmholtz.mat", tmp_path)
    with pytest.raises(DataError, match="it looks like navier_stokes data"):
        bring(small(Helmholtz, frames=2), tmp_path / "ns.mat", tmp_path)


def test_wrong_shapes_and_grids(tmp_path):
    path = write_solution(tmp_path / "ACE.nc", fields(9, 20, 16, 16))
    with pytest.raises(
        DataError, match=r"solution: expected \(N, T, 8, 8\), found \(9, 20, 16, 16\); .*--profile paper"
    ):
        bring(small(AllenCahn), path, tmp_path)
    savemat(tmp_path / "ns.mat", navier_stokes_samples(9) | {"u": fields(9, 10, N, N)})
    with pytest.raises(DataError, match=r"ns\.mat: u: expected \(N, 8, 8, T\), found \(9, 10, 8, 8\)"):
        bring(small(NavierStokes), tmp_path / "ns.mat", tmp_path)
    savemat(tmp_path / "ns.mat", navier_stokes_samples(9) | {"t": TIMES[:, :7]})
    with pytest.raises(DataError, match="t: expected 10 increasing times after 0, found"):
        bring(small(NavierStokes), tmp_path / "ns.mat", tmp_path)
    savemat(tmp_path / "h.mat", {"f_data": fields(9, N, N), "psi_data": fields(8, N, N)})
    with pytest.raises(DataError, match="expected as many psi_data as f_data, found 8 and 9"):
        bring(small(Helmholtz, frames=2), tmp_path / "h.mat", tmp_path)
    np.save(tmp_path / "kf.npy", fields(9, 24, N, 2 * N))
    with pytest.raises(DataError, match=r"expected \(seeds, T, 8, 8\), found \(9, 24, 8, 16\)"):
        bring(kolmogorov(), tmp_path / "kf.npy", tmp_path)


def test_too_few_samples_or_frames(tmp_path):
    path = write_solution(tmp_path / "ACE.nc", fields(5, 20, N, N))
    with pytest.raises(DataError, match=r"expected more than 5 samples \(3 for test, 2 for validation\), found 5"):
        bring(small(AllenCahn), path, tmp_path)
    with pytest.raises(DataError, match="expected 20 frames from frame 19 on, found 1"):
        bring(small(AllenCahn), path, tmp_path, first_frame=19)
    with pytest.raises(ValueError, match="limit: expected 1 or more, got 0"):
        ImportSettings(limit=0)
