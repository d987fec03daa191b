"""Seconds, seconds of the processor and peak memory of a stretch of work."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import torch

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")  # writing 5 resets the high-water mark


@dataclass(frozen=True)
class Spent:
    seconds: float = 0.0
    cpu_seconds: float = 0.0  # of the processor, all threads
    memory_mb: float = 0.0  # at the peak

    def __add__(self, other: Spent) -> Spent:
        memory = max(self.memory_mb, other.memory_mb)
        return Spent(self.seconds + other.seconds, self.cpu_seconds + other.cpu_seconds, memory)


class Meter:
    """`with Meter(device) as m: ...` then `m.seconds`, `m.cpu_seconds` (of all threads) and `m.memory_mb`.

    On a GPU the memory is what torch allocated there, and the clock waits for the device. On a CPU it is the most
    that the whole process held during the stretch; where the system cannot reset that mark, since the process began.
    What was spent `before`, by a process that was killed, counts too.
    """

    def __init__(self, device: torch.device, before: Spent | None = None):
        self.device, self.before = device, before or Spent()
        self.seconds = self.cpu_seconds = self.memory_mb = 0.0

    def __enter__(self) -> Self:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
            torch.cuda.reset_peak_memory_stats(self.device)
        else:
            _reset_mark()
        self.start, self.cpu_start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        seconds, cpu_seconds = time.perf_counter() - self.start, time.process_time() - self.cpu_start
        total = self.before + Spent(seconds, cpu_seconds, peak_mb(self.device))
        self.seconds, self.cpu_seconds, self.memory_mb = total.seconds, total.cpu_seconds, total.memory_mb


def peak_mb(device: torch.device) -> float:
    """The most that was held since a meter last began."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    return _high_water_mb()


def _reset_mark() -> None:
    try:
        _RESET.write_text("5")
    except OSError:  # not Linux, or not allowed: the mark then counts from the start of the process
        return


def _high_water_mb() -> float:
    if _STATUS.exists():
        lines = _STATUS.read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
