"""One batch on several processes, or in pieces: who has which examples, and random numbers of the whole batch.

Every process draws for all examples of a step and keeps the rows of its own, so that N processes see, together, exactly
what one would see: noise levels spread over the batch, noise, symmetries, dropout. One that has not the memory for its
share does the same for each of its pieces. What a plugin draws from its generator in another way differs from process
to process and from piece to piece: as random, but no longer what one process would draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def share_of(size: int, rank: int = 0, world: int = 1) -> range:
    """The examples of a batch that process `rank` out of `world` has; shares differ by one where they must."""
    if size < world:
        raise ValueError(f"batch: {size} examples cannot be shared by {world} processes; use {size} or fewer")
    return range(rank * size // world, (rank + 1) * size // world)


def pieces_of(share: range, at_once: int) -> list[range]:
    """At most `at_once` examples each, in order, of sizes that differ by one where they must; 0: all at once."""
    count = -(-len(share) // at_once) if at_once else 1
    places = (share_of(len(share), k, count) for k in range(count))
    return [share[place.start : place.stop] for place in places]


@dataclass
class Share:
    """The examples of a batch that a process works on at the moment."""

    rows: range
    size: int  # of the whole batch


class Draws(torch.Generator):
    """The generator of a step on one of several processes. It is the process's own; `whole` is the same on all."""

    whole: torch.Generator
    share: range
    size: int  # of the whole batch

    @classmethod
    def of(cls, own: int, whole: torch.Generator, share: range, size: int) -> Self:
        draws = cls(whole.device)
        draws.manual_seed(own)
        draws.whole, draws.share, draws.size = whole, share, size
        return draws


def rows(count: int, draws: torch.Generator, draw: Callable[[int, torch.Generator], Tensor]) -> Tensor:
    """draw(count, generator), a row for each example; of a shared batch the rows of this process."""
    if not isinstance(draws, Draws):
        return draw(count, draws)
    if count != len(draws.share):
        raise ValueError(f"draws: expected a row for each of {len(draws.share)} examples, got {count}")
    return draw(draws.size, draws.whole)[draws.share.start : draws.share.stop].clone()


def normal(shape: Sequence[int], draws: torch.Generator) -> Tensor:
    """Standard normal (B, ...), on the device of the generator."""
    return rows(shape[0], draws, lambda n, g: torch.randn(n, *shape[1:], generator=g, device=g.device))


def uniform(shape: Sequence[int], draws: torch.Generator) -> Tensor:
    """(B, ...) in [0, 1), on the device of the generator."""
    return rows(shape[0], draws, lambda n, g: torch.rand(n, *shape[1:], generator=g, device=g.device))


def permutation(count: int, draws: torch.Generator) -> Tensor:
    """A random order of what all examples have in common, (count,)."""
    whole = draws.whole if isinstance(draws, Draws) else draws
    return torch.randperm(count, generator=whole, device=whole.device)


@contextmanager
def shared_layers(model: nn.Module, share: Share) -> Iterator[None]:
    """Layers that look beyond one example: dropout drops what it would of the whole batch; batch norm is refused."""
    for name, layer in model.named_modules():
        if isinstance(layer, nn.modules.batchnorm._BatchNorm):
            raise ValueError(f"{name}: batch norm would see a part of the batch; use group or layer norm")
    layers: list[Any] = [layer for layer in model.modules() if type(layer) is nn.Dropout]
    for layer in layers:
        layer.forward = partial(_dropout, layer, share)
    try:
        yield
    finally:
        for layer in layers:
            del layer.forward


def _dropout(layer: nn.Dropout, share: Share, x: Tensor) -> Tensor:
    """By the mask of the whole batch, from the global generator, which is seeded alike everywhere."""
    if not layer.training or not layer.p:
        return x
    each, rest = divmod(len(x), len(share.rows))  # rows of an example
    if rest:
        raise ValueError(f"dropout: expected rows for each of {len(share.rows)} examples, got {len(x)} rows")
    kept = F.dropout(x.new_ones(each * share.size, *x.shape[1:]), layer.p)
    return x * kept[each * share.rows.start : each * share.rows.stop]
