"""Do two trees of records hold the same numbers, to the bit?

    python -m benchmark run --method all --task all --dataset all --profile smoke --samples 2 --output OLD   # old code
    python -m benchmark run --method all --task all --dataset all --profile smoke --samples 2 --output NEW   # new code
    python -m tests.same_numbers OLD NEW

Of each cell: its state and reason, the frames that are scored, every metric's mean, interval and values, and the costs
that do not depend on the machine. Headline values are compared in full; others to the digits that both records keep.
Settings, timings and provenance are left out: they may be spelled differently without a number moving.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HEADLINE = "rel_l2"
COSTS = ("parameters", "steps", "evaluations")
DIGITS = 6  # of the values of secondary metrics


def cells(results: Path) -> dict[str, dict[str, Any]]:
    paths = sorted(results.glob("*/*/*/*-s*.json"))
    return {str(path.relative_to(results)): json.loads(path.read_text()) for path in paths}


def differences(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """The parts in which two records of a cell differ."""
    for part in ("state", "reason", "frames", "remark"):
        if (old.get(part) or None) != (new.get(part) or None):
            yield part
    for name in COSTS:
        if (old.get("cost") or {}).get(name) != (new.get("cost") or {}).get(name):
            yield f"cost.{name}"
    before, after = (record.get("metrics") or {} for record in (old, new))
    for name in sorted({*before, *after}):
        if name not in before or name not in after:
            yield f"metrics.{name}: only in one"
            continue
        for part in ("unit", "mean", "low", "high", "values"):
            pair = (metrics[name][part] for metrics in (before, after))
            if part == "values" and name != HEADLINE:
                pair = map(rounded, pair)
            if len({json.dumps(value) for value in pair}) > 1:
                yield f"metrics.{name}.{part}"


def rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return float(f"{value:.{DIGITS}g}")


def main(old: Path, new: Path) -> int:
    before, after = cells(old), cells(new)
    if not before:
        print(f"{old}: no records", file=sys.stderr)
        return 2
    missing = [cell for cell in before if cell not in after]
    different = {
        cell: found for cell in before if cell in after and (found := [*differences(before[cell], after[cell])])
    }
    for cell in missing:
        print(f"{cell}: missing in {new}")
    for cell, found in different.items():
        print(f"{cell}: {', '.join(found)}")
    same = len(before) - len(missing) - len(different)
    print(f"{same} of {len(before)} cells have the same numbers")
    return 0 if same == len(before) else 1


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:3])))
