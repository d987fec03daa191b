"""Which records enter the tables: the suite's own, with the profile's own settings; others only if asked for.

    third-party   the method, the task or the dataset is not the suite's own, as the record declares
    variant       settings or evaluation depart from the profile's own

What is left out is said in a note. Asked for, a variant stands in tables as a method of its own, `fno @ width=64`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from benchmark.errors import UserError
from benchmark.leaderboard.names import of_suite
from benchmark.planning.registry import near
from benchmark.records.record import Record

EVERYTHING, PLUGINS, VARIANTS = "all", "plugins", "variants"
SHOWN = 6  # names in a note


def third_party(record: Record) -> list[str]:
    """Names of the method, task and dataset that are not the suite's; records from before they said so go by name."""
    cell, declared = record.cell, record.third_party
    return [
        name
        for part, name in (("method", cell.method), ("task", cell.task), ("dataset", cell.dataset))
        if part in declared or not of_suite(f"{part}s", name)
    ]


def is_own(record: Record) -> bool:
    """Whether the record enters the suite's tables without being asked for."""
    return not record.cell.variant and not third_party(record)


def is_other_budget(record: Record) -> bool:
    """Whether it is a point of a curve: a method of the suite with more or fewer steps than the profile's."""
    return record.cell.variant.rpartition("+")[2].startswith("budget_") and not third_party(record)


def select(records: Sequence[Record], include: Collection[str] = ()) -> tuple[list[Record], list[Record]]:
    """The records that enter, variants renamed, and those left out."""
    enters = {record.cell: is_own(record) or _is_asked_for(record, set(include)) for record in records}
    left_out = [record for record in records if not enters[record.cell]]
    return [_as_row(record) for record in records if enters[record.cell]], left_out


def other_names(records: Iterable[Record]) -> frozenset[str]:
    """By which the records that are not the suite's own can be asked for."""
    return frozenset(name for record in records for name in (*third_party(record), record.cell.variant) if name)


def check_include(include: Iterable[str], others: Collection[str]) -> None:
    """What is asked for must be there; `others` are the names that can be asked for."""
    for name in include:
        if name not in (EVERYTHING, PLUGINS, VARIANTS, *others):
            raise UserError(f"--include: no record of {name!r}{near(name, {EVERYTHING, PLUGINS, VARIANTS, *others})}")


def _is_asked_for(record: Record, include: set[str]) -> bool:
    if EVERYTHING in include:
        return True
    foreign, variant = set(third_party(record)), record.cell.variant
    return (PLUGINS in include or foreign <= include) and (not variant or bool(include & {VARIANTS, variant}))


def _as_row(record: Record) -> Record:
    cell = record.cell
    return replace(record, cell=replace(cell, method=cell.label, variant="")) if cell.variant else record


def include_names(records: Sequence[Record]) -> list[str]:
    """What `--include` needs so that these records enter: few names, methods before tasks and datasets."""
    names = [name for record in records for name in (*third_party(record), record.cell.variant) if name]
    return list(dict.fromkeys(names))


def note(left_out: Sequence[Record]) -> str:
    """'3 records left out: my_method (third-party); --include my_method', or nothing."""
    if not left_out:
        return ""
    who = list(dict.fromkeys(_who(record) for record in left_out))
    more = f" and {len(who) - SHOWN} more" if len(who) > SHOWN else ""
    asked = ",".join(include_names(left_out)) if not more else EVERYTHING
    count = f"{len(left_out)} record{'s' if len(left_out) > 1 else ''}"
    return f"{count} left out: {', '.join(who[:SHOWN])}{more}; --include {asked}"


def _who(record: Record) -> str:
    """The label, unless only the task or the dataset is a stranger's."""
    foreign, cell = third_party(record), record.cell
    name = cell.label if cell.variant or cell.method in foreign else foreign[0]
    return f"{name} ({', '.join(['third-party'] * bool(foreign) + ['variant'] * bool(cell.variant))})"
