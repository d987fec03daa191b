"""Where data lies, as the command line has it."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder(given: str | Path | None) -> Path:
    return Path(given or os.environ.get("BENCHMARK_DATA") or "data")
