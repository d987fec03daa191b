"""10,000 bad command lines, in this process: words and an exit code, never a traceback, and nothing is touched.

At least half must get past argparse, and some of every verb. FUZZ_SCALE=10 tries ten times as many; FUZZ_SEED=1 others.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import signal
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmark.cli import main
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from benchmark.records.predictions import predictions_path, write_predictions
from datasets.generate import ensure_data
from datasets.navier_stokes import NavierStokes
from tests.benchmark.figures.made import predictions
from tests.benchmark.leaderboard.synthetic import done
from tests.fuzz.command_lines import Generator, Line
from tests.fuzz.good_lines import GOOD

SCALE, SEED = int(os.environ.get("FUZZ_SCALE", 1)), int(os.environ.get("FUZZ_SEED", 0))
LINES, PARTS = 10_000 * SCALE, 10
LATE = 60  # seconds after which a line counts as one that never ends
STORE = ("results", "runs", "data")
FILES = {
    "broken.yaml": "a: [1,",
    "bomb.yaml": "a: &a [x, x]\nb: [*a, *a]",
    "broken.py": "def (",
    "empty.py": "",
    "raises.py": "raise RuntimeError('no')",
    "exits.py": "import sys; sys.exit(3)",
    "suite.yaml": "methods: [fno]\ntasks: [cont_1]\ndatasets: [navier_stokes]\nseeds: [one]",
}


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    """Some records, kept predictions and data, and bad files."""
    root = tmp_path_factory.mktemp("store")
    for method in ("mean", "fno", "kriging"):
        cell = Cell(method, "cont_1", "navier_stokes", "smoke", 0)
        write_record(cell.path(root / "results"), done(cell, [1.0, 2.0]))
        write_predictions(predictions_path(root / "runs", cell), predictions(method, cell=cell))
    ensure_data(NavierStokes(NavierStokes.profiles["smoke"]), root / "data")
    for name, text in FILES.items():
        (root / name).write_text(text)
    (root / "binary").write_bytes(bytes(range(256)))
    return root


@pytest.fixture
def place(store, tmp_path, monkeypatch) -> Path:
    """Where the command line runs."""
    monkeypatch.chdir(shutil.copytree(store, tmp_path / "place"))
    monkeypatch.setenv("BENCHMARK_DATA", str(tmp_path / "place" / "data"))
    return tmp_path / "place"


def digest(place: Path) -> str:
    """Of every name and byte of the store."""
    found = hashlib.sha256()
    for path in sorted(path for name in STORE for path in (place / name).rglob("*")):
        found.update(f"{path.relative_to(place)}\0".encode(errors="surrogateescape"))
        found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


@dataclass(frozen=True)
class Outcome:
    code: object  # or the traceback
    out: str
    err: str

    @property
    def is_past_argparse(self) -> bool:
        return not self.err.startswith("usage: ")


def outcome(words: list[str]) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), within(LATE):
        try:
            code: object = main(words)
        except SystemExit as end:  # argparse
            code = end.code
        except BaseException:
            code = traceback.format_exc()
    return Outcome(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def within(seconds: int):
    def late(*_):
        raise TimeoutError(f"not over after {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def problem(line: Line, ended: Outcome) -> str | None:
    code, out, err = ended.code, ended.out, ended.err
    if code not in line.codes:
        return f"{line.words}: ends with {code}, not one of {line.codes}: {err[-300:]}"
    if "Traceback" in err + out:
        return f"{line.words}: a traceback in what it says"
    if code in (1, 2) and not err.strip() and not out.strip():
        return f"{line.words}: fails without a word"
    if "--json" in line.words and (code in (0, 1) or out.strip()) and not is_json(out):
        return f"{line.words}: ends with {code}, not one JSON document: {out[:200]!r}, {err[-200:]!r}"
    return None


def is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=lambda name: int(name))  # NaN is none
    except ValueError:
        return False
    return True


def tried(place: Path, seeds: Iterable[int]) -> tuple[Counter[str], Counter[str]]:
    """How many lines of each verb there were, and how many got past argparse; all of them must end well."""
    generator, before = Generator(), digest(place)
    found, lines, past = [], Counter(), Counter()
    for seed in seeds:
        line = generator.line(seed)
        ended = outcome(line.words)
        verb = " ".join(next((words for words in GOOD if tuple(line.words[: len(words)]) == words), ("garbled",)))
        lines[verb] += 1
        past[verb] += ended.is_past_argparse
        found += [p] if (p := problem(line, ended)) else []
    assert found == [], f"{len(found)} of {lines.total()}:\n" + "\n".join(found[:20])
    assert digest(place) == before
    return lines, past


@pytest.mark.faults
@pytest.mark.parametrize("part", range(PARTS))
def test_bad_command_lines_end_in_words_and_touch_nothing(place, part):
    lines, past = tried(place, range(SEED * LINES + part, (SEED + 1) * LINES, PARTS))
    print(f"{lines.total()} lines, {past.total()} past argparse: {dict(past)}")
    assert past.total() >= lines.total() / 2
    assert all(past[" ".join(words)] >= lines.total() // 100 for words in GOOD), past


def test_some_bad_command_lines_by_default(place):
    tried(place, range(200))


@pytest.mark.parametrize("words", GOOD)
def test_what_must_be_refused_is_refused_and_what_is_good_is_not(words, place):
    """Of each verb alone; else a bad ending could pass for another's fault."""
    good = GOOD[words]
    if not good.works:
        assert outcome([*words, *good.line.split()]).code in (0, 1)
    for ending in good.bad:
        ended = outcome([*words, *good.line.split(), *ending.split()])
        assert ended.code == 2 and ended.is_past_argparse, (ending, ended)
