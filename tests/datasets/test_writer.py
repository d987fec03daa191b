import errno
import os
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest

from datasets import generate, writer
from datasets.generate import ensure_data, generate_split
from datasets.layout import DataError, recipe, split_path
from datasets.store import open_split
from datasets.writer import SplitWriter
from tests.datasets import small


def new_writer(dataset, root, runs=10):
    return SplitWriter(split_path(dataset, "train", root), dataset, runs, dataset.grid(4), "generated", recipe(dataset))


def test_resumes_and_ends_in_the_same_content(tmp_path):
    dataset = small.navier_stokes()
    u, _ = dataset.generate("train", range(10), 4)
    first = new_writer(dataset, tmp_path / "a")
    first.write([0, 1, 2], u[:3].numpy(), None)
    with pytest.raises(DataError, match="7 of 10 runs"):
        first.finish()
    second = new_writer(dataset, tmp_path / "a")
    assert second.missing() == [3, 4, 5, 6, 7, 8, 9]
    generate_split(dataset, "train", tmp_path / "a")
    ensure_data(dataset, tmp_path / "b", ("train",))
    one, other = (split_path(dataset, "train", tmp_path / name) for name in "ab")
    assert one.read_bytes() == other.read_bytes()
    assert [p.name for p in one.parent.iterdir() if p.suffix != ".lock"] == ["train.hdf5"]


def test_the_clock_is_no_part_of_a_file(tmp_path):
    first = new_writer(small.navier_stokes(), tmp_path / "a").part.read_bytes()
    time.sleep(1.1)  # HDF5 counts whole seconds
    assert new_writer(small.navier_stokes(), tmp_path / "b").part.read_bytes() == first


def test_an_unfinished_file_is_not_data(tmp_path):
    dataset = small.navier_stokes()
    new_writer(dataset, tmp_path)
    assert not split_path(dataset, "train", tmp_path).exists()
    with pytest.raises(DataError, match="not there"):
        open_split(dataset, "train", tmp_path)


def test_a_torn_journal_line_and_another_recipe_start_over(tmp_path):
    dataset = small.navier_stokes()
    u, _ = dataset.generate("train", range(10), 4)
    first = new_writer(dataset, tmp_path)
    first.write([0], u[:1].numpy(), None)
    with open(first.journal, "a") as journal:
        journal.write("1 abc")
    assert new_writer(dataset, tmp_path).missing()[0] == 1
    assert new_writer(dataset, tmp_path, runs=12).missing()[0] == 0


@pytest.mark.parametrize("torn", ["2", "2 ", "2 abc", f"2 {'a' * 64}", "\0\0"])
def test_a_disk_that_fills_within_a_journal_line_costs_no_run(tmp_path, torn):
    """Twice interrupted: what the second run adds must not go on where the line broke off, or 2 and 2 make 22."""
    dataset, runs = small.navier_stokes(train=30), 30
    u = dataset.generate("train", range(runs), 4)[0].numpy()
    first = new_writer(dataset, tmp_path, runs)
    first.write([0, 1], u[:2], None)
    with open(first.journal, "a") as journal:
        journal.write(torn)
    second = new_writer(dataset, tmp_path, runs)
    assert second.missing() == list(range(2, runs))
    second.write([2], u[2:3], None)
    third = new_writer(dataset, tmp_path, runs)
    assert third.missing() == list(range(3, runs))
    third.write(third.missing(), u[3:], None)
    third.finish()
    assert np.array_equal(open_split(dataset, "train", tmp_path)[:].u, u)


@pytest.mark.parametrize("torn", [True, False])
def test_a_kill_while_the_file_is_finished_is_made_good(tmp_path, torn):
    """HDF5 marks a file that it writes to, and opens a marked one no more; its header may be torn as well."""
    dataset = small.navier_stokes()
    first = new_writer(dataset, tmp_path / "a", runs=dataset.layout("train").runs)
    first.write(first.missing(), dataset.generate("train", first.missing(), 4)[0].numpy(), None)
    code = f"import h5py, os; file = h5py.File({str(first.part)!r}, 'r+')\n"
    code += "file.attrs['fingerprint'] = 'x' * 64; file.flush(); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    if torn:
        with open(first.part, "r+b") as file:
            file.seek(100)
            file.write(bytes(200))
    with pytest.raises(OSError):
        h5py.File(first.part, "r")
    for name in "ab":
        ensure_data(dataset, tmp_path / name, ("train",))
    one, other = (split_path(dataset, "train", tmp_path / name) for name in "ab")
    assert one.read_bytes() == other.read_bytes()
    assert [p.name for p in one.parent.iterdir() if p.suffix != ".lock"] == ["train.hdf5"]


def test_a_kill_between_the_last_name_and_the_end_leaves_no_journal(tmp_path):
    dataset = small.navier_stokes()
    ensure_data(dataset, tmp_path, ("train",))
    path = split_path(dataset, "train", tmp_path)
    writer.journal_path(path).write_text("of a file that is whole")
    ensure_data(dataset, tmp_path, ("train",))
    assert [p.name for p in path.parent.iterdir() if p.suffix != ".lock"] == ["train.hdf5"]


KILLED = """
import sys
from pathlib import Path
from tests.datasets import small
from datasets.generate import generate_split
generate_split(small.navier_stokes(max_dt=0.0002), "train", Path(sys.argv[1]), lambda *a: print(a, flush=True))
"""


def test_kill_then_resume(tmp_path, monkeypatch):
    """SIGKILL after the first tile is on disk; the second attempt makes the rest only."""
    monkeypatch.setattr(type(small.navier_stokes()), "tile", 2)
    dataset = small.navier_stokes(max_dt=0.0002)
    program = "from datasets.navier_stokes import NavierStokes\nNavierStokes.tile = 2\n" + KILLED
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = new_writer(dataset, tmp_path).missing()
    assert 0 < len(left) < 10
    generate_split(dataset, "train", tmp_path)
    u, _ = dataset.generate("train", range(10), 4)
    assert np.array_equal(open_split(dataset, "train", tmp_path)[:].u, u)


def test_two_processes_generate_once(tmp_path):
    program = """
import sys
from pathlib import Path
from tests.datasets import small
from datasets.generate import ensure_data
made = []
ensure_data(small.navier_stokes(), Path(sys.argv[1]), progress=lambda what, done, total: made.append(what))
print(len(made))
"""
    both = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    tiles = [int(p.communicate(timeout=120)[0]) for p in both]
    assert sum(tiles) == 3  # one tile a split


def test_nan_is_refused(tmp_path):
    dataset = small.navier_stokes()
    u = np.zeros((2, 4, 16, 16, 1), np.float32)
    u[1, 0, 0, 0] = np.nan
    with pytest.raises(DataError, match="non-finite values in run 5"):
        new_writer(dataset, tmp_path).write([4, 5], u, None)


@pytest.mark.parametrize(("code", "words"), [(errno.ENOSPC, "disk is full"), (errno.EACCES, "no permission to write")])
def test_disk_errors_are_explained(tmp_path, monkeypatch, code, words):
    dataset = small.navier_stokes()
    target = new_writer(dataset, tmp_path)

    def fail(*arguments):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(writer.os, "pwrite", fail)
    with pytest.raises(DataError, match=words) as error:
        target.write([0], np.zeros((1, 4, 16, 16, 1), np.float32), None)
    assert "BENCHMARK_DATA" in str(error.value)


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "data").write_text("a file")
    with pytest.raises(DataError, match=str(tmp_path)):
        ensure_data(small.navier_stokes(), tmp_path / "data")


def test_the_pool_makes_the_same_bytes(tmp_path, monkeypatch):
    dataset = small.navier_stokes()
    ensure_data(dataset, tmp_path / "alone", ("train",))
    monkeypatch.setattr(generate, "POOL_AFTER", -1.0)
    monkeypatch.setattr(type(dataset), "tile", 2)
    began = time.perf_counter()
    ensure_data(dataset, tmp_path / "pool", ("train",))
    assert time.perf_counter() - began < 60
    alone, pool = (open_split(dataset, "train", tmp_path / name)[:].u for name in ("alone", "pool"))
    assert np.allclose(alone, pool, atol=1e-6)  # here in tiles of another size: equal up to the last bits


@pytest.mark.slow
def test_workers_leave_when_their_parent_is_killed(tmp_path):
    program = """
import sys
from pathlib import Path
from datasets import generate
from tests.datasets import small
generate.POOL_AFTER = -1.0
type(small.navier_stokes()).tile = 2
dataset = small.navier_stokes(max_dt=0.0001)  # no guard for __main__: workers do not run the script again
generate.generate_split(dataset, "train", Path(sys.argv[1]), lambda what, done, total: print(done, flush=True))
"""
    script = tmp_path / "pool.py"
    script.write_text(program)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path),
        "MARK": str(tmp_path),
    }
    process = subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, text=True, env=environment
    )
    lines = [process.stdout.readline() for _ in range(2)]  # the second comes from a worker
    assert all(lines)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while _alive(f"MARK={tmp_path}") and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not _alive(f"MARK={tmp_path}")


def _alive(mark):
    """Processes whose environment carries the mark."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if mark.encode() in file.read().split(b"\0"):
                        found.append(entry)
            except OSError:
                continue
    return found
