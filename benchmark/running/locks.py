"""File locks that die with their process, so that several processes can share one results folder.

POSIX record locks (`fcntl.lockf`): the kernel drops them when the holder ends, however it ends, and a forked child does
not inherit them. They exclude processes, not threads: a process takes a path once at a time. The file is removed on
release, so a clean run leaves none behind. (The package `filelock` leaves its files in place and counts on nobody
removing them, and waits by polling; that is why these few lines are our own.)
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FLOCK, TYPE = ("qqihh", 3) if sys.platform == "darwin" else ("hhqqi0q", 0)  # `struct flock`, and where its type is


@contextmanager
def hold(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock, waiting for it as long as it takes; `waiting` is called once if somebody else has it."""
    handle = _take(path, block=False)
    if handle is None:
        waiting()
        handle = _take(path, block=True)
    assert handle is not None
    try:
        yield
    finally:
        _release(path, handle)


@contextmanager
def attempt(path: Path) -> Iterator[bool]:
    """Hold the lock if it is free: yields whether it was."""
    handle = _take(path, block=False)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            _release(path, handle)


def is_held(path: Path) -> bool:
    """Whether another process has it. Only asks, and so is in nobody's way."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        wanted = [0, 0, 0, 0, 0]  # the whole file, from its beginning
        wanted[TYPE] = fcntl.F_RDLCK
        found = struct.unpack(FLOCK, fcntl.fcntl(handle, fcntl.F_GETLK, struct.pack(FLOCK, *wanted)))
        return found[TYPE] != fcntl.F_UNLCK
    finally:
        os.close(handle)


def clear(path: Path) -> bool:
    """Remove what a killed process left of its lock; False: somebody holds it."""
    if not path.exists():
        return True
    with attempt(path) as is_free:
        return is_free


def _take(path: Path, block: bool) -> int | None:
    """The locked file's descriptor, or None if somebody has it and we do not wait."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | (0 if block else fcntl.LOCK_NB))
            if _is_current(path, handle):
                return handle
        except OSError as error:
            os.close(handle)
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return None
            raise
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # the last holder removed this file between our open and our lock: take the new one


def _is_current(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def _release(path: Path, handle: int) -> None:
    """Removed while still held, so that nobody can hold a removed file and believe it is the lock."""
    path.unlink(missing_ok=True)
    os.close(handle)
