"""Nothing that we read can run code, so nothing reads pickles: not ours, not torch's, not numpy's.

Two places hand pickles to others, never files from anybody: `multiprocessing` between a process and those it starts
itself (`datasets/generate.py`), and submitit, which writes the job that it runs into its own folder (`running/slurm/`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import benchmark

ROOT = Path(benchmark.__file__).parents[1]
SOURCES = [path for part in ("benchmark", "datasets", "methods", "tasks") for path in (ROOT / part).rglob("*.py")]
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "jsonpickle"}
CALLS = {
    "torch.load", "torch.save", "torch.jit.load", "torch.package", "pd.read_pickle", "pandas.read_pickle",
    "np.fromregex", "numpy.memmap", "eval", "os.system", "os.popen", "yaml.unsafe_load", "yaml.full_load",
}  # fmt: skip
EXEC = {"benchmark/planning/registry.py"}  # runs a plugin that was named
YAML = {"benchmark/planning/plain_yaml.py"}  # with a loader of its own
SUBMITIT = "benchmark/running/slurm"


def name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def dangers(source: str, where: str = "") -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            yield from (f"imports {name}" for name in names if name.partition(".")[0] in MODULES)
            if any(name.partition(".")[0] == "submitit" for name in names) and not where.startswith(SUBMITIT):
                yield "imports submitit, which reads and writes pickles"
        if isinstance(node, ast.Call):
            name, options = name_of(node.func), {key.arg: key.value for key in node.keywords}
            if name in CALLS or (name == "exec" and where not in EXEC) or (name == "yaml.load" and where not in YAML):
                yield f"calls {name}"
            if name.endswith(("np.load", "numpy.load")) and not is_constant(options.get("allow_pickle"), False):
                yield f"calls {name} without allow_pickle=False"
            if is_constant(options.get("allow_pickle"), True) or is_constant(options.get("shell"), True):
                yield f"calls {name} with allow_pickle or shell"


def is_constant(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_source_reads_a_pickle_or_runs_text(path):
    where = path.relative_to(ROOT).as_posix()
    assert [*dangers(path.read_text(encoding="utf-8"), where)] == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from dill import loads", "import torch\ntorch.load('x', weights_only=True)",
        "import numpy as np\nnp.load('x')", "np.load('x', allow_pickle=True)", "exec('1')", "yaml.load('1')",
        "import submitit", "subprocess.run('ls', shell=True)", "eval('1')",
    ],
)  # fmt: skip
def test_the_test_would_see_it(source):
    assert [*dangers(source)]
