"""The promise of a method: fit, predict, and a word on what it cannot do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import torch
from torch import Tensor

from benchmark.core.keeper import Keeper
from benchmark.core.problem import Prediction, Problem
from benchmark.core.task import Task
from benchmark.core.trajectories import TrajectorySet

if TYPE_CHECKING:
    from benchmark.core.dataset import Dataset

Scope = Literal["task", "dataset", "instance"]
Kind = Literal["reference", "learned"]


@dataclass(frozen=True)
class Run:
    """What a fit may use beside its data: a device, a folder for checkpoints and logs, a budget, a way to be heard."""

    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    folder: Path | None = None  # kept until the cell is done; None: keep nothing
    progress: Callable[[str, float], None] = lambda message, fraction: None


@dataclass(frozen=True)
class Memory:
    """Bytes that a fit and a prediction take at most, beside those of any process."""

    fit: float
    predict: float


@dataclass(frozen=True)
class Work:
    """What is computed: floating-point operations (`core/flop.py`), and bytes that the rest reads and writes."""

    flop: float = 0.0
    bytes: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(self.flop + other.flop, self.bytes + other.bytes)

    def __sub__(self, other: Work) -> Work:
        return self + -1 * other

    def __rmul__(self, factor: float) -> Work:
        return Work(factor * self.flop, factor * self.bytes)


class Method(ABC):
    """fit, predict, and a word on what it cannot do.

    The constructor only stores the settings; learned values end in `_`; `fit` forgets any earlier fit; the same seed
    gives the same answer. `scope` says what one fit serves: one `task` of a dataset, all tasks of a `dataset`, or
    nothing (`instance`: all work happens in `predict`).
    """

    scope: ClassVar[Scope] = "task"
    kind: ClassVar[Kind] = "learned"  # tables rank learned methods; references frame them
    uses_equation: ClassVar[bool] = False  # knows the PDE beside the data
    stochastic: ClassVar[bool] = False  # answers are samples of a law; else one answer, and S = 1 is all it is asked
    version: ClassVar[int] = 1  # raise it when a change of the code moves the numbers
    parts: ClassVar[tuple[type[Method], ...]] = ()  # methods that this one is made of: their versions count too
    profiles: ClassVar[Mapping[str, Any]]  # profile name -> frozen settings dataclass
    source: ClassVar[str] = ""  # the paper to cite
    sampling_settings: ClassVar[tuple[str, ...]] = ()  # settings that `predict` alone reads: they need no new fit
    memory_settings: ClassVar[tuple[str, ...]] = ()  # settings that bound memory and move no number: part of no key
    budget_settings: ClassVar[tuple[str, ...]] = ()  # numbers that say how long training goes on, for `curve`
    shares_fits: ClassVar[bool] = False  # the processes of a torch.distributed group may make a fit together
    keeper: Keeper = Keeper()  # what `predict` may make its parts with; the runner's own keeps them

    def __init__(self, settings: Any):
        self.settings = settings

    def unsupported(self, task: Task, dataset: Dataset) -> str | None:
        """Why this method cannot do this task on this dataset, or None."""
        return None

    def aids(self, task: Task) -> tuple[str, ...]:
        """What it is given beside data and observations, for tables, such as coordinates as input."""
        return ()

    def remark(self, task: Task, dataset: Dataset) -> str | None:
        """What a table must say beside this score, such as where it leaves its source, or None."""
        return None

    def scored_trajectories(self) -> int | None:
        """How many test trajectories it is scored on at most, where all would cost too much; None: all.

        Tables show the number. Default: the setting `instances`, where the settings have one.
        """
        return getattr(self.settings, "instances", None)

    @abstractmethod
    def fit(self, train: TrajectorySet, valid: TrajectorySet, tasks: Sequence[Task], seed: int, run: Run) -> Self: ...

    @abstractmethod
    def predict(self, problem: Problem, seed: int, samples: int = 1) -> Prediction: ...

    def one_step(self, problem: Problem, seed: int) -> Prediction | None:
        """The answer in a single step of a method that samples in many; None: there is none.

        Records keep its error: many steps that are worse than one are a detour, and their samples are no law's.
        """
        return None

    def state(self) -> dict[str, Tensor]:
        """What a fit learned, as tensors, so that it can be stored. Default: every tensor whose name ends in `_`."""
        return {k: v for k, v in vars(self).items() if k.endswith("_") and isinstance(v, Tensor)}

    def restore(self, state: Mapping[str, Tensor], train: TrajectorySet) -> Self:
        """The inverse of `state`; `train` gives grid and equation to rebuild a network from."""
        vars(self).update(state)
        return self

    def parameters(self, task: Task, dataset: Dataset) -> int | None:
        """Numbers to learn, counted before any fit; None: known after one."""
        return 0 if self.kind == "reference" else None

    def memory(self, task: Task, tasks: Sequence[Task], dataset: Dataset, videos: int) -> Memory | None:
        """Of a fit for `tasks` and of `videos` predicted for `task`, counted before any fit; None: not known."""
        return None

    def fit_work(self, tasks: Sequence[Task], dataset: Dataset) -> Work | None:
        """Of a fit for `tasks`, counted before any; None: not known."""
        return None

    def prediction_work(self, task: Task, tasks: Sequence[Task], dataset: Dataset, frames: int) -> Work | None:
        """Of one sample of one trajectory of `frames` frames after such a fit, counted before any; None: not known."""
        return None

    def cost(self) -> dict[str, float]:
        """What the last fit took, as far as the method knows: `parameters`, `steps`."""
        return {"parameters": 0, "steps": 0}
