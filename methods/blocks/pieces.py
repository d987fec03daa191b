"""A network applied to a large batch piece by piece, so that its activations do not grow with the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint


def in_pieces(network: Callable[..., Tensor], size: int, *inputs: Tensor) -> Tensor:
    """network(*inputs), all (B, ...), for at most `size` elements at a time; it must treat each for itself.

    Where a gradient is wanted, the activations of a batch that takes several pieces are not kept: those of one piece
    are computed again when the gradient passes through it (Chen et al. 2016). That costs a forward pass, and only
    inputs and outputs stay. The numbers are the same to the bit as without, of pieces of the same size.
    """
    if len(inputs[0]) <= size:
        return network(*inputs)
    pieces = zip(*(each.split(size) for each in inputs), strict=True)
    if not torch.is_grad_enabled():
        return torch.cat([network(*piece) for piece in pieces])
    return torch.cat([_recomputed(network, *piece) for piece in pieces])


def _recomputed(network: Callable[..., Tensor], *inputs: Tensor) -> Tensor:
    return cast(Tensor, checkpoint(network, *inputs, use_reentrant=False, preserve_rng_state=False))
