"""What a verb has made, on stdout or in files: with --json the files' names in one document."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark.records.files import write_text


def show_texts(texts: Mapping[str, str], folder: Path | None, as_json: bool) -> None:
    """Texts by the names of their files; without a folder they are printed."""
    if folder is None:
        sys.stdout.writelines(texts.values())
        return
    for name, text in texts.items():
        write_text(folder / name, text)
    show_files([folder / name for name in texts], as_json)


def show_files(files: Sequence[Path], as_json: bool) -> None:
    found = [str(file) for file in files]
    print(json.dumps({"files": found}, indent=1) if as_json else "\n".join(found))
