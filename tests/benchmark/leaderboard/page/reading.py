"""What a browser would read of a page, in Python."""

from __future__ import annotations

import base64
import json
import re
import zlib
from typing import Any


def data_of(page: str) -> dict[str, Any]:
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def chunk_of(page: str, number: int) -> bytes:
    text = re.search(rf'id="c{number}">([^<]*)</script>', page)[1]
    return zlib.decompress(base64.b64decode(text))


def unfiltered(content: bytes, shape: tuple[int, ...]):
    """The inverse of `filtered`: running sums down, then to the right."""
    import numpy as np

    levels = np.frombuffer(content, dtype=np.uint8).reshape(shape)
    return np.cumsum(np.cumsum(levels, axis=-2, dtype=np.uint8), axis=-1, dtype=np.uint8)
