"""Work counted on tensors without numbers, against what is counted in real fits and predictions."""

import pytest
import torch
from torch import nn

from benchmark.core import Run, Work
from benchmark.core.flop import Flop
from benchmark.planning.registry import registry
from methods.blocks.memory import fake
from methods.blocks.work import Traffic
from tests.methods.heat import HeatDataset
from tests.methods.small import generators

KNOWN = registry()
LEARNED = [name for name in KNOWN.names("methods") if KNOWN.load("methods", name).kind == "learned"]
FEW = ("fno", "videopde")  # a regression and a sampler
SHARED = {  # what several videos need once, or iterations that stop earlier
    "deeponet": 3.0,
    "pinn": 3.0,
}


def test_products_are_flop_and_the_rest_is_bytes():
    x = fake(torch.zeros(10, 20))
    with Traffic() as traffic:
        y = x @ x.mT  # a transposed view moves nothing
        y.add_(1.0)
        y.exp()
    assert traffic.work == Work(2 * 10 * 20 * 10, 4 * 100 * 4)  # y read and written, twice
    layer, seen = nn.Linear(20, 5), torch.zeros(3, 20)
    with Traffic() as real:
        layer(seen)
    assert real.work == Work(2 * 3 * 20 * 5, 0)


def test_work_adds_up():
    assert 3 * (Work(1, 2) + Work(3, 4)) - Work(2, 8) == Work(10, 10)


def check(name):
    """FLOP of a whole fit to the digit; of a prediction but for what its batch shares."""
    heat, cls = HeatDataset.small(16, 4), KNOWN.load("methods", name)
    method = cls(cls.profiles["smoke"])
    cont, forward = (KNOWN.load("tasks", task) for task in ("cont_3", "fwd_full"))
    task = forward if method.unsupported(cont, heat) else cont
    train = heat.trajectories("train", 8)
    problem = task.observe(train[:2], generators(2))
    work, answer = method.fit_work([task], heat), method.prediction_work(task, [task], heat, 4)
    method.fit(train, train[:2], [task], 0, Run())
    with Flop() as flop:
        method.predict(problem, 0)
    assert (
        answer.bytes > 0
        and flop.count / 2 == pytest.approx(answer.flop, rel=0.03)
        or (name in SHARED and 1 <= answer.flop / (flop.count / 2) < SHARED[name])
    )
    if method.scope != "instance":
        assert work.flop == pytest.approx(method.cost()["fit_flop"], rel=1e-9) and work.bytes > 0


@pytest.mark.parametrize("name", FEW)
def test_the_forecast_of_a_small_fit_is_what_it_takes(name):
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(LEARNED) - set(FEW)))
def test_the_forecast_of_any_small_fit_is_what_it_takes(name):
    check(name)
