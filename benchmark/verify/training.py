"""Chosen cells are run again from nothing, in a folder of their own, and compared with their records.

On the machine and with the packages of the record the answers are the same bit for bit on a CPU; elsewhere the mean may
move by TOLERANCE. Data is read, or generated, where the command says; nothing is written into the results.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmark.errors import UserError
from benchmark.planning.request import Request
from benchmark.planning.variants import as_options
from benchmark.records.record import Record
from benchmark.verify.check import Check, Selection

TIER = "training"
TOLERANCE = 0.01  # of the mean, on another machine
MACHINE = ("packages", "hardware", "threads", "device")


def check(selection: Selection) -> Iterator[Check]:
    chosen = [(path, record) for path, record in selection.records if record.state == "done"]
    if not any(selection.wanted.get(part) for part in ("method", "task", "dataset")):
        raise UserError(
            f"--tier training runs cells again, here {len(chosen)}; name some with --method, --task or --dataset"
        )
    with tempfile.TemporaryDirectory(prefix="verify-") as folder:
        for path, record in chosen:
            selection.progress(str(record.cell))
            again = run_again(record, path, Path(folder), selection)
            faults, note = compared(record, again)
            yield Check(TIER, path, tuple(faults), note)


def run_again(record: Record, path: Path, folder: Path, selection: Selection) -> Record:
    """Its new record; fits of scope `dataset` are shared with the cells before it."""
    from benchmark.planning.plan import plan
    from benchmark.planning.suites import base_of
    from benchmark.running.pool import execute

    cell, device = record.cell, str(record.provenance.get("device") or "auto")
    request = Request(
        (cell.method,), (cell.task,), (cell.dataset,), (cell.seed,), cell.profile,
        device=device, plugins=selection.plugins, data=selection.data, results=folder / "results", runs=folder / "runs",
        save_predictions=0, base=base_of(path.parents[3]) or (),
    )  # fmt: skip
    request = replace(request, **as_options(record.changes), name=cell.variant)
    return execute(request, plan(request))[0]


def compared(record: Record, again: Record) -> tuple[list[str], str]:
    """What is wrong, and how close the two are."""
    if again.state != "done":
        return [f"run again it is {again.state}: {again.reason}"], ""
    if again.key != record.key:
        return ["settings, versions or data have changed since: its key is another one"], ""
    for name in ("data_fingerprint", "mask_hash"):
        if again.provenance.get(name) != record.provenance.get(name):
            return [f"other {name.replace('_', ' ')}: its data cannot be made here"], ""
    if again.headline.values == record.headline.values:
        return [], "the same bit for bit"
    old, new = record.headline.mean, again.headline.mean
    moved = f"mean {old:.6g}, run again {new:.6g}"
    is_same_machine = all(again.provenance.get(part) == record.provenance.get(part) for part in MACHINE)
    if is_same_machine and again.provenance.get("device") == "cpu":
        return [f"{moved}, on the same machine with the same packages"], ""
    return ([], f"{moved}, elsewhere") if abs(new - old) <= TOLERANCE * abs(old) else ([moved], "")
