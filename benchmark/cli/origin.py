"""Where a record that `run` shows comes from: computed by this run, or stored before it began; or where it broke."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from benchmark.records.folders import log_path

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


def whereabouts(record: Record, kept: Path | None) -> str:
    """' (my_method.py:31, log runs/smoke/...)' of a cell that went wrong; the log is named if it is there."""
    if record.state not in ("failed", "timeout", "oom"):
        return ""
    log = kept and log_path(kept, record.cell)
    parts = [place(record.traceback), f"log {log}" if log and log.exists() else ""]
    known = ", ".join(filter(None, parts))
    return f" ({known})" if known else ""


def place(traceback: str) -> str:
    """file:line of the last call in a file that is not an installed package's, as short as it can be opened."""
    calls = re.findall(r'^  File "([^"]+)", line (\d+)', traceback, re.MULTILINE)
    own = [call for call in calls if "site-packages" not in call[0] and not call[0].startswith("<")]
    if not calls:
        return ""
    file, line = (own or calls)[-1]
    path = Path(file)
    return f"{path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}:{line}"
