"""What a plugin is known by in a key: the sha256 of its source, so that an edited one is stale and never silently old.

Of a file given with `--plugin` it is the file; of an installed package all its Python files, since any of them may
change what a method does; of a single module that module. Other packages that a plugin imports do not count.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable
from functools import cache
from pathlib import Path

UNKNOWN = "unknown"  # a module without a source file


def file_source(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def module_source(module: str) -> str:
    """Of the package that a module belongs to, or of the module itself where it stands alone."""
    top = module.partition(".")[0]
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return UNKNOWN
    if spec is None:
        return UNKNOWN
    if spec.submodule_search_locations is not None:
        return _folders_source(map(Path, spec.submodule_search_locations))
    return file_source(Path(spec.origin)) if spec.origin and Path(spec.origin).is_file() else UNKNOWN


def _folders_source(folders: Iterable[Path]) -> str:
    """Names and contents, in the order of names, wherever the package is installed."""
    files = sorted((str(path.relative_to(folder)), path) for folder in folders for path in folder.rglob("*.py"))
    total = hashlib.sha256()
    for name, path in files:
        total.update(f"{name} {file_source(path)}\n".encode())
    return total.hexdigest() if files else UNKNOWN
