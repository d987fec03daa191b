"""Tables in documents, between `<!-- table -->` and `<!-- end of table -->`: their numbers are those of the records.

A table has methods on one side and `dataset task` on the other. A number is a mean error as far as its digits go,
`<0.01` is below that, `-` has a record without a number, `missing` has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from benchmark.records.record import Record
from benchmark.verify.check import Selection

BLOCK = re.compile(r"<!-- table -->\n(.*?)<!-- end of table -->", re.DOTALL)
PROFILE, SEED = "laptop", 0  # of the documents' tables
Records = dict[tuple[str, str], Record]  # (method, "dataset task") -> record


def check_document(path: Path, selection: Selection) -> list[str] | None:
    """What its tables say that the records do not; None for a document without a table of errors."""
    records = _records(selection)
    cells = [cell for block in BLOCK.findall(path.read_text(encoding="utf-8")) for cell in _cells(block, records)]
    return [fault for cell in cells if (fault := _fault(*cell, records))] if cells else None


def _records(selection: Selection) -> Records:
    found = {}
    for path, record in selection.records:
        cell = record.cell
        plain = not cell.variant and not record.third_party and path.is_relative_to(selection.results / PROFILE)
        if plain and (cell.profile, cell.seed) == (PROFILE, SEED):
            found[cell.method, f"{cell.dataset} {cell.task}"] = record
    return found


def _cells(block: str, records: Records) -> Iterator[tuple[str, str, str]]:
    """(method, place, text) of each cell, whichever side the methods are on."""
    methods, places = ({key[i] for key in records} for i in (0, 1))
    datasets = {place.split(" ")[0] for place in places}
    header, *rows = [
        [part.strip() for part in line.strip("| ").split("|")] for line in block.splitlines() if "|" in line
    ]
    for name, *texts in rows[1:]:
        for column, text in zip(header[1:], texts, strict=False):
            if name in methods and " " in column and column.split(" ")[0] in datasets:
                yield name, column, text
            elif name in places and column:
                yield column, name, text


def _fault(method: str, place: str, text: str, records: Records) -> str | None:
    record, shown = records.get((method, place)), text.split(" ")[0]
    says = f"{method} {place}: the table says {shown}"
    if record is None:
        return None if shown == "missing" else f"{says}, there is no record"
    if record.state != "done":
        return None if shown == "-" else f"{says}, the record is {record.state}"
    mean = record.headline.in_percent().mean
    return None if _is_rounding(shown, mean) else f"{says}, the record {mean:.4g} %"


def _is_rounding(shown: str, value: float) -> bool:
    if shown.startswith("<"):
        return value < float(shown[1:])
    try:
        printed = float(shown)
    except ValueError:
        return False
    return abs(printed - value) <= 0.5 * 10.0 ** -len(shown.partition(".")[2]) * (1 + 1e-9)
