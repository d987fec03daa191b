"""Leaderboards of stored records: same records, same bytes. Reads nothing else and never imports torch.

    board = read_leaderboard(results, "laptop")       # records -> Leaderboard; board.problems: what could not be read
    print(render(board, "md"))                        # one of FORMATS as text
    save(board, ["md", "html"], Path("leaderboards"))    # leaderboards/leaderboard.md, leaderboards/leaderboard.html

`write_leaderboard` does all three in one call and hands the problems back with the text or the paths.

    names     the order of names, task families         tables    a family laid out for reading
    collect   files -> records                          text      words and numbers every format shares
    entries   seeds -> one number or a state            markdown, latex, page (html), tidy (csv, json)
    columns   methods side by side: who is best         selection which records enter
    overview  ranks and costs, one line per method      samplers  which rows may be called diffusion
    measure   the metric that is shown                  shape     what somebody wants to see of it all
    display   names as papers print them                capabilities  what methods can be asked
    board     all of it together
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.errors import UserError
from benchmark.leaderboard import latex, markdown, tidy
from benchmark.leaderboard.board import Leaderboard, read_leaderboard
from benchmark.leaderboard.collect import no_collection
from benchmark.leaderboard.entries import Samples
from benchmark.leaderboard.selection import check_include
from benchmark.leaderboard.shape import EVERYTHING, Shape
from benchmark.records.files import write_text

__all__ = ["FORMATS", "Leaderboard", "Written", "read_leaderboard", "render", "save", "write_leaderboard"]


def _page(board: Leaderboard) -> str:
    from benchmark.leaderboard import page  # numpy comes with it

    return page.render(board)


_RENDERERS: dict[str, tuple[str, Callable[[Leaderboard], str]]] = {
    "md": ("md", markdown.render),
    "latex": ("tex", latex.render),
    "csv": ("csv", tidy.render_csv),
    "json": ("json", tidy.render_json),
    "html": ("html", _page),
}
FORMATS = tuple(_RENDERERS)


@dataclass(frozen=True)
class Written:
    """What came of a leaderboard: the text (no folder given) or the files, and which records are not in it.

    `problems`: those that could not be read; `left_out`: a word on those that were not asked for.
    """

    text: str | None
    paths: tuple[Path, ...]
    problems: tuple[str, ...]
    left_out: str = ""


def render(board: Leaderboard, format: str) -> str:
    return _RENDERERS[_known(format)][1](board)


def save(board: Leaderboard, formats: Sequence[str], folder: Path) -> list[Path]:
    """Write `leaderboard.<extension>` for each format, each file whole or not at all."""
    texts = {folder / f"leaderboard.{_RENDERERS[_known(format)][0]}": render(board, format) for format in formats}
    for path, content in texts.items():
        write_text(path, content)
    return list(texts)


@no_collection()
def write_leaderboard(
    results: Path,
    profile: str,
    formats: Sequence[str],
    output: Path | None,
    samples: Samples = "one",
    include: Collection[str] = (),
    shape: Shape = EVERYTHING,
    runs: Path | None = None,
) -> Written:
    """Build the leaderboard once and render each format; without an output folder, the one format asked for as text.

    The page also has the other profiles of `results`, and of the predictions in `runs` what it has room for.
    """
    for format in formats:
        _known(format)
    if output is None and len(formats) != 1:
        raise UserError(f"formats: expected exactly one without an output folder, got {', '.join(formats) or 'none'}")
    board = read_leaderboard(results, profile, samples, include, shape)
    check_include(include, board.others)
    if "html" in formats:
        from benchmark.leaderboard import page

        board = page.with_surroundings(board, results, include, runs)
    if output is None:
        return Written(render(board, formats[0]), (), board.problems, board.left_out)
    return Written(None, tuple(save(board, formats, output)), board.problems, board.left_out)


def _known(format: str) -> str:
    if format not in _RENDERERS:
        raise UserError(f"format: expected one of {', '.join(FORMATS)}, got {format!r}")
    return format
