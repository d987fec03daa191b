"""Where curves of fits and scores of cells can be watched, beside their logs and records: TensorBoard or wandb.

Both are optional packages, imported when a cell begins.

    tensorboard   runs/tensorboard/<profile>/<dataset>/<task>/<cell>/, for `tensorboard --logdir runs/tensorboard`
    wandb         one run a cell in the project `pde-video-benchmark`; WANDB_MODE=offline keeps it in runs/wandb/
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from benchmark.errors import UserError
from benchmark.planning.resolve import Resolved

PROJECT = "pde-video-benchmark"


class Logger(Protocol):
    def curve(self, step: int, values: Mapping[str, float]) -> None: ...

    def scores(self, values: Mapping[str, float]) -> None:
        """Numbers of the whole cell."""
        ...

    def close(self) -> None: ...


class TensorBoard:
    """Written anew each time: the log of a fit has its whole curve."""

    def __init__(self, cell: Resolved, runs: Path):
        from torch.utils.tensorboard import SummaryWriter

        folder = runs / "tensorboard" / cell.cell.path(Path()).with_suffix("")
        shutil.rmtree(folder, ignore_errors=True)
        self.writer = SummaryWriter(str(folder))

    def curve(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(f"fit/{name}", value, step)

    def scores(self, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, 0)

    def close(self) -> None:
        self.writer.close()


class WandB:
    def __init__(self, cell: Resolved, runs: Path):
        import wandb

        runs.mkdir(parents=True, exist_ok=True)
        names = {"task": cell.cell.task, "dataset": cell.cell.dataset, "method": cell.cell.label}
        self.run: Any = wandb.init(
            project=PROJECT, name=str(cell.cell), group=cell.cell.method, config=names | cell.identity, dir=str(runs)
        )
        self.run.define_metric("fit/*", step_metric="step")

    def curve(self, step: int, values: Mapping[str, float]) -> None:
        self.run.log({"step": step, **{f"fit/{name}": value for name, value in values.items()}})

    def scores(self, values: Mapping[str, float]) -> None:
        self.run.summary.update(dict(values))

    def close(self) -> None:
        self.run.finish()


LOGGERS: dict[str, Callable[[Resolved, Path], Logger]] = {"tensorboard": TensorBoard, "wandb": WandB}


def check_logger(name: str) -> None:
    """Before any cell runs."""
    if find_spec(name) is None:
        raise UserError(f"--log {name}: the package is not installed; pip install '.[{name}]'")
