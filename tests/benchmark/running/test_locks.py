from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.running import locks

HOLDER = """
import sys
from pathlib import Path
from benchmark.running import locks
with locks.hold(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
print("released", flush=True)
"""
COUNTER = """
import sys
from pathlib import Path
from benchmark.running import locks
lock, number = map(Path, sys.argv[1:])
for _ in range(150):
    with locks.hold(lock):
        number.write_text(str(int(number.read_text()) + 1))
"""


def start(code: str, *arguments: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(Path(locks.__file__).parents[2])}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.fixture
def holder(tmp_path):
    process = start(HOLDER, tmp_path / "x.lock")
    assert process.stdout and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_one_process_at_a_time(tmp_path, holder):
    with locks.attempt(tmp_path / "x.lock") as is_free:
        assert not is_free
    with locks.attempt(tmp_path / "other.lock") as is_free:
        assert is_free


def test_hold_waits_and_says_so_once(tmp_path, holder):
    said = []

    def waiting():
        said.append("waiting")
        holder.stdin.write("\n")
        holder.stdin.flush()

    with locks.hold(tmp_path / "x.lock", waiting):
        assert said == ["waiting"]
        assert holder.stdout.readline() == "released\n"


def test_the_lock_of_a_killed_process_is_free(tmp_path, holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with locks.attempt(tmp_path / "x.lock") as is_free:
        assert is_free


def test_nothing_is_left_behind(tmp_path):
    with locks.hold(tmp_path / "a" / "x.lock"):
        assert (tmp_path / "a" / "x.lock").exists()
    with pytest.raises(KeyError), locks.hold(tmp_path / "a" / "x.lock"):
        raise KeyError
    assert list((tmp_path / "a").iterdir()) == []


def test_what_a_killed_process_left_is_cleared_but_no_lock_that_is_held(tmp_path, holder):
    locks.clear(tmp_path / "x.lock")
    assert (tmp_path / "x.lock").exists()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    locks.clear(tmp_path / "x.lock")
    locks.clear(tmp_path / "never.lock")
    assert list(tmp_path.iterdir()) == []


def test_no_increment_is_lost_between_processes(tmp_path):
    """Removing the file on release must not let two processes in at once."""
    number = tmp_path / "number"
    number.write_text("0")
    processes = [start(COUNTER, tmp_path / "x.lock", number) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    for process in processes:
        process.communicate()
    assert number.read_text() == "600"


def test_asking_for_a_lock_does_not_take_it(tmp_path):
    path = tmp_path / "lock"
    assert not locks.is_held(path)
    path.touch()
    assert not locks.is_held(path)
    other = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        assert locks.is_held(path)
    finally:
        other.kill()
        other.wait()
    assert not locks.is_held(path)
