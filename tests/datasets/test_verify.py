"""Verification of stored files: good ones pass, damaged or unphysical ones fail with a row that says why."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from benchmark.core import Dataset, Grid
from benchmark.core.operators import Fourier
from datasets.allen_cahn import AllenCahn
from datasets.generate import ensure_data
from datasets.helmholtz import Helmholtz
from datasets.kolmogorov import Kolmogorov
from datasets.layout import recipe, split_path
from datasets.navier_stokes import NavierStokes
from datasets.verify import Check, verify_file
from datasets.wave_layer import WaveLayer
from datasets.writer import SplitWriter
from tests.datasets.physics import FIVE, make

each = pytest.mark.parametrize("kind", FIVE, ids=[kind.name for kind in FIVE])


def stored(dataset: Dataset, root: Path) -> Path:
    ensure_data(dataset, root, ("train",))
    return split_path(dataset, "train", root)


def written(
    dataset: Dataset, path: Path, change: Callable[[np.ndarray], np.ndarray], source: str = "generated"
) -> Path:
    """A file with intact digests whose values are `change(true values)`."""
    layout = dataset.layout("train")
    u, static = dataset.generate("train", range(layout.runs), layout.frames)
    grid = dataset.grid(layout.frames)
    with SplitWriter(path, dataset, layout.runs, grid, source, recipe(dataset)) as writer:
        writer.write(list(range(layout.runs)), change(u.numpy().copy()), None if static is None else static.numpy())
    return path


def import_like(dataset: Dataset, path: Path, u: torch.Tensor, grid: Grid) -> Path:
    with SplitWriter(path, dataset, len(u), grid, "official", recipe(dataset)) as writer:
        writer.write(list(range(len(u))), u.float().numpy()[..., None], None)
    return path


def verdicts(checks: list[Check]) -> dict[str, str]:
    return {c.name: c.verdict for c in checks}


def failed(checks: list[Check]) -> set[str]:
    return {c.name for c in checks if c.verdict == "fail"}


@each
@pytest.mark.parametrize("profile", ["smoke", "laptop"])
def test_generated_files_pass(kind, profile, tmp_path):
    sizes = {} if profile == "smoke" else {"train": 32}
    dataset = make(kind, profile, sizes=sizes)
    checks = verify_file(dataset, stored(dataset, tmp_path))
    assert not failed(checks), checks
    passed = {name for name, verdict in verdicts(checks).items() if verdict == "pass"}
    expected = {"readable", "fingerprint", "non-finite runs", "residual / own residual", "re-simulation error"}
    if kind is Kolmogorov and profile == "laptop":  # eight turnover times: chaotic
        expected -= {"re-simulation error"}
    assert expected <= passed
    assert len(passed) >= 7  # every equation has a law of its own


@pytest.mark.parametrize("kind", [WaveLayer, NavierStokes, AllenCahn, Helmholtz])
def test_published_settings_are_held_to_the_published_statistics(kind, tmp_path):
    dataset = make(kind, "paper", sizes={"train": 16})
    checks = verify_file(dataset, stored(dataset, tmp_path))
    assert not failed(checks), checks
    assert any("std" in name and verdict == "pass" for name, verdict in verdicts(checks).items())


def test_wrong_amplitude_misses_the_statistics(tmp_path):
    dataset = make(Helmholtz, "paper", sizes={"train": 32})
    checks = verify_file(dataset, written(dataset, tmp_path / "train.hdf5", lambda u: 1.3 * u))
    assert failed(checks) == {"std of a", "std of u"}  # the equation is linear: nothing else can tell


@pytest.mark.parametrize(
    ("kind", "change", "broken"),
    [
        (NavierStokes, lambda u: u + 0.1, "mean vorticity / std"),
        (NavierStokes, lambda u: u[:, ::-1], "enstrophy budget, relative defect"),
        (NavierStokes, lambda u: u[:, :1].repeat(4, axis=1), "residual / own residual"),
        (NavierStokes, lambda u: u[:, [0, 1, 2, 2]], "re-simulation error"),
        (Kolmogorov, lambda u: u.swapaxes(2, 3), "residual / own residual"),
        (WaveLayer, lambda u: u * np.array([1, 2, 4, 8])[:, None, None, None], "potential energy / initial energy"),
        (WaveLayer, lambda u: u[:, [0, 2, 1, 3]], "residual / own residual"),
        (AllenCahn, lambda u: 1.2 * u, "growth of the free energy"),
        (AllenCahn, lambda u: u[:, ::-1], "growth of the free energy"),
        (AllenCahn, lambda u: u * np.array([0.5, 1, 1, 1.1])[:, None, None, None], "largest |u| / max(1, |u(0)|)"),
        (Helmholtz, lambda u: u * np.array([1, -1])[:, None, None, None], "five-point residual / |a|"),
        (Helmholtz, lambda u: u + 1e-3, "largest |u| on the edge / max |u|"),
    ],
)
def test_unphysical_values_fail(kind, change, broken, tmp_path):
    dataset = make(kind)
    checks = verify_file(dataset, written(dataset, tmp_path / "train.hdf5", change))
    assert verdicts(checks)["runs that differ from their digest"] == "pass"
    assert broken in failed(checks), checks


def poke(path: Path, dataset: Dataset, run: int, value: bytes) -> None:
    """Overwrite the first four bytes of a run in place."""
    with h5py.File(path) as file:
        data = file[f"t0_fields/{dataset.channels[0]}"]
        offset = data.id.get_offset() + run * data[0].nbytes
    with open(path, "r+b") as file:
        file.seek(offset)
        file.write(value)


def test_nan_is_named_with_its_run(tmp_path):
    dataset = make(NavierStokes)
    path = stored(dataset, tmp_path)
    poke(path, dataset, 3, np.float32(np.nan).tobytes())
    checks = verify_file(dataset, path)
    assert failed(checks) == {"non-finite runs", "runs that differ from their digest"}
    (row,) = (c for c in checks if c.name == "non-finite runs")
    assert row.value == 1 and "run 3" in row.note and "generate or import it again" in row.note


@each
def test_one_flipped_bit_is_found(kind, tmp_path):
    dataset = make(kind)
    path = stored(dataset, tmp_path)
    with h5py.File(path) as file:
        first = file[f"t0_fields/{dataset.channels[0]}"][1].tobytes()[:4]
    poke(path, dataset, 1, bytes([first[0] ^ 1]) + first[1:])
    (row,) = (c for c in verify_file(dataset, path) if c.verdict == "fail")
    assert row.name == "runs that differ from their digest" and row.value == 1 and "run 1" in row.note


def test_a_changed_speed_field_is_found(tmp_path):
    dataset = make(WaveLayer)
    path = stored(dataset, tmp_path)
    with h5py.File(path, "r+") as file:
        file["t0_fields/c"][2] *= 1.1
    assert "runs that differ from their digest" in failed(verify_file(dataset, path))


@pytest.mark.parametrize("keep", [0.5, 0.9, 0.01])
def test_truncated_file(keep, tmp_path):
    dataset = make(NavierStokes)
    path = stored(dataset, tmp_path)
    with open(path, "r+b") as file:
        file.truncate(int(path.stat().st_size * keep))
    (row,) = verify_file(dataset, path)
    assert row.name == "readable" and row.verdict == "fail"
    assert str(path) in row.note and "again" in row.note


def test_missing_and_foreign_files(tmp_path):
    dataset = make(NavierStokes)
    (row,) = verify_file(dataset, tmp_path / "none.hdf5")
    assert row.verdict == "fail" and "data generate" in row.note
    (tmp_path / "text.hdf5").write_text("not HDF5")
    (row,) = verify_file(dataset, tmp_path / "text.hdf5")
    assert row.verdict == "fail" and "not a readable HDF5 file" in row.note


def test_file_of_other_settings(tmp_path):
    path = stored(make(NavierStokes), tmp_path)
    (row,) = verify_file(make(NavierStokes, nu=1e-2), path)
    assert row.verdict == "fail" and "another recipe" in row.note
    (row,) = verify_file(make(Helmholtz), path)
    assert row.verdict == "fail" and "another recipe" in row.note


def test_edited_digests_break_the_fingerprint(tmp_path):
    dataset = make(NavierStokes)
    path = stored(dataset, tmp_path)
    with h5py.File(path, "r+") as file:
        file["digests"][0] = 0
    assert failed(verify_file(dataset, path)) == {"fingerprint", "runs that differ from their digest"}


def test_official_files_are_judged_by_published_statistics(tmp_path):
    """With few runs they are skipped; the constants of the official wave solver are unknown, so is its last frame."""
    dataset = make(WaveLayer)
    checks = verify_file(dataset, written(dataset, tmp_path / "train.hdf5", lambda u: u, source="official"))
    found = verdicts(checks)
    assert found["solution std"] == "fail" and found["c mean"] == "pass"  # the smoke profile is not the published set
    assert found["re-simulation error"] == "skip" and found["residual / own residual"] == "pass"
    few = make(Helmholtz, sizes={"train": 4})
    checks = verify_file(few, written(few, tmp_path / "few" / "train.hdf5", lambda u: u, source="official"))
    assert verdicts(checks)["f_data std"] == "skip" and not failed(checks)


def test_another_navier_stokes_solver_passes(tmp_path):
    """Crank-Nicolson and explicit Euler as in the official generator, with its frames 0.1 apart."""
    dataset = make(NavierStokes, "paper", sizes={"resolution": 64})
    grid = replace(dataset.grid(11), times=tuple(0.1 * i for i in range(11)))
    equation = dataset.equation()
    w = dataset.generate("train", range(2), 2, dtype=torch.float64)[0][:, 0]
    d = Fourier(grid, w[..., 0])
    half = 0.5e-3 * equation.nu * (d.k["x"] ** 2 + d.k["y"] ** 2)
    frames = [w[..., 0]]
    for step in range(1, 1001):
        terms = equation.space_terms(equation.derive(w, grid), None, d)
        push = torch.fft.rfft2(-terms["advection"] - terms["forcing"])
        w_hat = ((1 - half) * torch.fft.rfft2(w[..., 0]) + 1e-3 * push) / (1 + half)
        w = torch.fft.irfft2(w_hat, s=grid.shape)[..., None]
        frames += [w[..., 0]] if step % 100 == 0 else []
    path = import_like(dataset, tmp_path / "train.hdf5", torch.stack(frames, dim=1), grid)
    checks = verify_file(dataset, path)
    assert not failed(checks), checks
    assert verdicts(checks)["re-simulation error"] == "pass"


def test_another_allen_cahn_solver_passes(tmp_path):
    """Five-point differences and explicit Euler: what is known of the official solver."""
    dataset = make(AllenCahn, "paper", sizes={"resolution": 64}, zoom=2.0)
    grid, g2 = dataset.grid(20), dataset.equation().g2
    u = dataset.generate("train", range(2), 2, dtype=torch.float64)[0][:, 0, ..., 0]
    frames = [u]
    for _ in range(19):
        for _ in range(10):
            around = sum(u.roll(shift, dim) for shift in (1, -1) for dim in (-2, -1))
            u = u + grid.dt / 10 * ((around - 4 * u) * 64**2 - g2 * u * (u * u - 1))
        frames.append(u)
    checks = verify_file(dataset, import_like(dataset, tmp_path / "train.hdf5", torch.stack(frames, dim=1), grid))
    assert not failed(checks), checks


def test_reads_no_more_than_asked(tmp_path):
    dataset = make(NavierStokes)
    checks = verify_file(dataset, stored(dataset, tmp_path), trajectories=3)
    (row,) = (c for c in checks if c.name == "residual / own residual")
    assert row.note.startswith("3 clips")


def test_clips_of_long_runs_are_all_over_the_file(tmp_path):
    """Damage the physics of the second half of long runs only."""
    dataset = make(Kolmogorov)

    def late(u: np.ndarray) -> np.ndarray:
        u[:, 8:] = u[:, 8:].swapaxes(2, 3)
        return u

    assert "residual / own residual" in failed(verify_file(dataset, written(dataset, tmp_path / "train.hdf5", late)))


def test_checks_are_plain_values(tmp_path):
    dataset = make(NavierStokes)
    rows = [asdict(c) for c in verify_file(dataset, stored(dataset, tmp_path))]
    assert json.loads(json.dumps(rows)) == rows
