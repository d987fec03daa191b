"""Does an FNO behave as one should? `python -m tests.speed.operator_study` prints a table, in about a minute.

Kolmogorov flow at 16^2 x 4, `fwd_full`, relative error on `valid`: more data, more modes and longer training each help.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import torch
from tabulate import tabulate

from benchmark.core import Run, Trajectories
from benchmark.planning.registry import registry
from methods.blocks.networks.fourier import Architecture
from methods.blocks.regression import relative_l2
from methods.fno import FNO, SMOKE
from tasks.observation import FWD_FULL
from tests.methods.small import generators, load
from tests.speed.measure import parser, sized

TRAIN, MODES, STEPS = sized((512, 10, 400), (8, 2, 2))
STUDIES = sized(
    {"train": (16, 64, 256, 512), "modes": (2, 4, 6, 10), "steps": (50, 100, 200, 400)},
    {"train": (4, 8), "modes": (2, 4), "steps": (1, 2)},
)


@cache
def data(split: str) -> Trajectories:
    cls = registry().load("datasets", "kolmogorov")
    settings = cls.profiles["smoke"]
    sizes = replace(settings.sizes, train=TRAIN, valid=sized(64, 4))
    return load(cls(replace(settings, sizes=sizes, clips_per_run=1)), split)


@cache
def error(train: int = TRAIN, modes: int = MODES, steps: int = STEPS) -> float:
    """In percent."""
    architecture = Architecture("2d", width=16, modes=modes, layers=3, projection=2)
    training = replace(SMOKE.training, steps=steps, batch=16, validations=0)
    settings = replace(SMOKE, architecture=architecture, training=training, symmetries=False)
    method = FNO(settings).fit(data("train")[:train], data("valid"), [FWD_FULL], 0, Run())
    valid = data("valid")
    answer = method.predict(FWD_FULL.observe(valid, generators(len(valid))), 0).u[0]
    return 100 * float(relative_l2(answer, valid.u, steady=False).mean())


def main() -> None:
    parser(__doc__).parse_args()
    torch.set_num_threads(1)
    valid = data("valid")
    still = relative_l2(valid.u[:, :1].expand_as(valid.u), valid.u, steady=False).mean()
    rows = [
        [f"{name} = {', '.join(map(str, values))}", ", ".join(f"{error(**{name: value}):.1f}" for value in values)]
        for name, values in STUDIES.items()
    ]
    print(tabulate(rows, ["varied", "relative error, %"], tablefmt="github"))
    print(f"otherwise train = {TRAIN}, modes = {MODES}, steps = {STEPS}; persistence: {100 * still:.1f}")


if __name__ == "__main__":
    main()
