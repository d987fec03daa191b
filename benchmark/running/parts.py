"""What there is of a prediction that is still being made, so that one which was killed goes on.

    runs/<profile>/<dataset>/<method>-s<seed>/.<task>.parts/      (.<task>@<variant>.parts/)
        <n>.safetensors    the parts that were made since the file before
        <n>.json           of which question, which parts, the digest of the file, what they took; written last

They are the answer to one question: another problem, fit, key, device or torch makes them anew, and what is damaged
too. The cell's record takes them away.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save_file

from benchmark.core import Keeper, Problem
from benchmark.core.keeper import EVERY, Part
from benchmark.records.files import replacing, write_json
from benchmark.records.strict import checked, finite, read_json
from benchmark.running.meter import Spent, peak_mb
from benchmark.running.provenance import now


class KeptParts(Keeper):
    """Of the question with this digest; with --overwrite, none from before `since`."""

    def __init__(
        self,
        folder: Path,
        question: str,
        device: torch.device,
        progress: Callable[[str, float], None],
        since: str | None = None,
    ):
        super().__init__(progress)
        self.folder, self.question, self.device, self.since = folder, question, device, since
        self.spent, self.fraction = Spent(), 0.0  # what the parts on disk took, and how much of all they are
        self.kept: dict[str, Part] = {}
        self.fresh: dict[str, Part] = {}  # not on disk yet
        self.calls = self.file = 0
        for path in sorted(folder.glob("*.json")):
            self._take(path)
        self._start_clock()

    def each(self, items: Sequence[Any], make: Callable[[Any], Part], seconds: float = EVERY) -> Iterator[Part]:
        self.calls += 1
        names = [f"{self.calls} {json.dumps(item)}" for item in items]
        done = sum(name in self.kept for name in names)
        for name, item in zip(names, items, strict=True):
            if name not in self.kept:
                self.kept[name] = self.fresh[name] = {key: value.cpu() for key, value in make(item).items()}
                done += 1
                self.fraction = done / len(names)
                self._save_if_due(seconds)
                self.progress("predict", self.fraction)
            yield self.kept.pop(name)

    def _save_if_due(self, seconds: float) -> None:
        """Without room for them the prediction is still worth having."""
        if time.perf_counter() - self.start < seconds:
            return
        try:
            self._save()
        except OSError as error:
            print(f"what is predicted so far is not kept: {error}", file=sys.stderr)

    def _save(self) -> None:
        tensors = {
            f"{i} {key}": value.contiguous().clone()
            for i, part in enumerate(self.fresh.values())
            for key, value in part.items()
        }
        path = self.folder / f"{self.file:06d}.safetensors"
        with replacing(path) as part:
            save_file(tensors, part)
        seconds, cpu_seconds = time.perf_counter() - self.start, time.process_time() - self.cpu_start
        notes = {"question": self.question, "parts": list(self.fresh), "sha256": _sha256(path.read_bytes()),
                 "seconds": seconds, "cpu_seconds": cpu_seconds, "memory_mb": peak_mb(self.device),
                 "fraction": self.fraction, "created": now()}  # fmt: skip
        write_json(path.with_suffix(".json"), notes)
        self.fresh, self.file = {}, self.file + 1
        self._start_clock()

    def _start_clock(self) -> None:
        self.start, self.cpu_start = time.perf_counter(), time.process_time()

    def _take(self, path: Path) -> None:
        """The parts of one file; one of another question, or damaged, goes."""
        values = path.with_suffix(".safetensors")
        try:
            number, notes = int(path.stem), checked(read_json(path))
            parts = self._parts(notes, values.read_bytes() if values.is_file() else b"")
        except (OSError, SafetensorError, ValueError, LookupError, TypeError):
            for file in (path, values):
                with suppress(OSError):
                    file.unlink()
            return
        self.kept |= parts
        self.spent += Spent(notes["seconds"], notes["cpu_seconds"], notes["memory_mb"])
        self.fraction, self.file = max(self.fraction, notes["fraction"]), number + 1

    def _parts(self, notes: dict[str, Any], content: bytes) -> dict[str, Part]:
        numbers = [notes[name] for name in ("seconds", "cpu_seconds", "memory_mb", "fraction")]
        is_old = self.since is not None and not self.since <= notes["created"] <= now()
        if is_old or notes["question"] != self.question or notes["sha256"] != _sha256(content):
            raise ValueError("not of this question")
        if not finite(*numbers) or min(numbers) < 0:
            raise ValueError("no times")
        parts: list[Part] = [{} for _ in notes["parts"]]
        for name, value in load(content).items():
            place, _, key = name.partition(" ")
            parts[int(place)][key] = value
        return dict(zip(notes["parts"], parts, strict=True))


def digest_of(problem: Problem) -> str:
    """Of all its numbers."""
    tensors = (problem.values, problem.mask, *([] if problem.static is None else [problem.static]))
    return _sha256(*(value.cpu().contiguous().numpy().tobytes() for value in tensors))


def _sha256(*contents: bytes) -> str:
    digest = hashlib.sha256()
    for content in contents:
        digest.update(content)
    return digest.hexdigest()
