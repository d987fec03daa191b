"""How a network is trained: a `Stage` says on which examples, by which losses and for how long, `fit_loop` does it.

A fit is one stage or several, and this is the one training loop of all learned methods. The model ends with the
averaged weights that did best on `valid`. All that is random in step k is seeded by (seed, k), and the batch of step k
is a function of (seed, k): a fit that was killed goes on from its last checkpoint and, on a CPU, ends with the same
bits as an undisturbed one. The processes of a process group share each batch (`fabric.py`, `sharing.py`): they learn
what one process would, to rounding, and so does one that takes its share in pieces (`Training.at_once`). The first of
them alone validates and writes.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from benchmark.core import Run, TrajectorySet
from benchmark.core.flop import Flop
from methods.blocks.training import checkpoint
from methods.blocks.training.batches import Batches, Stream, ahead, derived_seed
from methods.blocks.training.budget import MEMORY, Progress, Training
from methods.blocks.training.examples import Examples
from methods.blocks.training.fabric import make_fabric
from methods.blocks.training.optimiser import Ema, Group, default_groups, make_optimisers, set_rate
from methods.blocks.training.sharing import Draws, Share, pieces_of, share_of, shared_layers
from methods.blocks.training.symmetry import Symmetries

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lightning_fabric import Fabric

Losses = Callable[[nn.Module, Any, torch.Generator], Tensor]  # model, examples, draws -> of each example: (B,)
Loss = Callable[[nn.Module, Any, torch.Generator], Tensor]  # model, batch, draws (on its device) -> mean over the batch
Validate = Callable[[nn.Module], float]  # averaged model, in eval mode and without gradients -> error; lower is better

PART = 16  # validation examples at once
REPORT = 1.0  # seconds between reports, about
EXPLOSION = 1e3  # a loss this many times that of the first step has diverged


@dataclass(frozen=True)
class Stage:
    model: nn.Module  # trained in place
    examples: Examples
    losses: Losses
    training: Training
    validation: int  # examples of `valid` that choose among the weights; 0: the last ones stay
    errors: Losses | None = None  # what is validated; default: the losses
    groups: Sequence[Group] | None = None  # of parameters; default: `default_groups`
    name: str = ""  # of a folder of its own, where a fit has several stages

    def fit(
        self,
        train: TrajectorySet,
        valid: TrajectorySet,
        seed: int,
        run: Run,
        symmetries: Symmetries,
    ) -> Progress:
        """Each training example is turned by one of the symmetries."""
        folder = run.folder if run.folder is None or not self.name else run.folder / self.name
        batches = self.examples.batches(train, self.training.batch, seed)
        validate = self.validate(valid) if self.validation and len(valid) else None
        own = replace(run, folder=folder)
        loss = partial(self._loss, symmetries=symmetries, shape=train.grid.shape)
        return fit_loop(self.model, loss, batches, self.training, own, seed, validate, self.groups)

    def _loss(
        self, model: nn.Module, batch: Any, draws: torch.Generator, symmetries: Symmetries, shape: tuple[int, int]
    ) -> Tensor:
        if len(symmetries) > 1:
            batch = self.examples.turned(batch, symmetries.draw(len(batch), shape, draws))
        return self.losses(model, batch, draws).mean()

    def validate(self, valid: TrajectorySet) -> Validate:
        """The mean error over examples, noise levels and noise that are the same for every fit."""
        examples, errors = self.examples.fixed(valid, self.validation), self.errors or self.losses

        def validate(model: nn.Module) -> float:
            device = next(model.parameters()).device
            draws = torch.Generator(device).manual_seed(0)
            parts = [examples[i : i + PART].to(device) for i in range(0, len(examples), PART)]
            return float(torch.cat([errors(model, part, draws) for part in parts]).mean())

        return validate


def fit_loop(
    model: nn.Module,
    loss: Loss,
    batches: Batches,
    settings: Training,
    run: Run,
    seed: int,
    validate: Validate | None = None,
    groups: Sequence[Group] | None = None,
) -> Progress:
    """Train `model` in place; it is left in eval mode on the run's device. `groups`: default `default_groups(model)`.

    A checkpoint of the same settings and seed in `run.folder` is continued; two fits in one folder need a subfolder
    each. Without `validate` the last averaged weights are kept. A loss that explodes or is not finite is a ValueError.
    """
    start = time.monotonic()
    fabric = make_fabric(run.device, settings.precision)
    with torch.random.fork_rng(devices=[fabric.device] if fabric.device.type == "cuda" else []):
        fit = _Fit(fabric, model, loss, settings, run, seed, validate, groups, start)
        with fit.shared():
            fit.resume()
            fit.train(batches)
            return fit.finish()


class _Fit:
    """Steps in stretches of about a second; whatever needs the loss as a number waits for the end of a stretch."""

    def __init__(
        self,
        fabric: Fabric,
        model: nn.Module,
        loss: Loss,
        settings: Training,
        run: Run,
        seed: int,
        validate: Validate | None,
        groups: Sequence[Group] | None,
        start: float,
    ):
        self.fabric, self.model, self.loss, self.settings, self.run = fabric, model, loss, settings, run
        self.seed, self.validate, self.start = seed, validate, start
        self.rank, self.world = fabric.global_rank, fabric.world_size
        share = share_of(settings.batch, self.rank, self.world)
        self.pieces = pieces_of(share, settings.at_once)
        self.share = Share(share, settings.batch)  # while a piece is worked on, that piece
        self.is_divided = self.world > 1 or len(self.pieces) > 1
        model.to(fabric.device).train()
        self.ema = Ema(model, settings.ema, settings.ema_power)
        self.optimisers = make_optimisers(settings.optimiser, groups or default_groups(model))
        network: Any = torch.compile(model) if settings.compile else model
        self.network, *self.steppers = fabric.setup(network, *self.optimisers)
        self.progress = Progress()
        self.best: checkpoint.Weights | None = None
        self.before = self.saved = 0.0  # seconds spent before this process, and at the last checkpoint
        self.resumed = 0.0  # fraction of the budget spent before this process
        self.pace = REPORT  # seconds a step

    # -- the course of a fit

    def shared(self) -> AbstractContextManager[None]:
        return shared_layers(self.model, self.share) if self.is_divided else nullcontext()

    def train(self, batches: Batches) -> None:
        stream = ahead(batches, self.progress.steps, self.fabric.device, self.rank, self.world)
        folder = self.run.folder if self.fabric.is_global_zero else None
        with closing(stream), checkpoint.TrainingLog(folder, self.progress.steps) as log:
            while self.fraction() < 1:
                rows = self.stretch(stream)
                log.write(self.progress.steps, **self.report(rows))
                if self.validation_due():
                    log.write(self.progress.steps, valid=self.run_validation())
                if self.progress.seconds - self.saved >= self.settings.checkpoint_seconds:
                    self.save()

    def stretch(self, stream: Iterator[Any]) -> Tensor:
        """Steps up to the next report: their losses and gradient norms (K, 2), the same on all processes."""
        begun, count = self.progress.seconds, self.stretch_length()
        first = [] if self.progress.step_flop or self.settings.compile else [self.counted_step(next(stream))]
        rows = torch.stack([*first, *(self.step(next(stream)) for _ in range(count - len(first)))])
        rows = cast(Tensor, self.fabric.all_reduce(rows, reduce_op="mean")).cpu()
        self.read_clock()
        self.pace = (self.progress.seconds - begun) / count
        self.check(rows)
        return rows

    def counted_step(self, batch: Any) -> Tensor:
        """One step stands for all: batches are alike. What is compiled cannot be counted."""
        with Flop() as flop:
            row = self.step(batch)
        total = self.fabric.all_reduce(torch.tensor(flop.count, device=self.fabric.device), reduce_op="sum")
        self.progress.step_flop = int(cast(Tensor, total))
        return row

    def step(self, batch: Any) -> Tensor:
        step = self.progress.steps
        set_rate(self.optimisers, self.settings.optimiser.rate(step, self.fraction()))
        value = torch.stack([self.backward(batch, number) for number in range(len(self.pieces))]).sum()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.optimiser.clip)
        for stepper in self.steppers:
            stepper.step()
            stepper.zero_grad()
        self.ema.update(self.model, step)
        self.progress.steps += 1
        return torch.stack([value, norm.float()])

    def backward(self, batch: Any, number: int) -> Tensor:
        """A piece's part in the loss; its gradient is added to that of the pieces before, and with the last one shared
        by all processes."""
        piece, first = self.pieces[number], self.pieces[0].start
        self.share.rows = piece
        draws, is_last = self.draws(Stream.STEP, number), piece is self.pieces[-1]
        if len(self.pieces) > 1:
            batch = batch[piece.start - first : piece.stop - first]
        with self.fabric.no_backward_sync(self.network, enabled=not is_last):
            value = self.loss(self.network, batch, draws)
            if self.is_divided:  # so that the mean over processes, of the sum over pieces, is that over the batch
                value = value * (len(piece) * self.world / self.settings.batch)
            self.fabric.backward(value)
        return value.detach().float()

    def run_validation(self) -> float:
        """On the first process, for all."""
        value = math.nan
        if self.fabric.is_global_zero and self.validate is not None:
            self.draws(Stream.VALIDATION)
            with torch.no_grad(), self.fabric.autocast():
                value = float(self.validate(self.ema.module))
        value = self.fabric.broadcast(value)
        if not math.isfinite(value):
            raise ValueError(f"training: the validation error at step {self.progress.steps} is {value}")
        self.progress.validated = self.settings.validations_by(self.progress)
        if value < self.progress.best:
            self.progress.best, self.progress.best_step = value, self.progress.steps
            self.best = checkpoint.snapshot(self.ema.module)
        self.read_clock()
        return value

    def finish(self) -> Progress:
        self.save()
        best = self.best if self.settings.keep == "best" else None
        checkpoint.load_weights(self.model, best or checkpoint.tensors(self.ema.module))
        self.model.eval()
        return self.progress

    # -- budget and time

    def fraction(self) -> float:
        return self.settings.fraction(self.progress)

    def stretch_length(self) -> int:
        """Steps up to the next report, on all processes: a second's worth, and not beyond the next validation."""
        room = self.settings.room(self.progress)
        return self.fabric.broadcast(max(1, min(room, round(REPORT / self.pace), 100)))

    def read_clock(self) -> None:
        """Seconds spent, before a resume too; the first process's clock counts."""
        self.progress.seconds = self.fabric.broadcast(self.before + time.monotonic() - self.start)

    def validation_due(self) -> bool:
        return self.validate is not None and self.settings.validations_by(self.progress) > self.progress.validated

    # -- randomness, trouble, news

    def draws(self, stream: Stream, piece: int = 0) -> torch.Generator:
        """The generator of this step; the global ones, which dropout uses, are seeded alike, for all pieces of all
        processes."""
        device, step = self.fabric.device, self.progress.steps
        seed, own = (derived_seed(self.seed, step, n, stream) for n in (0, self.rank + self.world * piece))
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            torch.cuda.manual_seed(seed)
        whole = torch.Generator(device).manual_seed(derived_seed(seed))
        return Draws.of(derived_seed(own), whole, self.share.rows, self.share.size) if self.is_divided else whole

    def check(self, rows: Tensor) -> None:
        """Refuse losses and gradients that are not finite, and losses far above the first."""
        if self.progress.first_loss is None:
            self.progress.first_loss = float(rows[0, 0])
        limit = EXPLOSION * max(abs(self.progress.first_loss), 1e-12)
        wrong = (~rows.isfinite()).any(1) | ~(rows[:, 0].abs() <= limit)
        if wrong.any():
            k = int(wrong.nonzero()[0])
            raise ValueError(
                f"training diverged at step {self.progress.steps - len(rows) + k}: loss {rows[k, 0]:.4g} "
                f"(first step: {self.progress.first_loss:.4g}), gradient norm {rows[k, 1]:.4g}; a lower lr may help"
            )

    def report(self, rows: Tensor) -> dict[str, float]:
        loss, norm = rows.mean(0).tolist()
        if self.fabric.is_global_zero:
            message = (
                f"step {self.progress.steps}/{self.settings.steps}, loss {loss:.4g}, {_clock(self.seconds_left())} left"
            )
            self.run.progress(message, min(1.0, self.fraction()))
        rate = self.settings.optimiser.rate(self.progress.steps - 1, self.fraction()) * self.settings.optimiser.lr
        return {"loss": loss, "gradient_norm": norm, "lr": rate, "seconds": round(self.progress.seconds, 3)}

    def seconds_left(self) -> float:
        here = self.progress.seconds - self.before
        return here * (1 - self.fraction()) / (self.fraction() - self.resumed)

    # -- checkpoints

    def save(self) -> None:
        """By the first process; the others go on."""
        self.saved = self.progress.seconds
        if self.run.folder is None or not self.fabric.is_global_zero:
            return
        weights = {"model": checkpoint.snapshot(self.model), "ema": checkpoint.snapshot(self.ema.module)}
        if self.best is not None:
            weights["best"] = self.best
        state = {
            "identity": self.identity(),
            "progress": asdict(self.progress),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
        }
        checkpoint.save(self.run.folder, self.progress.steps, weights, state)

    def resume(self) -> None:
        """All processes from the checkpoint that the first one finds undamaged."""
        if self.run.folder is None:
            return
        last = checkpoint.newest(self.run.folder) if self.fabric.is_global_zero else None
        name = self.fabric.broadcast(last and last.path.name)
        if name is None:
            return
        path, weights, state = last or checkpoint.load(self.run.folder / name)
        if state["identity"] != self.identity():
            raise ValueError(f"{path}: expected a fit with {self.identity()}, got {state['identity']}")
        checkpoint.load_weights(self.model, weights["model"])
        checkpoint.load_weights(self.ema.module, weights["ema"])
        self.best = weights.get("best")
        for optimiser, values in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(values)
        self.progress = Progress(**state["progress"])
        self.before = self.saved = self.progress.seconds
        self.resumed = self.fraction()

    def identity(self) -> str:
        settings = {name: value for name, value in asdict(self.settings).items() if name not in MEMORY}
        return json.dumps({"seed": self.seed, **settings}, sort_keys=True)


def _clock(seconds: float) -> str:
    """3725 -> 1:02:05, 65 -> 1:05."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02d}:{second:02d}" if hours else f"{minute}:{second:02d}"
