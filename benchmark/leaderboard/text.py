"""The words and numbers that every format shares."""

from __future__ import annotations

from collections import defaultdict

from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.names import ordered
from benchmark.leaderboard.overview import Overview, Spread

ALIKE = "†"
DASH = "—"
LEGEND = (
    "Relative l2 error of the whole video in percent, mean over test trajectories (and seeds); lower is better.",
    "Best: the lowest error among learned methods (bold); second: underlined; "
    f"{ALIKE}: not distinguishable from the best (paired test on the same trajectories, Holm-corrected, 5 % level).",
    "References (floor and ceiling) stand above the learned methods and do not compete with them; "
    "in italics: the best reference where no learned method has a lower error.",
    f"{DASH}: missing, no record. failed, timeout, oom, unsup. (unsupported): no number, the letter gives the reason. "
    "A number with a letter has a note; a number marked 'not ranked' takes no part in the comparison.",
)


def title(board: Leaderboard) -> str:
    return f"Leaderboard, profile {board.profile}"


def heading(board: Leaderboard) -> list[str]:
    """What must be known before any number is read."""
    sentences = [
        f"All numbers are of profile {board.profile}. Numbers of different profiles are never comparable: grids, set "
        "sizes and training budgets differ.",
        *_sources(board),
    ]
    if not board.records:
        sentences.append(f"There is no readable record of profile {board.profile}.")
    return sentences


def sources(board: Leaderboard) -> dict[str, list[str]]:
    """Data source -> datasets scored on it."""
    found = defaultdict(set)
    for record in board.records:
        if record.state == "done":
            found[record.source].add(record.cell.dataset)
    return {source: ordered(found[source], "datasets") for source in sorted(found)}


def _sources(board: Leaderboard) -> list[str]:
    found = sources(board)
    sentences = [f"Data source {source}: {', '.join(datasets)}." for source, datasets in found.items()]
    if "generated" in found:
        sentences.append(
            "Generated data comes from this suite's own solvers and is not the official data: its numbers are not "
            "comparable to published ones."
        )
    return sentences


def overview_notes(overview: Overview) -> list[str]:
    """What the overview's reader must know."""
    informed = [one.method for one in overview.summaries if one.uses_equation]
    equation = [f"These use the equation beside the data: {', '.join(informed)}."] if informed else []
    return [OVERVIEW_NOTE, *equation, *shared_cells(overview)]


def shared_cells(overview: Overview) -> list[str]:
    """On how many cells the ranks stand."""
    return [
        f"Mean rank and ratio of the {count} {block} with a ranked number use the {columns} cells (dataset x task) "
        "that all of them have."
        if columns
        else f"Mean rank and ratio: the {count} {block} share no cell, so there is none."
        for block, (count, columns) in overview.shared.items()
        if count
    ]


OVERVIEW_HEADER = (
    "method",
    "done",
    "failed",
    "unsupported",
    "missing",
    "seeds",
    "mean rank",
    "ratio to best",
    "parameters",
    "fit s",
    "predict s",
    "evaluations",
    "peak MB",
)
OVERVIEW_NOTE = (
    "Cells are datasets x tasks; failed includes timeout and oom. Ratio: geometric mean of error over the lowest error "
    "of the block. Costs are medians over done cells; predict s and evaluations are for one trajectory."
)


def overview_rows(overview: Overview) -> list[list[str]]:
    return [
        [
            one.method,
            *(str(count) for count in one.states.values()),
            DASH if one.seeds is None else "-".join(str(n) for n in sorted(set(one.seeds))),
            DASH if one.mean_rank is None else f"{one.mean_rank:.2f}",
            DASH if one.ratio is None else f"{one.ratio:.2f}",
            *(_cost(name, spread) for name, spread in one.costs.items()),
        ]
        for one in overview.summaries
    ]


def _cost(name: str, spread: Spread | None) -> str:
    if spread is None:
        return DASH
    if spread.median == int(spread.median) and name in ("parameters", "evaluations"):
        return str(int(spread.median))
    return number(spread.median)


def number(value: float) -> str:
    """Three significant digits, without an exponent where it can be helped."""
    size = abs(value)
    if size == 0 or 1e-3 <= size < 1e6:
        decimals = 0 if size >= 99.95 else 1 if size >= 9.995 else 2 if size >= 0.1 or size == 0 else 4
        return f"{value:.{decimals}f}"
    return f"{value:.1e}"


def letter(index: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    head, tail = divmod(index, 26)
    return (letter(head - 1) if head else "") + chr(ord("a") + tail)
