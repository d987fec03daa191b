"""The command line as a process of its own that can be killed, starved and watched.

`fork` takes it from a server that has the imports done, so that hundreds of runs are affordable; `command` starts a new
interpreter, where the environment itself is the fault.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import benchmark
from benchmark.cli import main
from tests.benchmark.support import gone

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["torch", "lightning_fabric", "benchmark.running.pool", "benchmark.running.cell", "benchmark.tools.sweep",
     "benchmark.leaderboard", "datasets.generate", "methods.eci", "tests.faults.process"]
)  # fmt: skip
ROOT = Path(benchmark.__file__).parents[1]
OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

Before = Callable[[], object]  # in the process, before all else; one that can be found by name


def nothing() -> None:
    """The world as it is."""


@dataclass(frozen=True)
class Ended:
    code: int | None
    out: str
    err: str

    @property
    def is_clean(self) -> bool:
        """It ended in words."""
        return self.code in (OK, FAILED, USAGE, INTERRUPTED) and "Traceback" not in self.out + self.err


class Forked:
    """A run in a session of its own, its output in two files."""

    def __init__(self, arguments: Sequence[object], folder: Path, before: Before = nothing):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        texts = [str(argument) for argument in arguments]
        self.process = CONTEXT.Process(target=_main, args=(texts, folder, before))
        self.process.start()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def kill(self) -> bool:
        """With SIGKILL, it alone: what it has started has to end by itself, and whether it does."""
        workers = children(self.pid)
        os.kill(self.pid, signal.SIGKILL)
        self.process.join()
        return gone(workers)

    def lasts(self, seconds: float) -> bool:
        """Whether it is still there after so long."""
        self.process.join(seconds)
        return self.process.exitcode is None

    def end(self, seconds: float = 300) -> Ended:
        if self.lasts(seconds):
            self.kill()
            raise TimeoutError(f"still running after {seconds} s: {self.output('err')}")
        return Ended(self.process.exitcode, self.output("out"), self.output("err"))

    def output(self, name: str) -> str:
        return (self.folder / name).read_text(errors="replace") if (self.folder / name).exists() else ""


def _main(arguments: list[str], folder: Path, before: Before) -> None:
    os.setsid()
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    os.chdir(folder)
    os.environ["OMP_NUM_THREADS"] = "1"
    before()
    sys.exit(main(arguments))


def fork(arguments: Sequence[object], folder: Path, before: Before = nothing) -> Ended:
    return Forked(arguments, folder, before).end()


def command(
    arguments: Sequence[object], folder: Path, environment: Mapping[str, str] | None = None, first: Sequence[str] = ()
) -> Ended:
    """By a new interpreter; `first`: the command that starts it, such as `setpriv`."""
    folder.mkdir(parents=True, exist_ok=True)
    base = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    texts = [*first, sys.executable, "-m", "benchmark", *map(str, arguments)]
    done = subprocess.run(texts, cwd=folder, env=base | dict(environment or {}), capture_output=True, timeout=300)
    return Ended(done.returncode, *(text.decode(errors="replace") for text in (done.stdout, done.stderr)))


def children(pid: int) -> list[int]:
    """The processes that one has started, and theirs."""
    try:
        texts = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):
        return []
    own = [int(child) for children in texts for child in children]
    return own + [grandchild for child in own for grandchild in children(child)]


def workers_of(folder: Path) -> list[int]:
    """Workers that have written to a log under a folder of runs."""
    logs = [path.read_text(errors="replace") for path in folder.rglob("*.log")]
    return [int(pid) for text in logs for pid in re.findall(r"^# \S+ process (\d+)$", text, re.MULTILINE)]
