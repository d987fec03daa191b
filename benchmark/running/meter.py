"""Seconds, seconds of the processor and peak memory of a stretch of work."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from typing import Self

import torch

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")  # writing 5 resets the high-water mark


class Meter:
    """`with Meter(device) as m: ...` then `m.seconds`, `m.cpu_seconds` (of all threads) and `m.memory_mb`.

    On a GPU the memory is what torch allocated there, and the clock waits for the device. On a CPU it is the most
    that the whole process held during the stretch; where the system cannot reset that mark, since the process began.
    """

    def __init__(self, device: torch.device):
        self.device = device
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
            self.memory_mb = torch.cuda.max_memory_allocated(self.device) / 2**20
        else:
            self.memory_mb = _high_water_mb()
        self.seconds = time.perf_counter() - self.start
        self.cpu_seconds = time.process_time() - self.cpu_start


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
