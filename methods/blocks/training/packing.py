"""Nested values with tensors in them as JSON and a flat table of tensors, and back.

tensor -> {"tensor": name}      dict -> {"items": [[key, value], ...]}, as keys may be numbers
tuple  -> {"tuple": [...]}      lists, numbers, strings, True, False and None stay what they are
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

Table = dict[str, Tensor]


def pack(value: Any) -> tuple[Any, Table]:
    table: Table = {}
    return _packed(value, table), table


def _packed(value: Any, table: Table) -> Any:
    if isinstance(value, Tensor):
        name = str(len(table))
        table[name] = value.detach().to("cpu", copy=True).contiguous()
        return {"tensor": name}
    if isinstance(value, Mapping):
        return {"items": [[key, _packed(part, table)] for key, part in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [_packed(part, table) for part in value]}
    if isinstance(value, list):
        return [_packed(part, table) for part in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a checkpoint cannot hold {type(value).__name__}")


def unpack(value: Any, table: Mapping[str, Tensor]) -> Any:
    """The inverse of `pack`."""
    if isinstance(value, list):
        return [unpack(part, table) for part in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tensor":
        return table[content]
    if kind == "items":
        return {key: unpack(part, table) for key, part in content}
    return tuple(unpack(part, table) for part in content)
