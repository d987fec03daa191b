"""How much memory a method will take, counted without its arithmetic.

Its networks are made of fake tensors, which have shapes and no numbers; data are random. One training step and a
prediction in a few steps run on them, while all memory that comes and goes is watched. What grows with the batch does
so in proportion, so that one and two examples are enough; a prediction in pieces stops growing earlier.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from benchmark.core import Dataset, Memory, Task, Trajectories
from methods.blocks.conditioning import ObservedFrames, Shape
from methods.blocks.normaliser import Normaliser
from methods.blocks.training.loop import Stage
from methods.blocks.training.optimiser import default_groups
from methods.blocks.training.sharing import Draws, Share, pieces_of, shared_layers

if TYPE_CHECKING:
    from methods.blocks.learned import Learned

FEW = 2  # steps of a sampler, of which more take no more
STEPS = ("steps", "starts", "repeats")  # what settings of samplers call them
MOST = 8  # examples at once that are tried where a method bounds its memory itself


class Watch(TorchDispatchMode):
    """`with Watch() as w: ...` then `w.peak`: most bytes that tensors made inside held at one time."""

    def __init__(self):
        super().__init__()
        self.live = self.peak = 0
        self.known: dict[int, weakref.ref] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        source = args[0].untyped_storage()._cdata if args and isinstance(args[0], Tensor) else None
        for value in (out,) if isinstance(out, Tensor) else tree_leaves(out):
            if isinstance(value, Tensor) and value.untyped_storage()._cdata != source:  # a view, or changed in place
                self._add(value.untyped_storage())
        return out

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Else every operation asks torch's compiler, whose import alone takes seconds."""
        return False

    def _add(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self.known:
            return
        self.known[key] = weakref.ref(storage, lambda _: self._drop(key, size))
        self.live += size
        self.peak = max(self.peak, self.live)

    def _drop(self, key: int, size: int) -> None:
        del self.known[key]
        self.live -= size


def memory_of(method: Learned, task: Task, tasks: Sequence[Task], dataset: Dataset, videos: int) -> Memory:
    """Of a fit for `tasks` and of `videos` predicted for one of them, beside what the process has anyway; float32."""
    from methods.blocks.learned import Learned

    short = type(method)(few_steps(method.settings, method.sampling_settings))
    method, train = rehearsed(short, tasks, dataset)
    weights = size_of(method.net_)
    stages = method.stages(train, train, tasks, torch.device("cpu"))
    fit = max(weights + _training(stage, train) for stage in stages)
    method.net_.eval()
    bounded = method.memory_settings != Learned.memory_settings  # by more than the number of videos
    chunk = min(videos, method.settings.chunk)
    predicted = growing(lambda count: _prediction(method, task, dataset, count), chunk, MOST if bounded else 2)
    return Memory(fit, weights + predicted)


def rehearsed(method: Learned, tasks: Sequence[Task], dataset: Dataset) -> tuple[Learned, Trajectories]:
    """The same with networks that have no numbers, and two trajectories that it could be trained on."""
    method, train = type(method)(method.settings), stand_in(dataset, 2)
    method.normaliser_ = Normaliser.fit(train)
    observed = ObservedFrames.of(tasks, train.grid)
    method.observed_ = observed.state(len(train.grid.times))
    method.shape_ = Shape.of(train, observed, method.settings.coordinates)
    with FakeTensorMode(allow_non_fake_inputs=True):
        method.net_ = method.network(method.shape_)
    return method, train


def stand_in(dataset: Dataset, count: int, frames: int | None = None) -> Trajectories:
    """Random trajectories of a dataset's shape, of the length of those in its training set or of another."""
    frames, side, draws = frames or dataset.sizes.frames, dataset.sizes.resolution, torch.Generator().manual_seed(0)
    u = torch.randn(count, frames, side, side, len(dataset.channels), generator=draws)
    names = len(dataset.static_names)
    static = 1 + 0.1 * torch.rand(count, side, side, names, generator=draws) if names else None
    return Trajectories(u, dataset.grid(frames), dataset.equation(), static)


def fake(value: Tensor) -> Tensor:
    """A tensor of this shape without numbers; what is computed with it has none either."""
    return FakeTensorMode(allow_non_fake_inputs=True).from_tensor(value)


def size_of(model: nn.Module) -> int:
    return _bytes([*model.parameters(), *model.buffers()])


def growing(peak: Callable[[int], int], count: int, most: int = 2) -> float:
    """The peak of `count` examples, on a line through those of a few: of two, or up to `most` as long as it grows."""
    sizes, peaks = [1], [peak(1)]
    while (at := 2 * sizes[-1]) <= min(count, most):
        sizes.append(at)
        peaks.append(peak(at))
        if peaks[-1] < 1.5 * peaks[-2]:
            break
    if len(sizes) == 1:
        return peaks[0]
    slope = max(0.0, (peaks[-1] - peaks[-2]) / (sizes[-1] - sizes[-2]))
    return max(max(peaks), peaks[-1] + slope * (count - sizes[-1]))


def _training(stage: Stage, train: Trajectories) -> float:
    """Averaged and best weights, the optimiser's state, and what a step holds.

    Gradients are complete when activations are gone: with few examples the peak lies at the end of the backward pass
    and hardly grows, with many it lies between the passes. The larger of the two lines counts. Of a batch in pieces the
    random numbers of all, and the largest piece.
    """
    s, model = stage.training, stage.model.train()
    kept = size_of(model) * (2 if s.validations and s.keep == "best" else 1)
    muon = s.optimiser.name == "muon"
    groups = stage.groups or default_groups(model)
    state = sum(_bytes(g.parameters) * (1 if muon and g.orthogonal else 2) for g in groups)

    pieces = pieces_of(range(s.batch), s.at_once)

    def step(count: int) -> tuple[int, int]:
        batch, rows, forward = stage.examples.batches(train, count, 0)(0, 0, 1), range(count), 0
        layers = shared_layers(model, Share(rows, s.batch)) if len(pieces) > 1 else nullcontext()
        with layers, Watch() as watch:
            for _ in pieces[:2]:  # the second beside the gradients of the first
                whole = torch.Generator().manual_seed(0)
                draws = Draws.of(0, whole, rows, s.batch) if len(pieces) > 1 else whole
                loss = stage.losses(model, batch, draws).mean()
                forward = watch.peak
                loss.backward()
        model.zero_grad()
        return forward, watch.peak

    one, two, most = step(1), step(2), max(map(len, pieces))
    return kept + state + max(a + (most - 1) * (b - a) for a, b in zip(one, two, strict=True))


@torch.no_grad()
def _prediction(method: Learned, task: Task, dataset: Dataset, count: int) -> int:
    draws = [torch.Generator().manual_seed(i) for i in range(count)]
    problem = task.observe(stand_in(dataset, count), draws)
    with Watch() as watch:
        method.answer(problem, draws)
    return watch.peak


def few_steps(settings: Any, names: Iterable[str], few: int = FEW) -> Any:
    """The settings with samplers of a few steps; `names` are those of settings that a prediction alone reads."""
    changes: dict[str, Any] = {}
    for name in {name.partition(".")[0] for name in names}:
        value = getattr(settings, name)
        if is_dataclass(value):
            changes[name] = few_steps(value, vars(value), few)
        elif name in STEPS:
            changes[name] = min(value, few)
    return replace(settings, **changes)


def _bytes(values: Iterable[Tensor]) -> int:
    return sum(value.numel() * value.element_size() for value in values)
