"""Speed and memory of the datasets: `python -m tests.speed.data` (three minutes).

Solvers against the bare transforms they need, generation of the laptop profile from nothing, the reader against a
DataLoader over h5py, and the resident memory of paper-size generation and reading.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import torch

from benchmark.core import Sizes, Trajectories
from datasets.generate import ensure_data
from datasets.layout import recipe, split_path
from datasets.navier_stokes import NavierStokes
from datasets.store import StoredTrajectories, open_split
from datasets.writer import SplitWriter
from tests.speed.measure import interleaved, parser, report, sized, warn_if_busy

BATCH, N = 64, 64


def solver_rows() -> list[tuple[str, float, str]]:
    """One IFRK4 step of 64 trajectories at 64^2 in float32, in tiles, against its eight complex transforms."""
    torch.set_num_threads(1)
    dataset = NavierStokes(replace(NavierStokes.profiles["paper"], sizes=Sizes(N, 20, 1, 1, 1)))
    flow, tile = dataset.equation().flow(N, torch.float32, "cpu"), dataset.tile
    w_hat = [flow.modes(0.3 * torch.randn(tile, N, N)) for _ in range(BATCH // tile)]
    z = [torch.randn(tile, N, N, dtype=torch.complex64) for _ in w_hat]
    half = [torch.randn(tile, 2, N, N // 2 + 1, dtype=torch.complex64) for _ in w_hat]
    pair = [torch.randn(tile, 2, N, N) for _ in w_hat]

    def complex_transforms() -> None:
        for batch in z:
            for _ in range(4):
                torch.fft.fft2(torch.fft.ifft2(batch))

    def real_transforms() -> None:
        for spectrum, field in zip(half, pair, strict=True):
            for _ in range(4):
                torch.fft.irfft2(spectrum, s=(N, N))
                torch.fft.rfft2(field)

    with torch.inference_mode():
        steps = {"step": lambda: [flow.step(w, 0.01) for w in w_hat]}
        times = interleaved(steps | {"complex": complex_transforms, "real": real_transforms}, repeats=25)
    return [
        ("vorticity step / its own transforms (1 + 1 complex)", times["step"] / times["complex"], "<= 2"),
        ("vorticity step / transforms of the 2 + 2 real form", times["step"] / times["real"], "<= 2"),
    ]


def generation_rows(root: Path) -> list[tuple[str, float, str]]:
    began = time.perf_counter()
    what = ["data", "generate", "all", "--profile", sized("laptop", "smoke")]
    subprocess.run([sys.executable, "-m", "benchmark", *what, "--data", str(root)], check=True, capture_output=True)
    return [(f"{' '.join(what)}, seconds", time.perf_counter() - began, "<= 60")]


class PerSample(torch.utils.data.Dataset):
    """How most loaders read: one h5py index a sample."""

    def __init__(self, stored: StoredTrajectories):
        self.path, self.name, self.count, self.file = stored.path, stored.fields["u"].name, len(stored), None

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        self.file = self.file or h5py.File(self.path, "r")
        return torch.from_numpy(self.file[self.name][index])


def reader_rows(root: Path, runs: int = sized(1024, 32)) -> list[tuple[str, float, str]]:
    """Shuffled batches of 16 out of 20 x 128^2 trajectories, warm."""
    dataset = NavierStokes(replace(NavierStokes.profiles["paper"], sizes=Sizes(128, 20, runs, 1, 1)))
    path = split_path(dataset, "train", root)
    with SplitWriter(path, dataset, runs, dataset.grid(20), "generated", recipe(dataset)) as writer:
        block = np.random.default_rng(0).standard_normal((16, 20, 128, 128, 1), dtype=np.float32)
        for start in range(0, runs, 16):
            writer.write(list(range(start, start + 16)), block, None)
    stored = open_split(dataset, "train", root)
    loader = torch.utils.data.DataLoader(PerSample(stored), batch_size=16, shuffle=True)
    generator = torch.Generator().manual_seed(0)
    times = interleaved(
        {"ours": lambda: [len(b) for b in shuffled(stored, generator)], "loader": lambda: [len(b) for b in loader]}, 3
    )
    print(f"reader: {runs / times['ours']:.0f} trajectories/s, DataLoader over h5py: {runs / times['loader']:.0f}")
    return [("reader / DataLoader over per-sample h5py, speed", times["loader"] / times["ours"], ">= 2")]


def shuffled(stored: StoredTrajectories, generator: torch.Generator) -> Iterator[Trajectories]:
    """One shuffled pass in batches of 16."""
    return (stored[part] for part in torch.randperm(len(stored), generator=generator).split(16))


def memory_rows(root: Path) -> list[tuple[str, float, str]]:
    """Peak resident memory of a process that generates, and of one that reads, 3.4 GB of paper-size trajectories."""
    peaks = {}
    for what in ("generate", "read"):
        command = [sys.executable, "-m", "tests.speed.data", "--child", what, str(root), *sized([], ["--quick"])]
        peaks[what] = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
    return [
        ("paper-size generation, peak resident GB (parent and largest worker)", peaks["generate"], "<= 3"),
        ("paper-size full pass of the reader, peak resident GB", peaks["read"], "<= 3"),
    ]


def child(what: str, root: Path) -> None:
    dataset = NavierStokes(replace(NavierStokes.profiles["paper"], sizes=Sizes(128, 20, sized(2560, 32), 1, 1), seed=1))
    if what == "generate":
        ensure_data(dataset, root, ("train",))
    else:
        for batch in shuffled(open_split(dataset, "train", root), torch.Generator().manual_seed(0)):
            assert batch.u.shape[1:] == (20, 128, 128, 1)
    own, workers = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print((own + (workers if what == "generate" else 0)) / 2**20)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--child", nargs=2, metavar=("WHAT", "DIR"), help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.child:
        return child(arguments.child[0], Path(arguments.child[1]))
    warn_if_busy()
    root = Path(os.environ.get("BENCHMARK_DATA") or tempfile.gettempdir())
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root) as folder:
        root = Path(folder)
        report(solver_rows() + generation_rows(root) + reader_rows(root) + memory_rows(root))


if __name__ == "__main__":
    main()
