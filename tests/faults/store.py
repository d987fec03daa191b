"""The folders of a run, and what must be the same in them after any disturbance.

Compared to the byte: records less timings, time stamps and commit (`record_text`), data files, fitted states,
predictions, pages and tables. By name alone: logs, checkpoints (whose steps follow the clock) and the notes of a fit
(`fit.json`, `begun.json`), which hold seconds. A name that one tree has and the other lacks is debris, or a loss;
`elapsed.json` depends on how long a fit takes.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from benchmark.records.files import read_record, record_paths, to_text
from benchmark.records.record import Record
from tests.benchmark.support import comparable

BY_NAME = re.compile(r"\.log$|\.lock$|log\.jsonl$|begun\.json$|fit\.json$|/checkpoint-")
PASSING = ("elapsed.json",)
STEP = re.compile(r"checkpoint-\d+")


@dataclass(frozen=True)
class Store:
    root: Path

    @property
    def results(self) -> Path:
        return self.root / "results"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def page(self) -> Path:
        return self.root / "page"

    def running(self, *more: object) -> list[object]:
        """Arguments of `run`."""
        folders = ["--output", self.results, "--runs", self.runs, "--data", self.data]
        return ["run", *folders, "--profile", "smoke", "--device", "cpu", *more]

    def records(self) -> dict[str, Record]:
        return {path.relative_to(self.results).as_posix(): read_record(path) for path in record_paths(self.results)}

    def states(self) -> set[str]:
        return {record.state for record in self.records().values()}

    def tree(self) -> dict[str, str]:
        """Name -> digest of what is compared; "" for what is compared by name."""
        files = (path for part in (self.results, self.runs, self.data, self.page) for path in part.rglob("*"))
        names = {path: path.relative_to(self.root).as_posix() for path in files if path.is_file()}
        return {
            STEP.sub("checkpoint", name): "" if BY_NAME.search(name) else _digest(path, name.startswith("results/"))
            for path, name in names.items()
            if path.name not in PASSING
        }


def _digest(path: Path, is_record: bool) -> str:
    if is_record and path.suffix == ".json" and not path.name.startswith("."):
        return hashlib.sha256(record_text(read_record(path)).encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def record_text(record: Record) -> str:
    """The file of a record, less what may differ from run to run; others may commit while these tests run."""
    plain = comparable(record)
    kept = {name: value for name, value in plain.provenance.items() if name not in ("commit", "dirty")}
    return to_text(replace(plain, provenance=kept))
