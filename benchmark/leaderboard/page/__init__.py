"""html: one page that opens from disk, without a network, and holds all that there is to see of the records.

    places    the table: entries, marks, every metric        fields    a video as bytes
    details   what is said of a record                       video     those of a cell, at every size
    compute   error against compute                          videos    which of them the page has room for
    claims    what the paper claims                          chunks    what is decoded when somebody looks
    profile   all of that for one profile                    error_scale   on which errors are shown
    render    one file: template, style and scripts

`js/` is the page's own code, a file an idea; `vendor/` are the libraries that it stands on: `vendor/update.py` fetches
them, `vendor/LICENSES.txt` has their terms, which every page carries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from benchmark.leaderboard.board import Leaderboard, read_leaderboard
from benchmark.leaderboard.collect import read_studies
from benchmark.leaderboard.page.chunks import Chunks, as_json
from benchmark.leaderboard.page.profile import profile_json, videos_json
from benchmark.leaderboard.page.render import render_page
from benchmark.records.cell import PROFILES
from benchmark.records.files import record_paths
from benchmark.records.folders import kept_in
from benchmark.records.record import HEADLINE

LARGEST = 15_000_000  # bytes of a page
FRAME = 900_000  # of it that are scripts and style, about


def render(board: Leaderboard) -> str:
    """The board's own profile first, and beside it those that stand in `board.beside`."""
    chunks = Chunks()
    boards = (board, *board.beside)
    profiles = {one.profile: profile_json(one, chunks) for one in boards}
    for one in boards:
        room = LARGEST - FRAME - chunks.size - len(as_json(profiles).encode())
        profiles[one.profile] |= videos_json(one, board.kept, chunks, room)
    return render_page(f"Leaderboard, profile {board.profile}", {"shown": board.profile, "profiles": profiles}, chunks)


def with_surroundings(
    board: Leaderboard, results: Path, include: Collection[str] = (), runs: Path | None = None
) -> Leaderboard:
    """With what a page shows beside the board: the other profiles, studies, and where predictions lie."""
    kept = runs and kept_in(runs, results)
    others = tuple(_with_studies(replace(other, kept=kept), results) for other in _others(board, results, include))
    return _with_studies(replace(board, kept=kept, beside=others), results)


def _with_studies(board: Leaderboard, results: Path) -> Leaderboard:
    studies, problems = read_studies(results, board.profile)
    return replace(board, studies=studies, problems=board.problems + problems)


def _others(board: Leaderboard, results: Path, include: Collection[str]) -> Iterator[Leaderboard]:
    """None if somebody asked for a part of this one."""
    if board.shape.is_narrow or board.shape.measure.name != HEADLINE:
        return
    for profile in PROFILES:
        if profile != board.profile and any(record_paths(results, profile)):
            yield read_leaderboard(results, profile, board.samples, include, board.shape)
