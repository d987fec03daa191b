"""Who may import whom: `ARCHITECTURE.md` draws it, this keeps it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = ("benchmark", "datasets", "tasks", "methods")

# Each folder of `benchmark` and those before it that it may import, besides itself.
FLOW = {
    "core": set(),
    "records": set(),
    "scoring": {"core"},
    "planning": {"core", "records"},
    "running": {"core", "records", "scoring", "planning"},
    "published": {"records", "scoring"},
    "leaderboard": {"records", "scoring", "planning", "published"},
    "figures": {"records", "scoring", "planning", "leaderboard"},
    "verify": {"records", "scoring", "planning", "running", "leaderboard"},
    "tools": {"core", "records", "scoring", "planning", "running"},
    "api": {"core", "records", "scoring", "planning", "running", "leaderboard", "figures"},
    "cli": {
        "core",
        "records",
        "scoring",
        "planning",
        "running",
        "published",
        "leaderboard",
        "figures",
        "verify",
        "tools",
    },
}
JOINS = {"planning", "running", "tools", "api", "cli"}  # may import datasets, tasks and methods, by name


def imported(path: Path) -> set[str]:
    """Modules of ours that a file imports, also inside functions and type checks."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] in OURS}


def files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", files("datasets", "tasks", "methods"), ids=lambda p: str(p.relative_to(ROOT)))
def test_folders_import_only_themselves_core_and_errors(path):
    own = path.relative_to(ROOT).parts[0]
    foreign = {name for name in imported(path) if name.split(".")[0] != own}
    assert all(name.startswith(("benchmark.core", "benchmark.errors")) for name in foreign), foreign


@pytest.mark.parametrize("path", files("benchmark"), ids=lambda p: str(p.relative_to(ROOT)))
def test_benchmark_imports_follow_the_flow(path):
    folder = path.relative_to(ROOT).parts[1]
    if folder in ("__init__.py", "__main__.py"):
        return
    allowed = set() if folder == "errors.py" else FLOW[folder] | {folder, "errors"}
    for name in imported(path):
        top, _, rest = name.partition(".")
        assert rest.split(".")[0] in allowed if top == "benchmark" else folder in JOINS, name


def test_every_folder_has_its_place():
    folders = {p.name for p in (ROOT / "benchmark").iterdir() if (p / "__init__.py").exists()}
    assert folders == set(FLOW)
