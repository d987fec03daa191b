"""Official files -> the suite's files: chooses frames and splits, writes block by block, checks the statistics.

Memory is bounded by a block of samples (and, for a version 5 MATLAB file, by its largest variable), not by the set. An
interrupted import takes up where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmark.core import Dataset, Split
from datasets.generate import SPLITS, Progress, locked
from datasets.layout import DataError, split_path
from datasets.official.diffusionpde import open_diffusionpde
from datasets.official.parts import Block, OfficialSet, Part, identity, readable, require_values
from datasets.official.poseidon import open_poseidon
from datasets.official.reference import Statistic, check_statistics
from datasets.official.shu import open_shu
from datasets.store import open_checked
from datasets.writer import SplitWriter

VERSION = 1  # raise it when a change of the importer moves the data
OPENERS: dict[str, Callable[[Dataset, Path], OfficialSet]] = {
    "wave_layer": open_poseidon,
    "allen_cahn": open_poseidon,
    "navier_stokes": open_diffusionpde,
    "helmholtz": open_diffusionpde,
    "kolmogorov": open_shu,
}
TEST_SEEDS, VALID_SEEDS = 4, 1  # of the 40 Kolmogorov runs


@dataclass(frozen=True)
class ImportSettings:
    """Which frames, and which samples are for what. A sample is a trajectory; for Kolmogorov, a seed's whole run.

    The test samples are the last ones (as in VideoPDE's Wave-Layer), or the first ones of a separate test file. The
    validation samples are the last of the others, so never out of the test set. None: the profile's numbers, and for
    Kolmogorov the last 4 seeds for test (as upstream) and 1 for validation.
    """

    first_frame: int = 0  # 0: starts with the initial state (wave 0..19, Navier-Stokes 0..9); 1: the frames after it
    test: int | None = None
    valid: int | None = None
    test_stride: int | None = None  # Kolmogorov: frames between test clips; None: the profile's number of them, evenly
    limit: int | None = None  # samples per split at most; None: all

    def __post_init__(self) -> None:
        lowest = {"first_frame": 0, "test": 1, "valid": 1, "test_stride": 1, "limit": 1}
        for name, low in lowest.items():
            value = getattr(self, name)
            if value is not None and value < low:
                raise ValueError(f"{name}: expected {low} or more, got {value}")


@dataclass(frozen=True)
class ImportReport:
    dataset: str
    inputs: tuple[str, ...]
    samples: dict[Split, int]
    times: tuple[float, ...]  # of the frames kept
    statistics: tuple[Statistic, ...]
    warnings: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether no published statistic is missed."""
        return all(s.verdict != "differs" for s in self.statistics)


def import_official(
    dataset: Dataset,
    source: Path,
    root: Path,
    *,
    settings: ImportSettings,
    progress: Progress | None = None,
) -> ImportReport:
    """Store the official files at `source` (a file or folder) as the dataset's train, valid and test splits."""
    if dataset.name not in OPENERS:
        raise DataError(f"{dataset.name}: no official files are known; it has {', '.join(OPENERS)}")
    if not source.exists():
        raise DataError(f"{source}: no such file or folder; give the official file or the folder that holds it")
    official = OPENERS[dataset.name](dataset, source)
    frames, short = choose_frames(dataset, official, settings)
    samples = choose_samples(dataset, official, settings)
    grid = replace(dataset.grid(dataset.sizes.frames), times=official.times[frames])
    common = {"dataset": dataset.name, "importer": VERSION, "settings": asdict(settings), "inputs": _inputs(official)}
    paths: dict[Split, Path] = {split: split_path(dataset, split, root) for split in SPLITS}
    for split in SPLITS:
        recipe = {**common, "split": split, "samples": [samples[split].start, samples[split].stop],
                  "clip_stride": _clip_stride(dataset, split, settings)}  # fmt: skip
        parts = official.test if split == "test" and official.test else official.train
        with locked(paths[split]):
            if not _is_imported(paths[split], recipe):
                writer = SplitWriter(paths[split], dataset, len(samples[split]), grid, "official", recipe)
                _import_split(writer, parts, samples[split], frames, f"{dataset.name} {split}", progress)
    return ImportReport(
        dataset.name,
        tuple(path.name for path in official.inputs),
        {split: len(samples[split]) for split in SPLITS},
        grid.times,
        check_statistics(dataset.name, paths),
        official.warnings + short,
    )


def choose_frames(dataset: Dataset, official: OfficialSet, settings: ImportSettings) -> tuple[slice, tuple[str, ...]]:
    """The frames to keep, an even number of them, and a word if they are fewer than the profile's."""
    first, asked = settings.first_frame, dataset.sizes.frames
    left = len(official.times) - first
    count = left if official.whole_runs else asked if left >= asked else left // 2 * 2
    if count < (asked if official.whole_runs else 2):
        raise DataError(f"{official.inputs[0]}: expected {asked} frames from frame {first} on, found {max(left, 0)}; "
                        "choose an earlier `first_frame`")  # fmt: skip
    short = f"{dataset.name}: {count} frames are kept, the profile has {asked}"
    return slice(first, first + count), (short,) if count < asked else ()


def choose_samples(dataset: Dataset, official: OfficialSet, settings: ImportSettings) -> dict[Split, range]:
    """Sample numbers of each split; those of test count in the test files where there are any."""
    sizes = dataset.sizes
    test, valid = (TEST_SEEDS, VALID_SEEDS) if official.whole_runs else (sizes.test, sizes.valid)
    test, valid = settings.test or test, settings.valid or valid
    total = sum(part.count for part in official.train)
    end = total if official.test else total - test  # of what is not for test
    if end - valid < 1:
        raise DataError(f"{official.inputs[0]}: expected more than {valid + total - end} samples ({total - end} for "
                        f"test, {valid} for validation), found {total}; set `test` and `valid` lower")  # fmt: skip
    tests = range(min(test, sum(p.count for p in official.test))) if official.test else range(end, total)
    return {"train": range(end - valid)[: settings.limit], "valid": range(end - valid, end)[: settings.limit],
            "test": tests[: settings.limit]}  # fmt: skip


def _clip_stride(dataset: Dataset, split: Split, settings: ImportSettings) -> int | None:
    """Frames between the clips cut out of a stored run; None leaves it to the reader."""
    return {"train": dataset.layout("train").stride, "valid": None, "test": settings.test_stride}[split]


def _inputs(official: OfficialSet) -> list[dict[str, Any]]:
    result = []
    for path in official.inputs:
        with readable(path):
            result.append(identity(path))
    return result


def _is_imported(path: Path, recipe: dict[str, Any]) -> bool:
    if not path.exists():
        return False
    with open_checked(path) as file:
        return file.attrs["source"] == "official" and json.loads(str(file.attrs["recipe"])) == recipe


def _import_split(
    writer: SplitWriter, parts: Sequence[Part], samples: range, frames: slice, what: str, progress: Progress | None
) -> None:
    with writer:
        missing = writer.missing()
        left = samples[missing[0] :] if missing else samples[:0]  # runs are written in order
        for start, u, static in _blocks(parts, left, frames):
            runs = [start + k - samples.start for k in range(len(u))]
            writer.write(runs, u, static)
            if progress:
                progress(what, len(writer.done), len(samples))


def _blocks(parts: Sequence[Part], samples: range, frames: slice) -> Iterator[Block]:
    """The named samples of consecutive files, numbered through."""
    offset = 0
    for part in parts:
        start, stop = max(samples.start - offset, 0), min(samples.stop - offset, part.count)
        if start < stop:
            for first, u, static in part.blocks(start, stop, frames):
                require_values(part.path, first, u)
                yield offset + first, u, static
        offset += part.count


__all__ = ["ImportReport", "ImportSettings", "choose_frames", "choose_samples", "import_official"]
