"""The rates of the machine at hand, measured in a few seconds, for forecasts."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from benchmark.planning.machine import Machine
from benchmark.running.provenance import cpu_model, matmul_rate

SECONDS = 2.0  # of products
COPY = 2**25  # numbers that are copied, more than a cache holds
GPU_SIDE = 4096


def measure_machine(name: str = "auto", seconds: float = SECONDS) -> Machine:
    """What products and copies reach is what the shares of `Machine` are taken of."""
    kind = ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name
    device = torch.device(kind)
    if device.type == "cuda":
        fp32, bf16 = (_products(device, dtype, seconds / 2) for dtype in (torch.float32, torch.bfloat16))
        known = torch.cuda.get_device_properties(device)
        return Machine(known.name, bf16, fp32, _copies(device), "measured here", memory=known.total_memory)
    rate = 1e9 * matmul_rate(kind, seconds)  # a CPU trains in float32
    return Machine(
        cpu_model(), rate, rate, _copies(device), f"measured here, {torch.get_num_threads()} threads", width=1.0
    )


def _products(device: torch.device, dtype: torch.dtype, seconds: float) -> float:
    a = torch.ones(GPU_SIDE, GPU_SIDE, device=device, dtype=dtype)
    return 2 * GPU_SIDE**3 * _rate(lambda: a @ a, device, seconds)


def _copies(device: torch.device, seconds: float = 0.5) -> float:
    a = torch.ones(COPY, device=device)
    b = torch.empty_like(a)
    return 2 * a.nbytes * _rate(lambda: b.copy_(a), device, seconds)


def _rate(work: Callable[[], object], device: torch.device, seconds: float) -> float:
    """Times a second, the first one off the clock."""

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    work()
    wait()
    done, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds:
        work()
        wait()
        done += 1
    return done / spent
