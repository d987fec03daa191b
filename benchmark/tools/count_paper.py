"""Bring `planning/counts.json` up to date: what the suite's methods count of themselves at profile `paper`.

    python -m benchmark.tools.count_paper

Counts only what is missing, and goes on where it was stopped; counts of what is no longer there are dropped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from benchmark.planning import counts
from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolved, Resolver
from benchmark.records.cell import Cell
from benchmark.records.files import write_json

FIRST = "cont_3"  # of the tasks that count as one


def paper_cells() -> Iterator[Resolved]:
    """Every cell of the suite's learned methods that is supported at profile `paper`."""
    resolver = Resolver.of(Request(("all",), ("all",), ("all",), profile="paper"))
    tasks = sorted(resolver.names("tasks"), key=lambda task: task != FIRST)
    for method in resolver.names("methods"):
        if resolver.method(method).kind == "learned":
            for dataset in resolver.names("datasets"):
                cells = (resolver.resolve(Cell(method, task, dataset, "paper", 0)) for task in tasks)
                yield from (cell for cell in cells if cell.unsupported is None)


def questions(cell: Resolved) -> dict[str, Callable[[], Any]]:
    """The counts that a plan of this cell asks for, by their key; memory, which takes longest to count, at the end."""
    evaluation = cell.identity["evaluation"]
    videos = evaluation["trajectories"] * evaluation["samples"]
    fit = {} if cell.method.scope == "instance" else {counts.fit_key(cell): partial(counts.fit_work, cell)}
    return fit | {
        counts.prediction_key(cell): partial(counts.prediction_work, cell),
        counts.memory_key(cell, videos): partial(counts.memory, cell, videos),
    }


def missing(cells: Iterable[Resolved]) -> dict[str, Callable[[], Any]]:
    """What the file lacks: first the work of one task of each method and dataset, then of all, then the memory."""
    cells = sorted(cells, key=lambda cell: cell.cell.task != FIRST)
    found = {key: ask for cell in cells for key, ask in questions(cell).items() if key not in counts.stored()}
    return dict(sorted(found.items(), key=lambda item: item[0].startswith("memory")))


def main() -> None:
    cells = list(paper_cells())
    known = {key for cell in cells for key in questions(cell)}
    kept = {key: value for key, value in counts.stored().items() if key in known}
    todo = missing(cells)
    for i, (key, ask) in enumerate(todo.items()):
        ask()
        write_json(counts.STORED, kept | counts.counted())
        print(f"{i + 1}/{len(todo)} {key}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
