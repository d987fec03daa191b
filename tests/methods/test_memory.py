"""Memory counted on tensors without numbers, against exact counts and against what a process really takes."""

import pytest
import torch
from torch import nn

from benchmark.core import Run
from benchmark.planning.registry import registry
from benchmark.planning.settings import resolve
from methods.blocks.memory import Watch, growing, size_of
from methods.blocks.pieces import in_pieces
from tests.methods.heat import HeatDataset
from tests.methods.small import generators

KNOWN = registry()
LEARNED = [name for name in KNOWN.names("methods") if KNOWN.load("methods", name).kind == "learned"]


def test_the_most_that_lived_at_once_is_counted():
    with Watch() as watch:
        a = torch.zeros(1000)
        b = a + 1
        view = b.view(10, 100)  # no memory of its own
        assert watch.live == watch.peak == 8000
        del a
        c = view * 2
        assert watch.live == watch.peak == 8000
        del b, view, c
    assert watch.live == 0 and watch.peak == 8000


def test_memory_of_a_graph_lives_until_it_is_gone():
    layers = nn.Sequential(*(nn.Tanh() for _ in range(5)))
    with Watch() as watch:
        out = layers(torch.zeros(1000, requires_grad=True))
        assert watch.live == 6 * 4000  # the input and what each layer keeps
        del out
        assert watch.live == 0


def test_a_batch_in_pieces_takes_the_memory_of_a_piece():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 512), nn.Tanh(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 8))

    def peak(count, size):
        x = torch.zeros(count, 8, requires_grad=True)
        with Watch() as watch:
            torch.autograd.grad(in_pieces(net, size, x).sum(), x)
        return watch.peak

    assert peak(64, 4) < 1.3 * peak(8, 4) < 0.3 * peak(64, 64)


def test_what_grows_with_the_batch_is_extrapolated_and_what_does_not_is_not():
    assert growing(lambda n: 10 + 5 * n, 32) == 10 + 5 * 32
    assert growing(lambda n: 100 + 2 * n, 1) == 102
    assert growing(lambda n: 1000 * min(n, 4) + n, 32, most=8) == pytest.approx(4032, rel=0.01)
    tried = []
    growing(lambda n: tried.append(n) or 5 * n, 3)
    assert tried == [1, 2]


def test_a_batch_in_pieces_is_counted_as_one_piece_and_the_random_numbers_of_all():
    heat, task, cls = HeatDataset.small(16, 4), KNOWN.load("tasks", "cont_3"), KNOWN.load("methods", "videopde")

    def fit(**changes):
        settings = resolve(cls.profiles["smoke"], {f"training.{name}": value for name, value in changes.items()})
        return cls(settings).memory(task, [task], heat, 1).fit

    whole, pieces, small = fit(batch=32), fit(batch=32, at_once=8), fit(batch=8)
    noise = 24 * heat.trajectories("train", 1).u.nbytes
    assert small + noise <= pieces < 1.3 * (small + noise) < 0.6 * whole
    assert fit(batch=32, at_once=32) == whole


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNED)
def test_every_learned_method_knows_its_memory_at_paper_size(name):
    cls, dataset = KNOWN.load("methods", name), KNOWN.load("datasets", "navier_stokes")
    method, dataset, task = (
        cls(cls.profiles["paper"]),
        dataset(dataset.profiles["paper"]),
        KNOWN.load("tasks", "cont_3"),
    )
    if method.unsupported(task, dataset):
        task = KNOWN.load("tasks", "fwd_full")
    found = method.memory(task, [task], dataset, 100)
    weights = 4 * (method.parameters(task, dataset) or 0)
    assert found is not None
    assert max(4 * weights, 2**20) < found.fit + found.predict < 2**38  # 256 GB


CASES = [
    ("videopde", {"training.batch": 32}),
    ("videopde", {"training.batch": 32, "training.at_once": 8}),
    ("diffusionpde", {"training.batch": 64}),
    ("fno", {"training.batch": 32}),
    ("pino", {"training.batch": 16}),
    ("zhuang", {"training.batch": 32}),
]


@pytest.mark.slow
@pytest.mark.parametrize("name, changes", CASES)
def test_the_count_is_what_a_fit_and_a_prediction_take(name, changes):
    """Against all tensors of a real fit and a real prediction, with numbers and at the full batch."""
    heat, task = HeatDataset.small(32, 8), KNOWN.load("tasks", "fwd_full" if name == "pino" else "cont_3")
    cls = KNOWN.load("methods", name)
    few = {key: 2 for key in ("edm.steps",) if "edm" in vars(cls.profiles["laptop"])}
    method = cls(resolve(cls.profiles["laptop"], {"training.steps": 1, **few, **changes}))
    train = heat.trajectories("train", 64)
    problem = task.observe(train[:8], generators(8))
    with Watch() as fit:
        method.fit(train, train[:1], [task], 0, Run())
    with Watch() as predict:
        method.predict(problem, 0)
    found = method.memory(task, [task], heat, 8)
    assert found.fit == pytest.approx(fit.peak, rel=0.3)
    assert found.predict == pytest.approx(predict.peak + size_of(method.net_), rel=0.3)
