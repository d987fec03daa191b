"""The example in CONTRIBUTING.md works as printed."""

import hashlib
import re
from pathlib import Path

from benchmark.cli import main

TEXT, README = ((Path(__file__).parent.parent / name).read_text() for name in ("CONTRIBUTING.md", "README.md"))


def test_the_example_passes_the_gate_and_runs(tmp_path, capsys):
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert all(f"{len(code.splitlines())} lines" in text for text in (TEXT, README))
    path = tmp_path / "tiny_cnn.py"
    path.write_text(code)
    data = ["--data", str(tmp_path / "data")]
    assert main(["check", str(path), *data]) == 0, capsys.readouterr().out
    assert "all checks passed" in capsys.readouterr().out
    assert main(["describe", "tiny_cnn", "--plugin", str(path)]) == 0
    said = capsys.readouterr().out
    assert "parameters: known after a fit" in said
    assert f"sha256 {hashlib.sha256(code.encode()).hexdigest()} of its source" in said
    folders = ["--output", str(tmp_path / "results"), "--runs", str(tmp_path / "runs"), *data]
    request = ["run", "--method", "tiny_cnn,nearest", "--task", "cont_3", "--profile", "smoke", "--plugin", str(path)]
    assert main([*request, *folders]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    assert last.endswith("--include tiny_cnn") and "leaderboard --include tiny_cnn" in TEXT
    assert main(last.split()[4:]) == 0 and "| tiny_cnn " in capsys.readouterr().out
