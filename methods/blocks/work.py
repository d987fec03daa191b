"""How much a method will compute, counted without its arithmetic, as `memory.py` counts its memory.

    flop    as `benchmark/core/flop.py` counts them: products, convolutions, attention, Fourier transforms
    bytes   read and written by all the rest and by Fourier transforms, which wait for memory; float32

One training step of one and of two examples, and predictions in a few steps of a sampler, run on tensors without
numbers. Both are on a line: of a step against the batch, of a prediction against evaluations of the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from benchmark.core import Dataset, Problem, Task, Trajectories, Work
from benchmark.core.flop import FOURIER, Flop, operations
from methods.blocks.memory import few_steps, rehearsed, stand_in
from methods.blocks.roll_out import windows
from methods.blocks.training.loop import Stage
from methods.blocks.training.optimiser import default_groups, make_optimisers

if TYPE_CHECKING:
    from methods.blocks.learned import Learned

FEWEST, MORE = 1, 2  # steps of a sampler
COPIES = 3 * 4  # bytes a parameter that its moving average reads and writes


class Traffic(Flop):
    """`with Traffic() as t: ...` then `t.work`."""

    def __enter__(self) -> Traffic:
        self.bytes = 0
        super().__enter__()
        return self

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        operator, made = getattr(func, "overloadpacket", func), _bytes(out)
        found = operations(operator, args, kwargs, out)
        self.count += found
        waits = not found or operator in FOURIER
        if made and waits and not func.is_view:  # a question for the device, say, makes no tensor and moves none
            self.bytes += made + _bytes((args, kwargs))
        return out

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Else every operation asks torch's compiler, whose import alone takes seconds."""
        return False

    @property
    def work(self) -> Work:
        return Work(self.count, self.bytes)


def fit_work(method: Learned, tasks: Sequence[Task], dataset: Dataset) -> Work:
    """Of a fit's training steps; its validations are about a hundredth of that."""
    method, train = rehearsed(method, tasks, dataset)
    stages = method.stages(train, train, tasks, torch.device("cpu"))
    return sum((stage.training.steps * _step(stage, train) for stage in stages), Work())


def prediction_work(method: Learned, task: Task, tasks: Sequence[Task], dataset: Dataset, frames: int) -> Work:
    """Of one sample of one trajectory of `frames` frames."""
    method, train = rehearsed(method, tasks, dataset)
    for _ in method.stages(train, train, tasks, torch.device("cpu")):  # what a fit measures beside its networks
        pass
    method.net_.eval()
    asked = _problem(task, dataset, frames)
    window = _problem(task, dataset, method.reach(asked))
    (first, one), (second, two) = (_answer(method, window, steps) for steps in (FEWEST, MORE))
    more = (method.evaluations(window) - first) / (second - first) if second > first else 0.0
    return windows(asked, method.reach(asked)) * (one + more * (two - one))


def _step(stage: Stage, train: Trajectories) -> Work:
    """Of a step's batch, with what the optimiser does once."""
    model, s = stage.model.train(), stage.training
    optimisers = make_optimisers(s.optimiser, stage.groups or default_groups(model))

    def gradients(count: int) -> Work:
        batch = stage.examples.batches(train, count, 0)(0, 0, 1)
        model.zero_grad()
        with Traffic() as traffic:
            stage.losses(model, batch, torch.Generator().manual_seed(0)).mean().backward()
        return traffic.work

    one, two = gradients(1), gradients(2)
    with Traffic() as traffic:
        for optimiser in optimisers:
            optimiser.step()
    model.zero_grad()
    average = Work(0, COPIES * sum(p.numel() for p in model.parameters()) if s.ema else 0)
    return one + (s.batch - 1) * (two - one) + traffic.work + average


@torch.no_grad()
def _answer(method: Learned, window: Problem, steps: int) -> tuple[int, Work]:
    """Evaluations of the network for one sample in so many steps, and their work."""
    method = copy(method)
    method.settings = few_steps(method.settings, method.sampling_settings, steps)
    with Traffic() as traffic:
        method.answer(window, [torch.Generator().manual_seed(0)])
    return method.evaluations(window), traffic.work


def _problem(task: Task, dataset: Dataset, frames: int) -> Problem:
    return task.observe(stand_in(dataset, 1, frames), [torch.Generator().manual_seed(0)])


def _bytes(values: Any) -> int:
    return sum(value.nbytes for value in tree_leaves(values) if isinstance(value, Tensor))
