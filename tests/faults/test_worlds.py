"""A full disk, folders that cannot be written, workers that misbehave, signals, clocks, low limits, odd paths, company.

Whatever it is: the command ends in words, and once it is over the same command gives the records of an undisturbed run.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.benchmark.support import gone
from tests.faults.process import FAILED, INTERRUPTED, OK, Ended, Forked, children, command, fork
from tests.faults.store import Store, record_text

pytestmark = pytest.mark.faults
ROGUE = Path(__file__).with_name("rogue.py")
CHEAP = ("--method", "mean,nearest,kriging", "--task", "cont_3")
LEARNED = ("--method", "voronoi_unet", "--task", "cont_3", "--set", "training.steps=60")
OFTEN = ("--set", "training.checkpoint_seconds=0")


def texts(store: Store) -> dict[str, str]:
    return {name: record_text(record) for name, record in store.records().items()}


def run(store: Store, *more: object, before=None) -> Ended:
    return fork(store.running(*more), store.root, *([before] if before else []))


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Store:
    store = Store(tmp_path_factory.mktemp("whole"))
    assert run(store, *CHEAP).code == OK and run(store, *LEARNED, *OFTEN).code == OK
    return store


def rogues(store: Store, *methods: str, more: tuple[object, ...] = (), before=None) -> Ended:
    named = ["--method", ",".join(methods), "--task", "fwd_full", "--dataset", "toy", "--plugin", ROGUE]
    return run(store, *named, *more, before=before)


def log_to(path: Path) -> None:
    os.environ["TOY_LOG"] = str(path)


# -- the disk


def tmpfs(folder: Path, size: str) -> bool:
    folder.mkdir(parents=True, exist_ok=True)
    return not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True
    ).returncode


def no_large_files(size: int) -> None:
    """Where nothing can be mounted: no file may grow beyond this, so that writes end in the middle."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@pytest.mark.parametrize("part", ["results", "runs", "data"])
@pytest.mark.parametrize("kilobytes", [4, 16, 48])
def test_a_full_disk_is_named_and_what_was_there_goes_on(part, kilobytes, whole, tmp_path):
    store = Store(tmp_path)
    folder = getattr(store, part)
    mounted = tmpfs(folder, f"{kilobytes}k")
    try:
        ended = run(store, *CHEAP, before=None if mounted else partial(no_large_files, 1024 * kilobytes // 4))
        assert ended.code in (OK, FAILED) and ended.is_clean, ended
        said = ended.out + ended.err + " ".join(record.reason for record in store.records().values())
        assert ended.code == OK or not mounted or "No space left" in said or "disk is full" in said
        if mounted:
            subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)
        assert run(store, *CHEAP).code == OK
        wanted = {name: text for name, text in texts(whole).items() if "voronoi" not in name}
        assert texts(store) == wanted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture
def open_folder():
    """For other users too; the parents of `tmp_path` are closed to them whenever another pytest starts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        yield folder


@pytest.mark.parametrize("part", ["results", "runs", "data"])
def test_a_folder_that_is_not_ours_is_named(part, open_folder):
    """By another user's id: permissions do not bind root."""
    store = Store(open_folder)
    for name in ("results", "runs", "data"):
        (open_folder / name).mkdir()
        (open_folder / name).chmod(0o555 if name == part else 0o777)
    other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    line = store.running("--method", "mean", "--task", "cont_3")
    if part == "data":  # without a worker: the interpreter may lie where only its owner may start it
        line = ["data", "generate", "navier_stokes", "--profile", "smoke", "--data", store.data]
    ended = command(line, open_folder, first=other)
    assert ended.code == FAILED and ended.is_clean and part in ended.out + ended.err, ended
    assert "ermission" in ended.out + ended.err


@contextmanager
def read_only(folder: Path, owner: str) -> Iterator[Sequence[str]]:
    """What starts a command for which a folder and all in it are `owner`'s: another user's, or a read-only disk's.

    Root that may no longer pass permissions over is an other to files that are not its own, and can start workers.
    """
    if owner == "user":
        subprocess.run(["chown", "-R", "65534:65534", folder], check=True)
        yield ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner"]
        return
    if subprocess.run(["mount", "--bind", folder, folder], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)
        yield []
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize("owner", ["user", "disk"])
def test_complete_data_that_cannot_be_written_is_enough(owner, whole, tmp_path):
    store = Store(tmp_path)
    shutil.copytree(whole.data, store.data, ignore=shutil.ignore_patterns(".*.lock"))
    journal = next(store.data.rglob("test.hdf5")).with_suffix(".hdf5.journal")
    journal.write_text("left by a kill just before the end")
    with read_only(store.data, owner) as first:
        assert command(store.running("--method", "mean", "--task", "cont_1"), tmp_path, first=first).code == OK
        asked = ["data", "generate", "navier_stokes", "--profile", "smoke", "--data", store.data]
        assert command(asked, tmp_path, first=first).code == OK
        lacking = command([*asked[:2], "helmholtz", *asked[3:]], tmp_path, first=first)
    assert lacking.code == FAILED and lacking.is_clean and str(store.data) in lacking.err
    assert store.states() == {"done"} and journal.exists()


# -- workers


def test_workers_that_hang_crash_leave_or_eat_memory_take_nobody_with_them(tmp_path):
    store, methods = Store(tmp_path), ("hangs", "deaf", "segfaults", "exits", "exits_fine", "parent", "learns")
    limits = ("--time-limit", "3", "--jobs", "2")
    ended = rogues(store, *methods, more=limits, before=partial(log_to, tmp_path / "log"))
    assert ended.code == FAILED and ended.is_clean, ended.err
    states = {record.cell.method: record.state for record in store.records().values()}
    assert states == {
        "hangs": "timeout", "deaf": "timeout", "segfaults": "failed", "exits": "failed", "exits_fine": "failed",
        "parent": "done", "learns": "done",
    }  # fmt: skip
    pids = [int(line.split()[1]) for line in (tmp_path / "log").read_text().splitlines() if line.startswith("pid")]
    assert len(pids) == 7 and gone(pids)
    assert not [name for name in store.tree() if name.endswith((".lock", ".tmp")) and name.startswith("results")]


def limit(kind: int, value: int) -> None:
    resource.setrlimit(kind, (value, value))


def test_what_eats_memory_is_out_of_it(tmp_path):
    """Under `ulimit -v` of 8 GB."""
    store = Store(tmp_path)
    ended = rogues(store, "eats", "learns", before=partial(limit, resource.RLIMIT_AS, 8 << 30))
    assert ended.code == FAILED and ended.is_clean
    assert {r.cell.method: r.state for r in store.records().values()} == {"eats": "oom", "learns": "done"}


# -- limits and surroundings


@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_NOFILE"])
@pytest.mark.parametrize("share", [0, 1, 2])
def test_low_limits_end_in_words_and_cost_nothing(kind, share, whole, tmp_path):
    value = {"RLIMIT_AS": (1 << 30, 2 << 30, 3 << 30), "RLIMIT_NOFILE": (8, 16, 32)}[kind][share]
    store = Store(tmp_path)
    ended = run(store, *CHEAP, before=partial(limit, getattr(resource, kind), value))
    assert ended.is_clean, ended
    assert run(store, *CHEAP).code == OK
    assert texts(store) == {name: text for name, text in texts(whole).items() if "voronoi" not in name}


def test_without_a_home_and_with_an_odd_locale_under_an_odd_path(whole, tmp_path):
    store = Store(tmp_path / "Größe & Maß 'x' ☃ $HOME")
    environment = {"HOME": "/nowhere", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    assert command(store.running(*CHEAP), store.root, environment).code == OK
    assert texts(store) == {name: text for name, text in texts(whole).items() if "voronoi" not in name}
    board = ["leaderboard", "--profile", "smoke", "--results", store.results]
    ended = command(board, store.root, environment)
    assert ended.code == OK and "kriging" in ended.out, ended.err


@pytest.mark.skipif(not shutil.which("faketime"), reason="needs Debian's faketime")
def test_a_clock_that_was_wrong_leaves_no_work_undone(whole, tmp_path):
    """Records of next year do not count as made by a run that began today, and no lock or limit goes by the clock."""
    store = Store(tmp_path)
    ahead = ["faketime", "-f", "+400d"]
    environment = {"FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    assert command(store.running(*CHEAP), tmp_path, environment, first=ahead).code == OK
    created = {record.created for record in store.records().values()}
    assert run(store, *CHEAP).code == OK
    assert {record.created for record in store.records().values()} == created  # done is done
    assert run(store, *CHEAP, "--overwrite").code == OK
    assert max(record.created for record in store.records().values()) < min(created)
    assert texts(store) == {name: text for name, text in texts(whole).items() if "voronoi" not in name}


# -- signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_within_its_grace_and_the_next_run_goes_on(number, whole, tmp_path):
    store = Store(tmp_path)
    process = Forked(store.running(*LEARNED, *OFTEN), tmp_path)
    deadline = time.monotonic() + 120
    while not list(store.runs.rglob("begun.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = children(process.pid)
    os.kill(process.pid, number)
    if number == signal.SIGINT:
        time.sleep(0.05)
        if process.lasts(0):
            os.kill(process.pid, number)
    assert workers and not process.lasts(30) and gone(workers)
    assert "Traceback" not in process.output("err")
    if number == signal.SIGINT:
        assert process.process.exitcode in (INTERRUPTED, -signal.SIGINT)
    assert run(store, *LEARNED, *OFTEN).code == OK
    assert texts(store) == {name: text for name, text in texts(whole).items() if "voronoi" in name}


# -- checkpoints and company


def test_a_corrupt_checkpoint_is_passed_over_and_the_record_is_the_same(whole, tmp_path):
    store = Store(tmp_path)
    shutil.copytree(whole.data, store.data)
    shutil.copytree(whole.runs, store.runs)
    (fit,) = store.runs.glob("smoke/navier_stokes/voronoi_unet-s0/cont_3-*/fit.json")
    newest = sorted(fit.parent.glob("checkpoint-*"))[-1]
    content = bytearray((newest / "model.safetensors").read_bytes())
    content[len(content) // 2] ^= 1
    (newest / "model.safetensors").write_bytes(content)
    fit.unlink()  # as after a kill while the fit was under way
    if len(list(fit.parent.glob("checkpoint-*"))) == 1:  # a quick machine has no other
        shutil.rmtree(newest)
    assert run(store, *LEARNED, *OFTEN).code == OK
    assert texts(store) == {name: text for name, text in texts(whole).items() if "voronoi" in name}


@pytest.mark.parametrize("count", [2, 4])
def test_runs_on_one_folder_share_the_work(count, tmp_path):
    store, before = Store(tmp_path), partial(log_to, tmp_path / "log")
    named = ["--method", "learns", "--task", "cont_1,cont_3,fwd_full", "--dataset", "toy", "--plugin", ROGUE]
    runs = [Forked(store.running(*named), tmp_path / str(i), before) for i in range(count)]
    assert [process.end().code for process in runs] == [OK] * count
    words = Counter(line.split()[0] for line in (tmp_path / "log").read_text().splitlines())
    assert words == {"fit": 3, "step": 9, "state": 3, "predict": 3}
    assert store.states() == {"done"} and len(store.records()) == 3
