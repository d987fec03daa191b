"""Requests over the toy plugin, and records without what may differ from run to run."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmark.planning.request import Request
from benchmark.records.record import Record

TOY = Path(__file__).with_name("toy.py")
TIMINGS = (
    "fit_seconds",
    "fit_cpu_seconds",
    "fit_cached",
    "predict_seconds",
    "predict_cpu_seconds",
    "peak_memory_mb",
)


def toy_request(root: Path, **changes: Any) -> Request:
    values = {
        "methods": ("learn",),
        "tasks": ("fwd_full",),
        "datasets": ("toy",),
        "profile": "smoke",
        "device": "cpu",
        "plugins": (TOY,),
        "results": root / "results",
        "runs": root / "runs",
        "data": root / "data",
    }
    return Request(**(values | changes))


def comparable(record: Record) -> Record:
    """A record without timings and time stamps."""
    cost = {name: value for name, value in record.cost.items() if name not in TIMINGS}
    provenance = {name: value for name, value in record.provenance.items() if name != "created"}
    return replace(record, cost=cost, provenance=provenance)


def is_alive(pid: int) -> bool:
    """Running, and not merely waiting to be reaped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pids: list[int], seconds: float = 20.0) -> bool:
    """Whether all these processes end within a generous time."""
    deadline = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(is_alive, pids))
