"""Who may import whom: `benchmark`'s values are leaves; datasets, tasks and methods never see each other."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LEAVES = {"benchmark.core", "benchmark.operators", "benchmark.equation"}
FILES = sorted(p for package in ("datasets", "tasks", "methods") for p in (ROOT / package).rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Modules of ours that a file imports, also inside functions and type checks."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return {n for n in names if n.split(".")[0] in ("benchmark", "datasets", "tasks", "methods")}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_folders_import_only_themselves_and_the_leaves(path):
    own = path.relative_to(ROOT).parts[0]
    foreign = {n for n in imported(path) if n.split(".")[0] != own}
    assert foreign <= LEAVES


@pytest.mark.parametrize("leaf", ["core", "operators", "equation"])
def test_leaves_import_only_leaves(leaf):
    assert imported(ROOT / "benchmark" / f"{leaf}.py") <= LEAVES
