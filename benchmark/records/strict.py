"""JSON from anybody: what a file of ours can hold, and nothing that could hurt its reader.

Python reads more than JSON has: NaN, numbers beyond a float's range, and nesting down to the end of the stack.
"""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

DEPTH = 32  # of nesting
BYTES = 1 << 26  # of a file
# Control characters but tab and newline, marks that turn the writing round, and halves of characters.
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def read_json(path: Path) -> Any:
    """The content of a file, its text made visible; ValueError says what is wrong with it."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # a pipe would keep its reader waiting
        raise ValueError("no plain file")
    if status.st_size > BYTES:
        raise ValueError(f"{status.st_size} bytes, more than {BYTES}")
    text = path.read_text(encoding="utf-8")
    is_plain = text.isascii() and "\\" not in text and "\x7f" not in text  # then nothing unseen can be in it
    return parse_json(text) if is_plain else visible(parse_json(text))


def parse_json(text: str) -> Any:
    """A value that can be walked by recursion."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    _check_depth(value)
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH):
        level = [part for whole in level for part in _parts(whole) if isinstance(part, (dict, list))]
    if level:
        raise ValueError(f"nested more than {DEPTH} deep")


def _parts(value: Any) -> Iterable[Any]:
    """Of a dict or a list; of the rest nothing."""
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


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


def visible(value: Any) -> Any:
    """Text that a terminal or an editor shows as it is: what steers them, or turns the writing round, is replaced."""
    if isinstance(value, str):
        return UNSEEN.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {visible(name): visible(part) for name, part in value.items()}
    return [visible(part) for part in value] if isinstance(value, list) else value


def finite(*values: Any) -> bool:
    """Whether all are numbers of finite size; True and False are none."""
    kinds = set(map(type, values))
    try:
        if kinds == {float} and math.isfinite(sum(values)):  # then so is every term; a sum of finite ones may overflow
            return True
        return all(map(math.isfinite, values)) and bool not in kinds
    except (TypeError, OverflowError):
        return False


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")
