"""Speed of the neural operators: `python -m tests.speed.operators`. Laptop size (32^2 x 8), one thread, one step old.

All trajectories of a test set go through the network together; the equation's residual hardly adds to a training step;
the form with an axis of time is what makes an FNO expensive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from benchmark.core import Run, Trajectories
from benchmark.planning.registry import registry
from methods.blocks.learned import Learned
from methods.blocks.training.examples import Observed
from tasks.observation import FWD_FULL
from tests.methods.small import generators, load
from tests.speed.measure import interleaved, parser, report, sized, warn_if_busy


@cache
def data() -> Trajectories:
    cls = registry().load("datasets", "kolmogorov")
    settings = cls.profiles["laptop"]
    sizes = replace(settings.sizes, train=sized(32, 8), long_frames=None)
    return load(cls(replace(settings, sizes=sizes, clips_per_run=1, burn_in=1.0)), "train")


def fitted(name: str, **architecture: Any) -> Learned:
    """After one step."""
    cls = registry().load("methods", name)
    settings = cls.profiles["laptop"]
    training = replace(settings.training, steps=1, validations=0)
    settings = replace(settings, training=training, symmetries=False)
    settings = replace(settings, architecture=replace(settings.architecture, **architecture))
    return cls(settings).fit(data(), data(), [FWD_FULL], 0, Run())


def step(method: Learned, batch: int = 8) -> Callable[[], object]:
    """One training step without the optimiser."""
    truth = data()[:batch]
    examples = Observed(truth, FWD_FULL.observe(truth, generators(batch)))
    weights = [p for p in method.net_.parameters() if p.requires_grad]

    def run() -> object:
        return torch.autograd.grad(method.losses(method.net_, examples, torch.Generator()).mean(), weights)

    return run


def predict(method: Learned, size: int) -> Callable[[], object]:
    """All of them, `size` at a time."""
    problem = FWD_FULL.observe(data(), generators(len(data())))
    return lambda: [method.predict(problem[i : i + size], 0) for i in range(0, len(problem), size)]


def main() -> None:
    parser(__doc__).parse_args()
    warn_if_busy()
    torch.set_num_threads(1)
    rows = []
    for name in ("fno", "pino", "deeponet"):
        method = fitted(name)
        assert method.settings.chunk >= len(data())
        times = interleaved({"together": predict(method, len(data())), "one by one": predict(method, 1)}, repeats=5)
        rows.append(
            (
                f"{name}: {len(data())} predictions together over one by one",
                times["one by one"] / times["together"],
                ">= 1",
            )
        )
    times = interleaved({name: step(fitted(name)) for name in ("fno", "pino")}, repeats=5)
    rows.append(("a step of pino over one of fno", times["pino"] / times["fno"], "<= 1.6"))
    forms = ("2d", "recurrent", "3d")
    times = interleaved({form: step(fitted("fno", form=form, time_modes=8)) for form in forms}, repeats=3)
    rows += [(f"fno: a step of form {form} over one of 2d", times[form] / times["2d"], ">= 1") for form in forms[1:]]
    report(rows)


if __name__ == "__main__":
    main()
