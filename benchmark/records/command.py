"""The command that makes a cell's record, as one would type it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmark.records.cell import Cell

USUAL = {"--profile": "laptop", "--seed": "0", "--output": "results", "--runs": "runs"}  # what `run` does untold


def run_command(
    cell: Cell,
    changes: Mapping[str, Any] | None = None,
    results: Path = Path("results"),
    runs: Path = Path("runs"),
    options: tuple[str, ...] = (),
    verb: str = "run",
) -> str:
    """`changes`: those of a variant, as its record has them."""
    told = {"--profile": cell.profile, "--seed": str(cell.seed), "--output": str(results), "--runs": str(runs)}
    words = ["--method", cell.method, "--task", cell.task, "--dataset", cell.dataset]
    words += [word for option, value in told.items() if value != USUAL[option] for word in (option, value)]
    for name, value in (changes or {}).items():
        words += [name, str(value)] if name.startswith("--") else ["--set", f"{name}={json.dumps(value)}"]
    words += ["--name", cell.variant] if cell.variant else []
    return f"python -m benchmark {verb} {shlex.join([*words, *options])}"
