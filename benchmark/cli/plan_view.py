"""`run --dry-run`: every cell, what would be done with it, and what it would take."""

from __future__ import annotations

import argparse
import json
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any

from benchmark.cli.origin import stored
from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.planning.estimate import Estimate, Means
    from benchmark.planning.machine import Machine
    from benchmark.planning.plan import PlannedCell
    from benchmark.records.cell import Cell

HEADER = ("method", "task", "dataset", "profile", "seed", "state", "time", "memory MB", "disk MB", "reason")
UNKNOWN = "?"
COUNTS = 20  # of memory, that a plan to look at waits for

Planned = dict[str, list["PlannedCell"]]


def means_of(arguments: argparse.Namespace) -> Means:
    """A plan that is shown counts and forecasts; one that is run does not wait for it, unless a cluster must know."""
    from benchmark.planning.estimate import Means
    from benchmark.planning.machine import gpu
    from benchmark.running.slurm.resources import Cluster

    name, on_cluster = getattr(arguments, "gpu", None), arguments.executor == "slurm"
    if name and not (arguments.dry_run or on_cluster):
        raise UserError("--gpu says for which GPU --dry-run and Slurm forecast; --device says where cells run")
    if name:
        gpu(name)  # refuses one that is not known
    cluster = Cluster.read(arguments.cluster, arguments.plugin) if on_cluster else Cluster({})

    def machine(cell: Cell) -> Machine | None:
        own = name or cluster.changes(cell).get("gpu_type")
        return gpu(own) if own else _here(arguments.device) if arguments.dry_run else None

    counts = COUNTS if arguments.dry_run else inf if on_cluster else 0
    return Means(counts, machine, named=bool(name) and arguments.dry_run)


@cache
def _here(device: str) -> Machine:
    from benchmark.running.calibrate import measure_machine

    return measure_machine(device)


def show_plan(planned: Planned, as_json: bool) -> int:
    cells = [(variant, p) for variant, found in planned.items() for p in found]
    total = totals([p for _, p in cells])
    if as_json:
        print(json.dumps({"cells": [_plain(variant, p) for variant, p in cells], "total": total}, indent=1))
        return 0
    from tabulate import tabulate

    with_variants = "" not in planned
    header = [*(["variant"] if with_variants else []), *HEADER]
    print(tabulate([[*([variant] if with_variants else []), *_row(p)] for variant, p in cells], header))
    print(f"\n{summary(total)}")
    if bounds := total["memory_bounds"]:
        print(
            f">: {bounds} cells take more memory than this; a plan counts {COUNTS} kinds of fits at most, no references"
        )
    for beyond in dict.fromkeys(p.estimate.beyond for _, p in cells if p.estimate.beyond):
        print(f"!: more than {beyond}, as counted in float32; lower `training.batch`, or share the fit (CLUSTER.md)")
    for line in dict.fromkeys(note for _, p in cells if (note := note_of(p))):
        print(line)
    return 0


def note_of(p: PlannedCell) -> str:
    """What must be said beside a time: that it is assumed, or another variant's."""
    if p.estimate.flop is not None:
        return f"times without a record: {p.estimate.basis}"
    return f"{p.cell.method}: {p.estimate.basis}" if " @ " in p.estimate.basis.replace(str(p.cell), "") else ""


def totals(cells: list[PlannedCell]) -> dict[str, Any]:
    todo = [p.estimate for p in cells if p.action == "run"]
    forecast = [e for e in todo if e.flop is not None]
    return {
        "cells": len(cells),
        "to_run": len(todo),
        "seconds": sum(e.seconds or 0 for e in todo),
        "unknown_seconds": sum(e.seconds is None for e in todo),
        "memory_mb": max((e.memory_mb for e in todo), default=0.0),
        "memory_bounds": sum(e.bound for e in todo),
        "disk_mb": sum(e.disk_mb for e in todo),
        "forecast_cells": len(forecast),
        "forecast_hours": sum(e.seconds or 0 for e in forecast) / 3600,
        "forecast_flop": sum(e.flop or 0 for e in forecast),
    }


def summary(total: dict[str, Any]) -> str:
    unknown = f" (+ {total['unknown_seconds']} cells of unknown length)" if total["unknown_seconds"] else ""
    text = (f"{total['to_run']} of {total['cells']} cells to run: about {seconds(total['seconds'])}{unknown}, "
            f"up to {total['memory_mb']:.0f} MB of memory, {total['disk_mb']:.0f} MB of disk")  # fmt: skip
    if total["forecast_cells"]:
        text += f"; forecast {total['forecast_hours']:.3g} hours of a device and {total['forecast_flop']:.3g} FLOP"
    return text


def _plain(variant: str, p: PlannedCell) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "cell": asdict(p.cell),
        "state": p.state,
        "action": p.action,
        "reason": p.reason,
        "estimate": asdict(p.estimate),
        "stored": p.stored and {name: p.stored.provenance.get(name) for name in ("created", "commit", "dirty")},
        **({"variant": variant} if variant else {}),
    }


def _row(p: PlannedCell) -> list[Any]:
    state = f"{p.state}, {stored(p.stored)}" if p.stored else p.state
    took = _taken(p.estimate) if p.action == "run" else ["-"] * 3
    return [p.cell.label, p.cell.task, p.cell.dataset, p.cell.profile, p.cell.seed, state, *took, p.reason[:70]]


def _taken(e: Estimate) -> list[str]:
    memory = f"{'> ' if e.bound else '! ' if e.beyond else ''}{e.memory_mb:.0f}"
    return [seconds(e.seconds), memory, f"{e.disk_mb:.0f}"]


def seconds(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return f"{value:.0f} s" if value < 120 else f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.1f} h"
