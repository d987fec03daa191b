"""A task family laid out like the paper's tables: methods down (references first), datasets x tasks across."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median

from benchmark.leaderboard import text
from benchmark.leaderboard.board import Leaderboard
from benchmark.leaderboard.capabilities import TICKS, TICKS_NOTES
from benchmark.leaderboard.columns import Column, Place
from benchmark.leaderboard.entries import MISSING, Entry
from benchmark.leaderboard.measure import Measure, number
from benchmark.leaderboard.overview import cost
from benchmark.leaderboard.shape import Names
from benchmark.leaderboard.text import ALIKE, DASH, letter
from benchmark.leaderboard.traits import traits

CAPABILITIES = "What methods can do, seconds and errors"
SECONDS_NOTE = (
    "Seconds: of one sample of one trajectory, the median over cells shown; the processor's on a CPU, the clock's on a "
    "GPU."
)
SHORT_STATES = {"unsupported": "unsup.", "done": DASH}  # done, but without the metric that is shown


@dataclass(frozen=True)
class Shown:
    """One place of a table: what stands there, how it stands out, and the marks behind it."""

    text: str
    interval: str
    seeds: str  # the spread over seeds, empty for one seed
    emphasis: Place
    marks: tuple[str, ...]
    state: str


@dataclass(frozen=True)
class Beside:
    """What stands between a method's name and its numbers: columns of words, and of each method its row."""

    header: tuple[str, ...] = ()
    rows: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, method: str) -> tuple[str, ...]:
        return self.rows.get(method, (MISSING,) * len(self.header))


@dataclass(frozen=True)
class Table:
    title: str
    caption: str
    columns: tuple[Column, ...]
    blocks: tuple[tuple[str, tuple[tuple[str, tuple[Shown, ...]], ...]], ...]  # block name -> (method, row)
    footnotes: tuple[tuple[str, str], ...]  # (letter, text)
    remarks: tuple[str, ...]
    beside: Beside


def family_tables(board: Leaderboard, widest: int | None = None, names: Names = "id") -> list[Table]:
    """A table for each family, or several of whole datasets where one would have more columns than `widest`.

    A suite that asks for capabilities has all its cells in one.
    """
    is_one = board.shape.suite is not None and board.shape.suite.capabilities
    families = {CAPABILITIES: tuple(board.columns)} if is_one else board.families
    return [
        _table(title if len(parts) == 1 else f"{title} ({number})", part, board, board.shape.names or names)
        for title, columns in families.items()
        for parts in [list(_parts(columns, widest or len(columns)))]
        for number, part in enumerate(parts, 1)
    ]


def _parts(columns: Sequence[Column], widest: int) -> Iterator[list[Column]]:
    """Datasets stay whole; one that is wider than that has a table of its own."""
    part: list[Column] = []
    for _, group in groupby(columns, key=lambda column: column.dataset):
        members = list(group)
        if part and _width(part) + _width(members) > widest:
            yield part
            part = []
        part += members
    yield part


def _width(columns: Sequence[Column]) -> int:
    return sum(column.supported for column in columns)


def _table(title: str, columns: Sequence[Column], board: Leaderboard, names: Names) -> Table:
    shown = tuple(column for column in columns if column.supported)
    letters: dict[str, str] = {}
    blocks = []
    for block, wanted in (("references", True), ("learned methods", False)):
        members = [method for method in board.methods if (method in board.references) == wanted]
        measure = board.shape.measure
        rows = tuple((m, tuple(_shown(column, m, letters, measure) for column in shown)) for m in members)
        if rows:
            blocks.append((block, rows))
    footnotes = tuple((mark, note) for note, mark in letters.items())
    scored = {method for column in shown for method, entry in column.entries.items() if entry.mean is not None}
    beside = _capabilities(board, shown) if title.startswith(CAPABILITIES) else Beside()
    remarks = (
        *([*TICKS_NOTES, SECONDS_NOTE] if beside.header else []),
        *_sizes(shown),
        *_too_few(shown),
        *traits(board.records, scored, names),
        *_left_out(columns),
    )
    caption = text.caption(board.samples) if board.shape.measure.is_headline else ""
    return Table(title, caption, shown, tuple(blocks), footnotes, remarks, beside)


def _capabilities(board: Leaderboard, columns: Sequence[Column]) -> Beside:
    """Ticks, and the seconds of these columns; a method without any record has neither."""
    places = {(column.dataset, column.task) for column in columns}
    seconds: dict[str, list[float]] = {}
    for record in board.records:
        value = cost("predict_seconds", record) if record.state == "done" else None
        if value is not None and (record.cell.dataset, record.cell.task) in places:
            seconds.setdefault(record.cell.method, []).append(value)
    rows = {
        method: (*found.ticks, number(median(seconds[method])) if method in seconds else MISSING)
        for method, found in board.capabilities.items()
    }
    return Beside((*TICKS, "seconds"), rows)


def _shown(column: Column, method: str, letters: dict[str, str], measure: Measure) -> Shown:
    """`letters` gives each note its letter and grows by the new ones: row by row, so that they read in order."""
    entry = column.entries[method]
    marks = [ALIKE] if method in column.alike else []
    if entry.state != MISSING:
        marks += [letters.setdefault(note, letter(len(letters))) for note in entry.notes]
    return Shown(*_value(entry, measure), column.place(method), tuple(marks), entry.state)


def _value(entry: Entry, measure: Measure) -> tuple[str, str, str]:
    if entry.mean is None or entry.low is None or entry.high is None:
        return SHORT_STATES.get(entry.state, entry.state), "", ""
    spread = "" if entry.seed_sd is None else f"± {number(entry.seed_sd, measure.digits)}"
    return measure.text(entry.mean), f"[{measure.text(entry.low)}, {measure.text(entry.high)}]", spread


def _sizes(columns: Sequence[Column]) -> list[str]:
    sizes = sorted({column.basis.trajectories for column in columns if column.basis})
    return [f"Test trajectories per cell: {', '.join(map(str, sizes))}."] if sizes else []


def _too_few(columns: Sequence[Column]) -> list[str]:
    where = ", ".join(f"{column.dataset} {column.task}" for column in columns if column.too_few)
    return [f"Too few test trajectories to tell learned methods apart: {where}."] if where else []


def _left_out(columns: Sequence[Column]) -> list[str]:
    """Columns without a number, in one sentence each."""
    return [
        f"{column.dataset} {column.task} is not shown: {_why_empty(column)}."
        for column in columns
        if not column.supported
    ]


def _why_empty(column: Column) -> str:
    missing = [method for method, entry in column.entries.items() if entry.state == MISSING]
    note = next(note for entry in column.entries.values() if entry.state != MISSING for note in entry.notes)
    if missing:
        return f"{note}; no number yet; missing: {', '.join(missing)}"
    return f"no method supports it ({note})"
