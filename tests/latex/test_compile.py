"""LaTeX tables compile without a warning that somebody would have to mend, and none is wider than the page."""

import re
import shutil
import subprocess

import pytest

from benchmark.leaderboard import read_leaderboard, render
from benchmark.leaderboard.names import known
from benchmark.leaderboard.shape import Shape, Suite
from tests.benchmark.leaderboard.synthetic import Store

pytestmark = pytest.mark.latex
PAGE = r"""\documentclass{article}
\usepackage{amssymb,booktabs}
\begin{document}
\input{tables}
\end{document}
"""
HOSTILE = r"50 % & more_or_less #1 ~ ^ \input{/etc/passwd} $x$ {unbalanced"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Every method of the suite on every task and dataset, some failed with a hostile reason."""
    store = Store(tmp_path_factory.mktemp("results"), "smoke")
    for m, method in enumerate(known("methods")):
        for d, dataset in enumerate(known("datasets")):
            for t, task in enumerate(known("tasks")):
                if (m + d + t) % 7 == 0:
                    store.empty(method, "unsupported", HOSTILE, task, dataset)
                else:
                    store.done(method, [10.0 + m + t, 12.5 + d, 100.0], task, dataset)
    return store.results


METHODS = ("pinn", "fno", "deeponet", "diffusionpde_ext", "shu", "videopde_unified", "ablation_hierarchical")
SUITE = Suite("mine", "Mine", METHODS, ("fwd_full",), ("navier_stokes",), capabilities=True)
SHAPES = {
    "plain": Shape(),
    "intervals": Shape(intervals=True),
    "ids": Shape(names="id"),
    "capabilities": Shape(suite=SUITE, intervals=True),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_tables_compile_and_fit_the_page(results, tmp_path, shape):
    assert shutil.which("pdflatex"), "apt-get install texlive-latex-base texlive-latex-recommended"
    (tmp_path / "page.tex").write_text(PAGE)
    (tmp_path / "tables.tex").write_text(render(read_leaderboard(results, "smoke", shape=shape), "latex"))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    for _ in range(2):  # labels are known after the first
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stdout[-2000:]
    log = (tmp_path / "page.log").read_text(errors="replace")
    assert "multiply defined" not in log and "undefined" not in log.lower().replace("undefined references", "")
    wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide\)", log)]
    assert max(wide, default=0) < 1, wide
    assert (tmp_path / "page.pdf").stat().st_size > 20_000
