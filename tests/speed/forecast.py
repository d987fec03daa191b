"""Whether forecasts hold: `python -m tests.speed.forecast`. Laptop size (32^2 x 8), one thread, processor seconds.

Training steps of a few methods against what counted work and this machine's measured rates say of them. The shares that
a forecast takes of these rates are assumptions, so the bound is a factor.
"""

from __future__ import annotations

import time
from dataclasses import replace

import torch

from benchmark.core import Run, Trajectories
from benchmark.planning.machine import Machine
from benchmark.planning.registry import registry
from benchmark.running.calibrate import measure_machine
from methods.blocks.learned import Learned
from tasks.observation import CONT_3
from tests.methods.heat import HeatDataset
from tests.speed.measure import parser, report, sized, warn_if_busy

METHODS = ("fno", "voronoi_unet", "videopde", "zhuang", "eci")
FACTOR = "<= 4"
FEW, MANY = 2, sized(12, 3)  # steps of the fits that are compared


def method_of(name: str, steps: int) -> Learned:
    cls = registry().load("methods", name)
    settings = cls.profiles["laptop"]
    return cls(replace(settings, training=replace(settings.training, steps=steps, validations=0), symmetries=False))


def measured(name: str, train: Trajectories) -> float:
    """Seconds a step."""

    def fit(steps: int) -> float:
        start = time.process_time()
        method_of(name, steps).fit(train, train[:1], [CONT_3], 0, Run())
        return time.process_time() - start

    fit(1)  # whatever is made once
    return (fit(MANY) - fit(FEW)) / (MANY - FEW)


def said(name: str, heat: HeatDataset, machine: Machine) -> float:
    return machine.seconds(method_of(name, 1).fit_work([CONT_3], heat), "fp32")


def quiet_machine() -> Machine:
    """Its rates as they are without the work beside: it shares the clock, not the processor's seconds."""
    clock, spent = time.perf_counter(), time.process_time()
    machine = measure_machine("cpu", sized(4.0, 0.1))
    share = (time.process_time() - spent) / (time.perf_counter() - clock)
    fp32, bandwidth = machine.fp32 / share, machine.bandwidth / share
    return replace(machine, fp32=fp32, bandwidth=bandwidth)


def main() -> None:
    parser(__doc__).parse_args()
    warn_if_busy()
    torch.set_num_threads(1)
    heat, machine = HeatDataset.small(*sized((32, 8), (16, 4))), quiet_machine()
    train, rows = heat.trajectories("train", sized(64, 8)), []
    for name in sized(METHODS, METHODS[:1]):
        ratio = measured(name, train) / said(name, heat, machine)
        rows.append((f"{name}: measured over forecast is {ratio:.2f}; the factor", max(ratio, 1 / ratio), FACTOR))
    report(rows)


if __name__ == "__main__":
    main()
