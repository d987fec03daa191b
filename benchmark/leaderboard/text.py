"""The words and numbers that every format shares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.capabilities import HEADER, NOTE, capability_rows
from benchmark.leaderboard.entries import Samples
from benchmark.leaderboard.measure import Measure, number
from benchmark.leaderboard.names import ordered
from benchmark.leaderboard.overview import Overview, Ranking, Spread
from benchmark.records.record import SCORER_VERSION
from benchmark.scoring.metric_table import NEGLIGIBLE

ALIKE = "†"
DASH = "—"
HEADLINE_TEXT = "Relative l2 error of the whole video in percent"
STEADY, STEADY_TEXT = "helmholtz", "(helmholtz: of the field that is asked for)"
GOALS = {
    "low": "lower is better",
    "high": "higher is better",
    "level": "it is neither better high nor low, and nobody is ranked by it",
}
TESTED = (
    "Best: the lowest error among learned methods (bold); second: underlined; "
    f"{ALIKE}: not shown to be worse than the best (paired test of the log ratio of errors on the same trajectories: "
    "sign flips for one seed each, a t-test over trajectories and seeds for several; Holm-corrected, 5 % level; "
    "with one seed it compares two trained networks, and the best is chosen on the same trajectories)."
)
NOT_TESTED = "Best: the best mean among learned methods (bold); second: underlined; differences are not tested."
LEGEND = (
    "References stand above the learned methods and do not compete with them; "
    "in italics: the best reference where no learned method has a lower error.",
    "missing: no record. failed, timeout, oom, unsup. (unsupported): no number, the letter gives the reason. "
    "A number with a letter has a note; a number marked 'not ranked' takes no part in the comparison.",
)


INTERVALS = (
    "Brackets: nominal 95 % bootstrap interval over test trajectories (whole runs where several are cut out of one); "
    "of few trajectories it covers a little less."
)
ONE_SEED = "one seed: training variance not shown"
SAMPLES = {
    "one": "Methods that sample are shown by one sample, or by their own mean where they know it",
    "mean": "Methods that sample are shown by the mean of their samples, or by their own mean where they know it",
}
SQRT_2 = "a perfect sampler's single sample has sqrt(2) times the error of the posterior mean"


def legend(board: Leaderboard) -> list[str]:
    """What the marks mean, and what the numbers do not show."""
    measure = board.shape.measure
    shown = what(measure, (column.dataset for column in board.columns))
    goal = f"{shown}, mean over test trajectories (and seeds); {GOALS[measure.info.goal]}."
    tested = [TESTED] if measure.is_error else [NOT_TESTED] if measure.is_ranked else []
    return [goal, *tested, *LEGEND, f"{INTERVALS} {_seeds(board)}"]


def what(measure: Measure, datasets: Iterable[str]) -> str:
    """'CRPS in percent', of these datasets."""
    if measure.is_headline:
        return f"{HEADLINE_TEXT} {STEADY_TEXT}" if STEADY in datasets else HEADLINE_TEXT
    title, unit = measure.info.title, measure.info.unit
    name = title[0].upper() + title[1:]
    return f"{name} in percent" if unit == "%" else f"{name} ({unit})" if unit else name


def _seeds(board: Leaderboard) -> str:
    """Where the variance over trainings is to be seen."""
    spread = "Behind ±: standard deviation of the seeds' means."
    counts = {len(entry.seeds) for column in board.columns for entry in column.entries.values() if entry.seeds}
    if counts == {1}:
        return f"All numbers are of {ONE_SEED}."
    return f"{spread} Without it, {ONE_SEED}." if 1 in counts else spread


def caption(samples: Samples) -> str:
    """Which error of methods that sample a table shows."""
    return f"{SAMPLES[samples]}; {SQRT_2}."


def title(board: Leaderboard) -> str:
    return f"{board.shape.suite.title if board.shape.suite else 'Leaderboard'}, profile {board.profile}"


def heading(board: Leaderboard) -> list[str]:
    """What must be known before any number is read."""
    sentences = [
        f"All numbers are of profile {board.profile}. Numbers of different profiles are never comparable: grids, set "
        "sizes and training budgets differ.",
        *_narrowed(board),
        *_sources(board),
        *([f"{board.left_out}."] if board.left_out else []),
        *_older(board),
        *_mixed(board),
    ]
    if board.records and set(board.methods) <= board.references:
        sentences.append("There is no record of a learned method: these are the references alone.")
    if not board.records:
        sentences.append(f"There is no readable record of profile {board.profile}.")
    return sentences


def _narrowed(board: Leaderboard) -> list[str]:
    """Who is best depends on who is there."""
    if "method" not in board.shape.wanted or not board.methods:
        return []
    return ["Only these methods are shown and compared: " + ", ".join(board.methods) + "."]


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


def _older(board: Leaderboard) -> list[str]:
    """Numbers by definitions that have changed since."""
    found = {record.basis.scorer for record in board.records if record.state == "done"}
    older = ", ".join(str(version) for version in sorted(found) if version < SCORER_VERSION)
    if not older:
        return []
    return [
        f"There are records of scorer version {older}, the suite's is {SCORER_VERSION}: their numbers follow earlier "
        "definitions of the metrics (CHANGELOG.md) until the cells are run again."
    ]


def _mixed(board: Leaderboard) -> list[str]:
    """Methods whose numbers changed while some of their records did not."""
    found = defaultdict(set)
    for record in board.records:
        if record.state == "done":
            found[record.cell.method].add(int(record.provenance.get("method_version") or 1))
    mixed = {method: ", ".join(map(str, sorted(found[method]))) for method in found if len(found[method]) > 1}
    return [
        f"{method} has records of versions {versions}: the older ones are stale (`records list --state stale`)."
        for method, versions in sorted(mixed.items())
    ]


def overview_tables(board: Leaderboard) -> dict[str, list[list[str]]]:
    """Title -> header and rows, none wider than a page: standing, costs, and what can be asked of each method."""
    rows = [list(OVERVIEW_HEADER), *overview_rows(board.overview)]
    capabilities = capability_rows(board.methods, board.capabilities)
    return {
        "Standing": [row[:STANDING] for row in rows],
        "Costs": [[row[0], *row[STANDING:]] for row in rows],
        "What methods can be asked": [list(HEADER), *capabilities],
    }


def overview_notes(overview: Overview) -> list[str]:
    """What the overview's reader must know."""
    exact = [(one.method, one.ranking.exact) for one in overview.summaries if one.ranking and one.ranking.exact]
    left_out = ", ".join(f"{method} {count}" for method, count in exact)
    zeros = [f"Cells left out of the ratio as the lowest error there is negligible: {left_out}."] if exact else []
    return [*OVERVIEW_NOTES, *zeros, NOTE]


OVERVIEW_HEADER = (
    "method",
    "done",
    "failed",
    "unsup.",
    "missing",
    "seeds",
    "rank",
    "cells",
    "met",
    "ratio to best",
    "parameters",
    "fit s",
    "predict s",
    "evaluations",
    "peak MB",
)
STANDING = 10  # columns that say where a method stands; the others are costs
OVERVIEW_NOTES = (
    "Cells are datasets x tasks; failed includes timeout and oom. Costs are medians over done cells; seconds are the "
    "processor's on a CPU, the clock's on a GPU; predict s and evaluations are for one sample of one trajectory.",
    "Rank, among learned methods: 1 + for each competitor the share of the cells ranked for both in which it has the "
    "lower error, equal errors one half; scaled to all competitors where some share no cell. "
    "Cells: those of the method with a competitor. Met: competitors with a shared cell, of all. A rank over few cells, "
    "or against few competitors, says less.",
    f"Errors below {NEGLIGIBLE:g} % count as that. Ratio: geometric mean over these cells of error / lowest error of "
    "a learned method, without cells where the lowest is that small; rows with other cells are not comparable by it.",
)


def overview_rows(overview: Overview) -> list[list[str]]:
    return [
        [
            one.method,
            *(str(count) for count in one.states.values()),
            DASH if one.seeds is None else "-".join(str(n) for n in sorted(set(one.seeds))),
            *_ranking(one.ranking),
            *(_cost(name, spread) for name, spread in one.costs.items()),
        ]
        for one in overview.summaries
    ]


def _ranking(ranking: Ranking | None) -> list[str]:
    if ranking is None:
        return [DASH] * 4
    ratio = DASH if ranking.ratio is None else f"{ranking.ratio:.2f}"
    return [f"{ranking.rank:.2f}", str(ranking.cells), f"{ranking.met}/{ranking.competitors}", ratio]


def _cost(name: str, spread: Spread | None) -> str:
    if spread is None:
        return DASH
    if spread.median == int(spread.median) and name in ("parameters", "evaluations"):
        return str(int(spread.median))
    return number(spread.median)


def letter(index: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    head, tail = divmod(index, 26)
    return (letter(head - 1) if head else "") + chr(ord("a") + tail)
