"""Smoke fits of every learned method, alone or shared by the processes that torchrun starts.

    python -m torch.distributed.run --standalone --nproc-per-node=2 -m tests.methods.shared_fits DATA FOLDER

Every step is logged, and fits are short: rounding differs with the number of processes, and training amplifies it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import save_file
from torch import Tensor

from benchmark.core import Method, Run
from benchmark.planning.plan import plan
from benchmark.planning.request import Request
from benchmark.planning.resolve import Resolver
from datasets.generate import ensure_data
from datasets.store import open_split
from methods.blocks.training import loop
from methods.blocks.training.checkpoint import read_log

CONT = [
    "videopde",
    "videopde_unified",
    "videopde_kriged",
    "fno",
    "deeponet",
    "voronoi_unet",
    "senseiver",
    "diffusionpde",
    "diffusionpde_ext",
    "fundps",
    "shu",
    "zhuang",
    "eci",
    "sda",
    "ablation_mixed",
    "ablation_concat",
    "ablation_latent",
    "ablation_flat",
    "ablation_hierarchical",
]
CASES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    **{name: (name, "cont_3", "navier_stokes", ()) for name in CONT},
    **{name: (name, "fwd_full", "navier_stokes", ()) for name in ("pino", "pino_refined")},
    "two pair models": ("diffusionpde_ext", "cont_3", "navier_stokes", ("shared=false", "training.steps=100")),
    "a steady problem": ("deeponet", "fwd_full", "helmholtz", ()),
    "symmetries": ("videopde", "fwd_partial", "navier_stokes", ("symmetries=true",)),
    "dropout": ("diffusionpde", "cont_3", "navier_stokes", ("architecture.dropout=0.2",)),
    "uneven shares": ("shu", "cont_3", "navier_stokes", ("training.batch=7",)),
}


def request(case: str, data: Path, *more: str) -> Request:
    method, task, dataset, overrides = CASES[case]
    return Request((method,), (task,), (dataset,), profile="smoke", device="cpu", budget=0.1,
                   overrides=(*overrides, *more), data=data)  # fmt: skip


def fit(case: str, data: Path, folder: Path, *more: str) -> Method:
    asked = request(case, data, *more)
    cell = Resolver.of(asked).resolve(plan(asked)[0].cell)
    train, valid = (open_split(cell.dataset, split, data) for split in ("train", "valid"))
    report, loop.REPORT = loop.REPORT, 1e-9
    try:
        return cell.method(cell.settings).fit(train, valid, cell.tasks, 0, Run(folder=folder))
    finally:
        loop.REPORT = report


def make_data(root: Path) -> Path:
    for case in ("fno", "a steady problem"):
        asked = request(case, root)
        ensure_data(Resolver.of(asked).resolve(plan(asked)[0].cell).dataset, root, ("train", "valid"))
    return root


def check_alike(folder: Path, state: Mapping[str, Tensor], other: Path, learned: Mapping[str, Tensor]) -> None:
    """Two fits have the same losses at every step, and the same weights, to rounding."""
    logs = sorted(path.relative_to(folder) for path in folder.rglob("log.jsonl"))
    assert logs and logs == sorted(path.relative_to(other) for path in other.rglob("log.jsonl"))
    for log in logs:
        rows, others = (read_log((root / log).parent) for root in (folder, other))
        assert [row["step"] for row in rows] == [row["step"] for row in others]
        for row, another in zip(rows, others, strict=True):
            for name in {"loss", "valid"} & row.keys():
                assert another[name] == pytest.approx(row[name], rel=1e-5), f"{name} at step {row['step']}"
    for name, value in state.items():
        if name != "flop_":  # each tensor as a whole: Adam turns rounding of a gradient near zero into a step
            assert (learned[name] - value).abs().square().sum() <= 1e-6 * value.abs().square().sum(), name


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    for name in CASES:
        method = fit(name, Path(sys.argv[1]), Path(sys.argv[2]) / name)
        if dist.get_rank() == 0:
            state = {key: value.contiguous().clone() for key, value in method.state().items()}
            save_file(state, Path(sys.argv[2]) / name / "state.safetensors")
    dist.destroy_process_group()
