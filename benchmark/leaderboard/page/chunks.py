"""Parts of the page that are read only when somebody looks: compressed, in base64, each once.

A browser reads `zlib.compress` as "deflate" (DecompressionStream), so the page needs no code of its own for it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from dataclasses import dataclass
from typing import Any

LEVEL = 6  # of compression; 9 takes three times as long and saves a hundredth
TAG = len('<script type="text/plain" id="c12345"></script>\n')


@dataclass(frozen=True)
class Chunk:
    """Compressed bytes as text; equal bytes have equal digests."""

    digest: bytes
    text: str

    @classmethod
    def of(cls, content: bytes) -> Chunk:
        text = base64.b64encode(zlib.compress(content, LEVEL)).decode("ascii")
        return cls(hashlib.sha256(content).digest(), text)

    @property
    def size(self) -> int:
        """What it takes in the page."""
        return len(self.text) + TAG


class Chunks:
    """Those of a page, named by number in the order of their arrival."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self.texts: list[str] = []

    def add(self, chunk: Chunk) -> int:
        number = self._numbers.setdefault(chunk.digest, len(self.texts))
        if number == len(self.texts):
            self.texts.append(chunk.text)
        return number

    def add_json(self, value: Any) -> int:
        return self.add(Chunk.of(as_json(value).encode()))

    @property
    def size(self) -> int:
        return sum(len(text) + TAG for text in self.texts)


def as_json(value: Any) -> str:
    """One line. What JSON has no word for must not be there."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
