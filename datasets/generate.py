"""Fills the store: one single-threaded worker per core, tile by tile, resumable.

Trajectories are small and the solvers bound by memory traffic, so that two processes with one thread each beat one with
two. A set that takes less time than starting a worker is made in place.
"""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmark.core import Dataset, Split
from datasets.layout import number, recipe, split_path, stored_array, understood
from datasets.store import open_checked, open_split
from datasets.writer import SplitWriter, explain_os_error, journal_path

SPLITS: tuple[Split, ...] = ("train", "valid", "test")
POOL_AFTER = 4.0  # seconds of work that pay for starting workers
WARNINGS = (signal.SIGTERM, signal.SIGUSR2)  # Slurm sends them to every process of a job; they are for the job's own
Progress = Callable[[str, int, int], None]  # (what, done, total)


def ensure_data(
    dataset: Dataset,
    root: Path,
    splits: Sequence[Split] = SPLITS,
    progress: Progress | None = None,
    device: str = "cpu",
) -> None:
    """Generate whatever is missing, once, however many processes ask for it. What is there may be another user's."""
    for split in splits:
        path = split_path(dataset, split, root)
        if is_stored(dataset, split, root) and not _has_leftovers(path):
            continue
        with locked(path):
            if not is_stored(dataset, split, root):
                generate_split(dataset, split, root, progress, device)
            journal_path(path).unlink(missing_ok=True)  # of a kill just before its end


def _has_leftovers(path: Path) -> bool:
    """A journal that is ours to remove, beside a file that is whole."""
    return journal_path(path).exists() and os.access(path.parent, os.W_OK)


def is_stored(dataset: Dataset, split: Split, root: Path) -> bool:
    """Whether the file is there and long enough; a file of anything else is an error."""
    path, layout = split_path(dataset, split, root), dataset.layout(split)
    if not path.exists():
        return False
    with open_checked(path) as file, understood(path):
        if file.attrs["source"] == "generated":
            frames, runs = len(stored_array(file, "dimensions/time")), number(file, "n_trajectories")
            return frames >= layout.frames and runs >= layout.runs
    open_split(dataset, split, root)
    return True


def generate_split(
    dataset: Dataset, split: Split, root: Path, progress: Progress | None = None, device: str = "cpu"
) -> None:
    layout, path = dataset.layout(split), split_path(dataset, split, root)
    report = progress or (lambda what, done, total: None)
    grid = dataset.grid(layout.frames)
    with SplitWriter(path, dataset, layout.runs, grid, "generated", recipe(dataset)) as writer:
        for runs, u, static in _tiles(dataset, split, _by_tile(writer.missing(), dataset.tile), layout.frames, device):
            writer.write(runs, u, static)
            report(f"{dataset.name} {split}", len(writer.done), layout.runs)


Tile = tuple[list[int], np.ndarray, np.ndarray | None]  # runs, u, static


def _by_tile(runs: list[int], tile: int) -> list[list[int]]:
    return [list(group) for _, group in groupby(runs, lambda i: i // tile)]


def _tiles(dataset: Dataset, split: Split, tiles: list[list[int]], frames: int, device: str) -> Iterator[Tile]:
    """Tiles as they are ready: in place while that is quick, then by a pool of workers."""
    began = time.perf_counter()
    cores = len(os.sched_getaffinity(0))
    for position, runs in enumerate(tiles, 1):
        yield _tile(dataset, split, runs, frames, device)
        left = (time.perf_counter() - began) / position * (len(tiles) - position)
        if left > POOL_AFTER and cores > 1 and device == "cpu" and _importable(dataset):
            yield from _pooled(dataset, split, tiles[position:], frames, cores)
            return


def _tile(dataset: Dataset, split: Split, runs: list[int], frames: int, device: str = "cpu") -> Tile:
    with one_thread():
        u, static = dataset.generate(split, runs, frames, device)
    return runs, u.cpu().numpy(), None if static is None else static.cpu().numpy()


def _remote_tile(cls: type[Dataset], settings: Any, split: Split, runs: list[int], frames: int) -> Tile:
    return _tile(cls(settings), split, runs, frames)


def _pooled(dataset: Dataset, split: Split, tiles: list[list[int]], frames: int, workers: int) -> Iterator[Tile]:
    context = multiprocessing.get_context("spawn")
    with _warnings_held():  # by what the pool starts for itself
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with, initargs=(os.getpid(),))
    with pool:
        running: set[Future[Tile]] = set()
        try:
            for runs in tiles:
                with _main_hidden(), _warnings_held():
                    running.add(pool.submit(_remote_tile, type(dataset), dataset.settings, split, runs, frames))
                if len(running) >= 2 * workers:  # bounds memory
                    done, running = wait(running, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            for future in running:
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _main_hidden() -> Iterator[None]:
    """A spawned worker would run the user's script again; it needs nothing of it."""
    main = sys.modules["__main__"]
    kept = {name: vars(main).pop(name) for name in ("__spec__", "__file__") if name in vars(main)}
    main.__spec__ = None
    try:
        yield
    finally:
        vars(main).update(kept)


@contextmanager
def _warnings_held() -> Iterator[None]:
    """What is started meanwhile has them blocked from its first moment to its last."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, WARNINGS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with(parent: int) -> None:
    """A worker whose parent was killed would wait for work for ever: let it look, and leave. It leaves too if the
    parent itself ends it, as a pool does that has lost another worker.
    """

    def watch() -> None:
        while os.getppid() == parent:
            warning = signal.sigtimedwait(WARNINGS, 1)
            if warning is not None and warning.si_pid == parent:
                break
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _importable(dataset: Dataset) -> bool:
    """Whether a worker finds its class, and that of its settings, by name: not those of a plugin file or a script."""
    return all(_found_by_name(cls) for cls in (type(dataset), type(dataset.settings)))


def _found_by_name(cls: type) -> bool:
    if cls.__module__.startswith(("benchmark_plugin_", "__main__")):
        return False
    return getattr(sys.modules.get(cls.__module__), cls.__qualname__, None) is cls


@contextmanager
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process at a time; a dead one's lock is gone with it."""
    with explain_os_error(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path.with_name(f".{path.stem}.lock"), os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
