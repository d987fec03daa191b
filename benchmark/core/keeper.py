"""Where a prediction that is made part by part leaves what it has, so that a kill costs a part and not all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

Part = dict[str, Tensor]
EVERY = 60.0  # seconds between writes


@dataclass
class Keeper:
    """Makes the parts of a prediction and tells how far it is. This one keeps nothing; the runner's does."""

    progress: Callable[[str, float], None] = lambda message, fraction: None

    def each(self, items: Sequence[Any], make: Callable[[Any], Part], seconds: float = EVERY) -> Iterator[Part]:
        """make(item) of each item, in order, or what was made of it before a kill; kept every `seconds` at most.

        An item is what JSON can hold and names its part: with the same problem, seed and samples the part must follow
        from it alone, not from random numbers that earlier parts have drawn.
        """
        for i, item in enumerate(items):
            yield make(item)
            self.progress("predict", (i + 1) / len(items))


def chunks(count: int, size: int) -> list[tuple[int, int]]:
    """Where each `size` of `count` trajectories begin and end."""
    return [(start, min(start + size, count)) for start in range(0, count, size)]
