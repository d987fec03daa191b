"""5,000 records: the page is written in 10 s of one processor, and answers within 200 ms."""

import resource
import subprocess
import sys

import pytest

from tests.speed.leaderboard import fill

pytestmark = pytest.mark.browser
WRITTEN, ANSWERED, SIZE = 10.0, 200.0, 15_000_000  # seconds, milliseconds, bytes
PROGRAM = """
import sys
from pathlib import Path
from benchmark.leaderboard import write_leaderboard
write_leaderboard(Path(sys.argv[1]), "laptop", ["html"], Path(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page, and the processor's seconds that it took: other work on the machine moves the clock."""
    folder = tmp_path_factory.mktemp("many")
    fill(folder / "results", 5000)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", PROGRAM, str(folder / "results"), str(folder)], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return folder / "leaderboard.html", after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_page_of_5000_records_is_written_in_time(written):
    path, seconds = written
    assert seconds <= WRITTEN and path.stat().st_size <= SIZE


# What is done, and what is then true. The best of three counts: other work on the machine delays a page.
ACTIONS = {
    "sort": (
        "document.querySelectorAll('#board .tabulator-col button.head')[1].click()",
        "document.querySelector('#board [aria-sort]:not([aria-sort=none])')",
    ),
    "filter by name": (
        "const s = document.getElementById('search'); s.value = 'fno'; s.dispatchEvent(new Event('input'))",
        "document.querySelectorAll('#board .tabulator-row .method').length === 1",
    ),
    "filter by dataset": (
        "document.getElementById('datasets-kolmogorov').click()",
        "document.querySelectorAll('#board .tabulator-col-group').length === 1",
    ),
    "hide intervals": (
        "document.getElementById('intervals').click()",
        "!document.querySelector('#board .place .interval').offsetHeight",
    ),
    "change the metric": (
        "const m = document.getElementById('metric'); m.selectedIndex = 1; m.dispatchEvent(new Event('change'))",
        "document.getElementById('metric-note').textContent.includes('not tested')",
    ),
    "open a cell": (
        "document.querySelector('[data-cell]').click()",
        "document.getElementById('cell').open && document.getElementById('command')",
    ),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_the_page_answers_at_once(visit, written, action):
    act, done = ACTIONS[action]
    times = []
    for _ in range(3):
        page = visit(written[0])
        times.append(
            page.evaluate(
                f"""async () => {{
                  const drawn = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                  await drawn();
                  const start = performance.now();
                  {act};
                  while (!({done}) && performance.now() - start < 5000) await drawn();
                  await drawn();
                  return performance.now() - start;
                }}"""
            )
        )
    print(f"{action}: {min(times):.0f} ms")
    assert min(times) <= ANSWERED, times
