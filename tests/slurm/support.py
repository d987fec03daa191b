"""The command line, and Slurm's own commands, as a user types them."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmark.cli import main
from benchmark.records.files import read_record, record_paths
from benchmark.records.record import Record
from tests.benchmark.support import TOY, comparable

LONG = 180.0  # seconds that anything may take on a busy machine
CLUSTER = "cpus: 1\nmem: 1500M\ntime: 10m\n"


@dataclass
class Desk:
    """A user's folders, and what the user can see."""

    folder: Path
    capsys: Any

    def cluster(self, text: str = "") -> Path:
        path = self.folder / "cluster.yaml"
        path.write_text(CLUSTER + text)
        return path

    def arguments(self, *names: str, on: str = "slurm", executor: str = "slurm") -> list[str]:
        """Of `run`; `on`: a folder for results and runs of its own, so that a local run can be compared."""
        paths = {"--output": self.folder / on / "results", "--runs": self.folder / on / "runs",
                 "--data": self.folder / "data"}  # fmt: skip
        given = [str(part) for pair in paths.items() for part in pair]
        slurm = ["--executor", "slurm", "--cluster", str(self.folder / "cluster.yaml")]
        return ["run", *names, "--profile", "smoke", "--device", "cpu", *given, *(slurm if executor == "slurm" else [])]

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        code = main(arguments)
        return code, *self.capsys.readouterr()

    def submitted(self, arguments: list[str]) -> dict[str, Any]:
        code, out, err = self(*arguments, "--no-wait", "--json")
        assert code == 0, err
        return json.loads(out)

    def status(self) -> dict[str, dict[str, Any]]:
        """By method and task."""
        root = self.folder / "slurm"
        code, out, err = self("status", "--results", f"{root}/results", "--runs", f"{root}/runs", "--json")
        assert code == 0 and not err, err
        return {f"{row['cell']['method']} {row['cell']['task']}": row for row in json.loads(out)["cells"]}

    def states(self) -> dict[str, str]:
        return {name: row["state"] for name, row in self.status().items()}

    def records(self, on: str) -> dict[str, Record]:
        """Without what differs from run to run, and without the commit, which may be made meanwhile."""
        found = (read_record(path) for path in record_paths(self.folder / on / "results"))
        return {f"{r.cell.method} {r.cell.task}": _without_commit(comparable(r)) for r in found}


def toy(methods: str, tasks: str) -> list[str]:
    return ["--method", methods, "--task", tasks, "--dataset", "toy", "--plugin", str(TOY)]


def slow(folder: Path) -> list[str]:
    """The slow method, on a dataset of the suite."""
    return ["--method", "slow_unet", "--task", "cont_3", "--plugin", str(Path(__file__).with_name("slow.py"))]


def until(condition: Callable[[], Any], seconds: float = LONG) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.3)
    return found


def shell(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def restarts(job: str) -> int:
    """How often Slurm has put a job back into the queue."""
    words = shell("scontrol", "show", "job", job, "--oneliner").split()
    return next(int(word.removeprefix("Restarts=")) for word in words if word.startswith("Restarts="))


def lengthened(job: str) -> bool:
    """Give a job ten minutes, unless it is just on its way back into the queue."""
    return subprocess.run(["scontrol", "update", f"jobid={job}", "timelimit=10"], capture_output=True).returncode == 0


def _without_commit(record: Record) -> Record:
    kept = {name: value for name, value in record.provenance.items() if name not in ("commit", "dirty")}
    return replace(record, provenance=kept)
