"""How fast a machine computes, so that what is counted can be told in hours.

    seconds = flop / (USED x rate of its precision) + bytes / (STREAMED x bandwidth)

The two add up: a kernel waits either for arithmetic or for memory, and few overlap. The shares are assumptions, not
measurements; they are what training in eager PyTorch commonly reaches, and every table says them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

from benchmark.core import Work
from benchmark.errors import UserError

Precision = Literal["bf16", "fp32"]

USED = 0.4  # of the rate of dense products
STREAMED = 0.6  # of the bandwidth


@dataclass(frozen=True)
class Machine:
    """One device. Rates in FLOP/s of dense products, without sparsity; bandwidth in bytes/s."""

    name: str
    bf16: float
    fp32: float  # without TF32, which torch leaves off for products
    bandwidth: float
    source: str = "data sheet"
    used: float = USED
    streamed: float = STREAMED
    width: float = 0.5  # of a number in bfloat16 to one in float32; 1: a CPU, which computes in float32
    memory: float = inf  # bytes, of a GPU

    def seconds(self, work: Work, precision: Precision) -> float:
        rate, width = (self.bf16, self.width) if precision == "bf16" else (self.fp32, 1.0)
        return work.flop / (self.used * rate) + width * work.bytes / (self.streamed * self.bandwidth)

    @property
    def assumption(self) -> str:
        rates = f"{self.fp32 / 1e12:.3g} TFLOP/s"
        if self.bf16 != self.fp32:
            rates = f"{self.bf16 / 1e12:.3g} (bfloat16) and {self.fp32 / 1e12:.3g} (float32) TFLOP/s"
        return (
            f"one {self.name}, assumed to reach {100 * self.used:.0f} % of {rates} and "
            f"{100 * self.streamed:.0f} % of {self.bandwidth / 1e9:.3g} GB/s ({self.source})"
        )


GPUS = {  # dense rates and memory of NVIDIA's data sheets
    gpu.name: gpu
    for gpu in (
        Machine("L40S", 362e12, 91.6e12, 864e9, memory=48e9),
        Machine("A40", 149.7e12, 37.4e12, 696e9, memory=48e9),
        Machine("A100", 312e12, 19.5e12, 2039e9, memory=80e9),  # SXM, 80 GB
        Machine("H100", 989e12, 67e12, 3350e9, memory=80e9),  # SXM, 80 GB
        Machine("H200", 989e12, 67e12, 4800e9, memory=141e9),
        Machine("4090", 165.2e12, 82.6e12, 1008e9, memory=24e9),
    )
}


def gpu(name: str) -> Machine:
    """By its name, however it is written."""
    found = {known.lower(): machine for known, machine in GPUS.items()}.get(name.lower().removeprefix("rtx").strip())
    if found is None:
        raise UserError(f"GPU {name!r} is not known; expected one of {', '.join(GPUS)}")
    return found
