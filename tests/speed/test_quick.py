"""Every script of this folder runs at its tiny size: nothing about time, only that it still runs."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
SCRIPTS = sorted({path.stem for path in FOLDER.glob("*.py")} - {"__init__", "measure", "test_quick"})


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_runs(script):
    command = [sys.executable, "-m", f"tests.speed.{script}", "--quick"]
    ended = subprocess.run(command, cwd=FOLDER.parents[1], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0 and ended.stdout, ended.stderr[-2000:]
