"""Time of a leaderboard over 5,000 records: `python -m tests.speed.leaderboard`.

Bound: 2 s of one processor for every table, 10 s for the page, from the start of the process to its end. A record has
30 metrics of 32 trajectories; all are of one profile (18 methods x 8 tasks x 5 datasets x 7 seeds, the first 5,000).
csv and json copy every metric of every record, 150,000 rows. Half of the time goes into reading 61 MB of JSON.

The processor's seconds count, as other work moves the clock; it also slows caches, by a third where two cores are busy.
"""

from __future__ import annotations

import itertools
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmark.leaderboard import FORMATS
from benchmark.leaderboard.names import known
from benchmark.records.cell import Cell
from benchmark.records.files import to_text
from benchmark.records.record import Record
from tests.benchmark.leaderboard.synthetic import COST, PROVENANCE, about, score
from tests.speed.measure import parser, report, sized, warn_if_busy

BOUNDS = {format: 10.0 if format == "html" else 2.0 for format in FORMATS}
RECORDS, SECONDARY, TRAJECTORIES = sized(5000, 60), 29, 32
SETTINGS = {part: {f"key_{i}": 0.5 * i for i in range(12)} for part in ("dataset", "evaluation", "method", "task")}
MACHINE = {"packages": {f"package_{i}": "1.2.3" for i in range(8)}, "hardware": {"cpu": "a processor", "cores": 2}}
PROGRAM = """
import sys
from pathlib import Path
from benchmark.leaderboard import write_leaderboard
print(len(write_leaderboard(Path(sys.argv[1]), "laptop", [sys.argv[2]], None).text))
"""


def fill(results: Path, records: int = RECORDS) -> None:
    """Plain writes: the records need not survive a power cut."""
    cells = itertools.product(known("methods")[:18], known("tasks"), known("datasets"), range(7))
    draw = random.Random(0)
    for number, (method, task, dataset, seed) in enumerate(itertools.islice(cells, records)):
        cell = Cell(method, task, dataset, "laptop", seed)
        values = [draw.uniform(1.0, 10.0) for _ in range(TRAJECTORIES)]
        metrics = {"rel_l2": score(values)} | {
            f"metric_{i:02d}": score(values[i:] + values[:i]) for i in range(SECONDARY)
        }
        parts = {"settings": SETTINGS, "metrics": metrics, "cost": COST, "provenance": PROVENANCE | MACHINE}
        record = Record(cell, "done", about=about(method), **parts)
        if number % 50 == 0:
            record = Record(cell, "unsupported", f"reason {number % 7}", about=about(method), provenance=PROVENANCE)
        path = cell.path(results)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(to_text(record))


def seconds(results: Path, format: str) -> tuple[float, float]:
    """Wall and processor time of a whole process."""
    start, used = time.perf_counter(), _processor()
    subprocess.run([sys.executable, "-c", PROGRAM, str(results), format], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start, _processor() - used


def _processor() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser(__doc__).parse_args()
    warn_if_busy()
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder))
        runs = {format: [seconds(Path(folder), format) for _ in range(sized(3, 1))] for format in FORMATS}
    print(f"{RECORDS} records, seconds by the clock: {', '.join(f'{f} {min(r)[0]:.2f}' for f, r in runs.items())}")
    report([(f"{f}, processor seconds", min(s for _, s in r), f"<= {BOUNDS[f]:g}") for f, r in runs.items()])


if __name__ == "__main__":
    main()
