"""Records of one profile, read and checked, without torch."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

from benchmark.records.files import read_record, record_paths
from benchmark.records.record import Record, RecordError
from benchmark.records.strict import visible


def read_records(results: Path, profile: str) -> tuple[list[Record], list[str]]:
    """The records of a profile in a fixed order, and what could not be read (file names relative to `results`)."""
    records, problems = [], []
    for path in record_paths(results, profile):
        try:
            records.append(read_record(path))
        except (RecordError, OSError) as error:
            problems.append(visible(str(error).replace(f"{results}/", "")))
    return sorted(records, key=lambda record: astuple(record.cell)), problems
