"""Where a record that `run` shows comes from: computed by this run, or stored before it began."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from benchmark.records.record import Record

Obtained = Literal["computed now", "stored", "not run"]


def obtained(record: Record, since: str) -> Obtained:
    """`since`: when the run began. A cell that was refused, or broke before any record, is `not run`."""
    if not record.created:
        return "not run"
    return "computed now" if record.created >= since else "stored"


def stored(record: Record) -> str:
    """'stored (2026-01-31, 0123abc)', with the commit that made it."""
    commit = str(record.provenance.get("commit") or "")[:7] or "no commit"
    return f"stored ({record.created[:10] or 'no date'}, {commit}{', changed' * bool(record.provenance.get('dirty'))})"


def origin(record: Record, since: str) -> str:
    how = obtained(record, since)
    return stored(record) if how == "stored" else how


def state_with_origin(record: Record, since: str) -> str:
    """'done, computed now', 'failed, computed now: KeyError: x'."""
    reason = record.reason.strip().partition("\n")[0][:80]
    return f"{record.state}, {origin(record, since)}" + (f": {reason}" if reason else "")
