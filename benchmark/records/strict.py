"""JSON from anybody: what a file of ours can hold, and nothing that could hurt its reader.

Python reads more than JSON has: NaN, numbers beyond a float's range, and nesting down to the end of the stack.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

DEPTH = 32  # of nesting
BYTES = 1 << 26  # of a file


def read_json(path: Path) -> Any:
    """The content of a file; ValueError says what is wrong with it."""
    if (size := path.stat().st_size) > BYTES:
        raise ValueError(f"{size} bytes, more than {BYTES}")
    return parse_json(path.read_text(encoding="utf-8"))


def parse_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def checked(value: Any, depth: int = DEPTH) -> Any:
    """The value, if all its numbers are finite and nothing in it is nested more than `depth` deep."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number beyond the range of floats")
    if isinstance(value, (dict, list)):
        if not depth:
            raise ValueError(f"nested more than {DEPTH} deep")
        for part in value.values() if isinstance(value, dict) else value:
            checked(part, depth - 1)
    return value


def finite(*values: Any) -> bool:
    """Whether all are numbers of finite size; True and False are none."""
    try:
        return all(map(math.isfinite, values)) and bool not in set(map(type, values))
    except (TypeError, OverflowError):
        return False


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
