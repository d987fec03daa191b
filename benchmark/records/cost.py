"""What a record says that something cost, by one rule for tables, figures and verdicts."""

from __future__ import annotations

from benchmark.records.record import Record

PROCESSOR = {"fit_seconds": "fit_cpu_seconds", "predict_seconds": "predict_cpu_seconds"}


def cost(name: str, record: Record) -> float | None:
    """On a CPU the processor's seconds, which other work on the machine does not move, where the record has them."""
    own = PROCESSOR.get(name, name)
    value = record.cost.get(own if runs_on_cpu(record) and own in record.cost else name)
    return value if isinstance(value, (int, float)) else None


def runs_on_cpu(record: Record) -> bool:
    return str(record.provenance.get("device", "cpu")).startswith("cpu")
