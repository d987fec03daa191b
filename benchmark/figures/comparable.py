"""Records that may stand in one figure: those on the basis that most of their methods share, as in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmark.leaderboard.entries import majority
from benchmark.records.compare import difference
from benchmark.records.record import Record

ByMethod = Mapping[str, Sequence[Record]]  # one record a seed


def comparable(records: ByMethod, any_frames: bool = False) -> tuple[dict[str, list[Record]], list[str]]:
    """Those that are done and comparable, and a line for each that is left out.

    `any_frames`: whether methods that predict only some frames may stand beside others.
    """
    shared = majority([record for own in records.values() for record in own])
    kept: dict[str, list[Record]] = {}
    notes = []
    for name, record in ((name, record) for name, own in records.items() for record in own):
        if record.state != "done" or shared is None:
            why = f"{record.state}: {record.reason or 'no reason recorded'}"
        else:
            basis = record.basis._replace(frames=shared.frames) if any_frames else record.basis
            why = difference(basis, shared)
        if why is None:
            kept.setdefault(name, []).append(record)
        else:
            notes.append(f"{name}, seed {record.cell.seed}, left out: {why}")
    return kept, notes
