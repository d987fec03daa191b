"""What happened during a fit: one JSON object per line in `log.jsonl`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Self


class TrainingLog:
    """Lines of steps after `step` belong to work that was lost with a kill; they are removed. No folder: no log."""

    def __init__(self, folder: Path | None, step: int):
        self.file = None
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "log.jsonl"
        _drop_after(path, step)
        self.file = path.open("a", encoding="utf-8")

    def write(self, step: int, **values: Any) -> None:
        if self.file is not None:
            self.file.write(json.dumps({"step": step, **values}) + "\n")
            self.file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of a log; a last line that a kill cut short is left out."""
    path = folder / "log.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def _drop_after(path: Path, step: int) -> None:
    kept = [row for row in read_log(path.parent) if row["step"] <= step]
    part = path.with_suffix(".part")
    part.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    os.replace(part, path)
