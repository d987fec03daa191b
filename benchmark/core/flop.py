"""How many floating-point operations a stretch of work takes: `with Flop() as flop: ...`, then `flop.count`.

Counted are matrix products, convolutions, attention and Fourier transforms, a product and a sum each as one; what is
done value by value is not. A complex product is four real ones, a Fourier transform of N values 5 N log2 N, half of
that if they are real. Kernels that torch has no formula for, such as natten's on CUDA, count nothing.

torch's own `FlopCounterMode` knows neither of the last two nor attention on a CPU, and hooks into modules; this only
looks at what is dispatched, and moves no bit of it.
"""

from __future__ import annotations

import math
from typing import Any, Self

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

aten = torch.ops.aten

ATTENTION = {  # the CPU's kernels take the same tensors first as those that torch has a formula for
    aten._scaled_dot_product_flash_attention_for_cpu: aten._scaled_dot_product_flash_attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward: aten._scaled_dot_product_flash_attention_backward,
}
FOURIER = {aten._fft_c2c: 5.0, aten._fft_r2c: 2.5, aten._fft_c2r: 2.5}


class Flop(TorchDispatchMode):
    """Counts while it is entered, on this thread and in the backward passes that start there."""

    supports_higher_order_operators = True

    def __enter__(self) -> Self:
        self.count = 0
        super().__enter__()
        return self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self.count += operations(getattr(func, "overloadpacket", func), args, kwargs or {}, out)
        return out


def operations(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> int:
    """Of one call; 0 where there is no formula."""
    if operator in FOURIER:
        return round(FOURIER[operator] * _transforms(args[0], out, args[1]))
    formula = flop_registry.get(ATTENTION.get(operator, operator))
    if formula is None:
        return 0
    return int(formula(*args, **kwargs, out_val=out)) * (4 if isinstance(out, Tensor) and out.is_complex() else 1)


def _transforms(x: Tensor, out: Tensor, dims: list[int]) -> float:
    """N log2 n, for N values, n of them in a transform; of two spectra the whole one counts."""
    whole = x if x.numel() >= out.numel() else out
    return whole.numel() * math.log2(math.prod(whole.shape[d] for d in dims))
