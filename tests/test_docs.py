"""Links in the documents lead somewhere, and the README's table is what the records say.

`python -m tests.test_docs` writes the table anew.
"""

import re
from pathlib import Path

import pytest

from benchmark.leaderboard.names import DATASETS, METHODS, ordered
from benchmark.leaderboard.text import number
from benchmark.records import read_record, record_paths

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"(<!-- table -->\n).*?(<!-- end of table -->)", re.DOTALL)
TASKS = ("cont_3", "fwd_full")
TRAJECTORIES = 32  # of the test set


def documents() -> list[Path]:
    top = {"benchmark", "datasets", "methods", "tasks", "tests", "results"}
    return sorted(p for p in [*ROOT.glob("*.md"), *(q for t in top for q in (ROOT / t).rglob("*.md"))])


def table(results: Path = ROOT / "results") -> str:
    """Methods down, datasets x a few tasks across: the mean error in percent, or the state.

    A star: not all frames, or not all test trajectories, are scored.
    """
    cells = {}
    for path in record_paths(results, "laptop"):
        record = read_record(path)
        cell = record["cell"]
        if cell["seed"] == 0:
            cells[cell["method"], cell["dataset"], cell["task"]] = shown(record)
    datasets = ordered({d for _, d, _ in cells}, DATASETS)
    columns = [(d, t) for d in datasets for t in TASKS]
    lines = [["method", *(f"{d} {t}" for d, t in columns)], ["---", *["--:"] * len(columns)]]
    for method in ordered({m for m, _, _ in cells}, METHODS):
        lines.append([method, *(cells.get((method, d, t), "missing") for d, t in columns)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def shown(record: dict) -> str:
    if record["state"] != "done":
        return "-"
    score = record["metrics"]["rel_l2"]
    part = record["frames"] is not None or len(score["values"]) < TRAJECTORIES
    return number(score["mean"]) + "*" * part


@pytest.mark.parametrize("path", documents(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_within_the_repository(path):
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text())
    missing = [t for t in targets if not (path.parent / t).exists()]
    assert not missing


def test_the_readme_table_is_what_the_records_say():
    found = BLOCK.search(README.read_text())
    assert found and found.group(0) == f"{found.group(1)}{table()}{found.group(2)}"


if __name__ == "__main__":
    README.write_text(BLOCK.sub(lambda m: f"{m.group(1)}{table()}{m.group(2)}", README.read_text()))
