"""10,000 bad command lines, in this process: words and an exit code, never a traceback, and nothing is touched.

FUZZ_SCALE=10 tries ten times as many; FUZZ_SEED=1 tries others.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import traceback
from pathlib import Path

import pytest

from benchmark.cli import main
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from tests.benchmark.leaderboard.synthetic import done
from tests.fuzz.command_lines import Generator

SCALE, SEED = int(os.environ.get("FUZZ_SCALE", 1)), int(os.environ.get("FUZZ_SEED", 0))
LINES, PARTS = 10_000 * SCALE, 10
FILES = {
    "broken.yaml": "a: [1,",
    "bomb.yaml": "a: &a [x, x]\nb: [*a, *a]",
    "broken.py": "def (",
    "empty.py": "",
    "raises.py": "raise RuntimeError('no')",
    "exits.py": "import sys; sys.exit(3)",
    "suite.yaml": "methods: [fno]\ntasks: [cont_1]\ndatasets: [navier_stokes]\nseeds: [one]",
}


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """A folder with some records and bad files, which is where the command line runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BENCHMARK_DATA", str(tmp_path / "data"))
    for method in ("mean", "fno", "kriging"):
        cell = Cell(method, "cont_1", "navier_stokes", "smoke", 0)
        write_record(cell.path(tmp_path / "results"), done(cell, [1.0, 2.0]))
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    return tmp_path


def digest(folder: Path) -> str:
    """Of every name and byte."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found.update(f"{path.relative_to(folder)}\0".encode(errors="surrogateescape"))
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


def outcome(line: list[str]) -> tuple[object, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code: object = main(line)
        except SystemExit as end:  # argparse
            code = end.code
        except BaseException:
            code = traceback.format_exc()
    return code, out.getvalue(), err.getvalue()


def problem(line: list[str], code: object, out: str, err: str) -> str | None:
    if code not in (0, 1, 2, 130):
        return f"{line}\n{code}"
    if "Traceback" in err + out:
        return f"{line}: a traceback in what it says"
    if code in (1, 2) and not err.strip() and not out.strip():
        return f"{line}: fails without a word"
    if "--json" in line and code == 0:
        try:
            json.loads(out)
        except ValueError:
            return f"{line}: not one JSON document: {out[:200]!r}"
    if "--json" in line and code == 2 and out.strip():
        return f"{line}: usage on stdout: {out[:200]!r}"
    return None


@pytest.mark.faults
@pytest.mark.parametrize("part", range(PARTS))
def test_bad_command_lines_end_in_words_and_touch_nothing(place, part):
    generator, before = Generator(place), digest(place / "results")
    seeds = range(SEED * LINES + part, (SEED + 1) * LINES, PARTS)
    found = [p for seed in seeds if (p := problem(line := generator.line(seed), *outcome(line)))]
    assert found == [], f"{len(found)} of {len(seeds)}:\n" + "\n".join(found[:20])
    assert digest(place / "results") == before


def test_some_bad_command_lines_by_default(place):
    generator, before = Generator(place), digest(place / "results")
    found = [p for seed in range(200) if (p := problem(line := generator.line(seed), *outcome(line)))]
    assert found == [], "\n".join(found[:20])
    assert digest(place / "results") == before
