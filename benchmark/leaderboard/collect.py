"""Records of one profile, and of the studies that the paper prints, read and checked, without torch."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmark.records.files import read_record, record_paths
from benchmark.records.folders import STUDIES
from benchmark.records.record import Record, RecordError
from benchmark.records.strict import visible

Studies = Mapping[tuple[str, str], Sequence[Record]]  # (study, variant) -> records


@contextmanager
def no_collection() -> Iterator[None]:
    """Records have no cycles: looking for some again and again, among all that is read, takes as long as reading."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@no_collection()
def read_records(results: Path, profile: str) -> tuple[list[Record], list[str]]:
    """The records of a profile in a fixed order, and what could not be read (file names relative to `results`)."""
    records, problems = [], []
    for path in record_paths(results, profile):
        try:
            records.append(read_record(path))
        except (RecordError, OSError) as error:
            problems.append(visible(str(error).replace(f"{results}/", "")))
    return sorted(records, key=lambda record: record.cell), problems


def read_studies(results: Path, profile: str) -> tuple[Studies, tuple[str, ...]]:
    """Those that the paper prints numbers of, and what could not be read."""
    from benchmark.published import read_numbers

    names = sorted({(number.place.study, number.place.variant) for number in read_numbers() if number.place.study})
    found = {(study, variant): read_records(results / STUDIES / study / variant, profile) for study, variant in names}
    problems = tuple(problem for _, unread in found.values() for problem in unread)
    return {name: records for name, (records, _) in found.items()}, problems
