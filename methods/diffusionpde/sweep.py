"""Chooses guidance on `valid`: one fit, then every combination of the values given.

    python -m methods.diffusionpde.sweep --dataset navier_stokes --task cont_3,fwd_full --observation 0.5,1,2
    python -m methods.diffusionpde.sweep --method diffusionpde_ext --task cont_1 --iterations 1,3,5 --physics 0,0.1,1
    python -m methods.diffusionpde.sweep --task cont_05 --steps 100 --update gradient --observation 1,3,10

Weights depend on the dataset, and with gradients of fixed length on the numbers of steps and sensors: run it again when
one of these changes. The fit is kept in the folder `--runs` and continued from there. The error is the mean relative
l2 error of the frames that are predicted, in percent, over `--limit` trajectories of `valid`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import torch

from benchmark.core import Run, Task, Trajectories
from methods.diffusionpde.base import PairMethod
from methods.diffusionpde.settings import Settings

NAMES = ("observation", "physics", "steps", "iterations")


def combinations(
    settings: Settings, values: Mapping[str, Sequence[float]]
) -> Iterator[tuple[dict[str, float], Settings]]:
    """Every choice of the values, and the settings with it; a name without values keeps its own."""
    for chosen in product(*(values.get(name) or [_current(settings, name)] for name in NAMES)):
        choice = dict(zip(NAMES, chosen, strict=True))
        edm = replace(settings.edm, steps=int(choice["steps"]))
        guidance = replace(settings.guidance, iterations=int(choice["iterations"]))
        weights = {name: choice[name] for name in ("observation", "physics")}
        yield choice, replace(settings, edm=edm, guidance=guidance, **weights)


def error(method: PairMethod, valid: Trajectories, task: Task, seed: int = 0) -> float:
    """Mean relative l2 error of the predicted frames, in percent; of each field, where the frames are fields."""
    generators = [torch.Generator().manual_seed(seed + i) for i in range(len(valid))]
    prediction = method.predict(task.observe(valid, generators), seed)
    frames = list(prediction.frames or range(valid.u.shape[1]))
    start = 2 if valid.equation.time_order == 0 else 1
    wrong, size = ((u[:, frames]).flatten(start).norm(dim=-1) for u in (prediction.u[0] - valid.u, valid.u))
    return 100 * float((wrong / size).mean())


def sweep(
    method: PairMethod, valid: Trajectories, tasks: Sequence[Task], values: Mapping[str, Sequence[float]]
) -> list[tuple[float, dict[str, float]]]:
    """(mean error over tasks, choice), the best first; the method's settings stay as they are."""
    before, rows = method.settings, []
    for choice, settings in combinations(before, values):
        method.settings = settings
        errors = [error(method, valid, task) for task in tasks]
        rows.append((sum(errors) / len(errors), choice))
        print(" ".join(f"{k}={v:g}" for k, v in choice.items()), *(f"{e:.2f} %" for e in errors), flush=True)
    method.settings = before
    return sorted(rows, key=lambda row: row[0])


def _current(settings: Settings, name: str) -> float:
    owner: Any = {"steps": settings.edm, "iterations": settings.guidance}.get(name, settings)
    return getattr(owner, name)


def main() -> None:
    arguments = _parser().parse_args()
    # a command joins the folders by name, as the runner does
    known, store = import_module("benchmark.registry").registry(), import_module("datasets.store")
    dataset_cls, cls = known.load("datasets", arguments.dataset), known.load("methods", arguments.method)
    dataset = dataset_cls(dataset_cls.profiles[arguments.profile])
    import_module("datasets.generate").ensure_data(dataset, arguments.data, ("train", "valid"))
    train, valid = (store.open_split(dataset, split, arguments.data) for split in ("train", "valid"))
    settings = cls.profiles[arguments.profile]
    if arguments.update:
        settings = replace(settings, guidance=replace(settings.guidance, update=arguments.update))
    tasks = [known.load("tasks", name) for name in arguments.task.split(",")]
    folder = arguments.runs / f"{arguments.method}-{arguments.dataset}-{arguments.profile}"
    folder.mkdir(parents=True, exist_ok=True)
    method = cls(settings).fit(train, valid, tasks, arguments.seed, Run(folder=folder))
    values = {name: [float(v) for v in getattr(arguments, name).split(",") if v] for name in NAMES}
    best, choice = sweep(method, valid[: arguments.limit], tasks, values)[0]
    print(f"best: {best:.2f} %", " ".join(f"--set {_path(k)}={v:g}" for k, v in choice.items()))


def _path(name: str) -> str:
    return {"steps": "edm.steps", "iterations": "guidance.iterations"}.get(name, name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", default="diffusionpde", choices=("diffusionpde", "diffusionpde_ext"))
    parser.add_argument("--dataset", default="navier_stokes")
    parser.add_argument("--task", default="cont_3", help="one or more, with commas")
    parser.add_argument("--profile", default="laptop")
    parser.add_argument("--update", choices=("gradient", "solve"), help="default: the profile's")
    for name in NAMES:
        parser.add_argument(f"--{name}", default="", help="values to try, with commas; default: the profile's")
    parser.add_argument("--limit", type=int, default=8, help="trajectories of `valid`")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs/sweep"), help="where the fit is kept")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("BENCHMARK_DATA", "data")))
    return parser


if __name__ == "__main__":
    main()
