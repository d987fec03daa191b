"""Settings as plain JSON values, and the hash under which results are kept.

Equal settings have equal digests, whatever machine or day.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def plain(value: Any) -> Any:
    """Settings as JSON values: dataclasses become dicts, tuples lists, non-finite floats strings."""
    if is_settings(value):
        return {name: plain(getattr(value, name)) for name in field_names(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def digest(value: Any) -> str:
    """sha256 of the settings' JSON with sorted keys."""
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def is_settings(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def field_names(settings: Any) -> list[str]:
    """The fields that can be set."""
    return [f.name for f in fields(settings) if f.init]
