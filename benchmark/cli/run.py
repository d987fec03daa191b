"""`run`: train and evaluate cells."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.cli.arguments import (
    add_data,
    add_json,
    add_plugin,
    add_set,
    add_verb,
    data_root,
    names,
    whole_numbers,
)
from benchmark.cli.cluster import add_cluster, check_cluster, show_jobs, submit_all, submit_and_wait, wait_for
from benchmark.cli.origin import obtained, state_with_origin, stored
from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.records.cell import Cell
    from benchmark.records.record import Record

EXAMPLES = """  python -m benchmark run --method kriging --task cont_3
  python -m benchmark run --method mean,nearest --task cont_1,cont_3 --dataset all --profile smoke
  python -m benchmark run --method my_method --task fwd_full --plugin my_method.py
  python -m benchmark run --method fno --task cont_3 --set architecture.width=64 --name wide
  python -m benchmark run --suite continuous --dry-run
"""
RECORD_HEADER = ("method", "task", "dataset", "seed", "rel_l2 %", "95 %", "fit s", "predict s", "state")


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(verbs, "run", "train and evaluate method x task x dataset, skipping what is done", EXAMPLES)
    lists = {"method": None, "task": None, "dataset": "navier_stokes"}
    for name, default in lists.items():
        parser.add_argument(
            f"--{name}",
            action="append",
            default=None,
            metavar=name[0].upper(),
            help=f"one or more {name}s, comma-separated or repeated, or all"
            + (f" (default: {default})" if default else ""),
        )
    parser.add_argument(
        "--suite", metavar="NAME|FILE", help="a YAML file that names methods, tasks, datasets and seeds"
    )
    add_running(parser)
    parser.add_argument("--no-wait", action="store_true", help="with --executor slurm: submit the jobs and return")
    parser.add_argument(
        "--gpu",
        metavar="NAME",
        help="L40S, A40, A100, H100, H200 or 4090: what --dry-run and the times of Slurm jobs are forecast for",
    )
    parser.set_defaults(execute=execute, requests=make_requests)


def add_running(parser: argparse.ArgumentParser) -> None:
    """How cells are run, whatever verb names them: all that `make_request` and `engine_of` read beside the names."""
    parser.add_argument("--profile", default=None, metavar="P", help="smoke, laptop or paper (default: laptop)")
    parser.add_argument("--seed", action="append", default=None, metavar="N", help="one or more seeds (default: 0)")
    parser.add_argument(
        "--samples",
        type=int,
        default=None,
        metavar="S",
        help="samples per trajectory of methods that sample (default: smoke 2, laptop 8, paper 1)",
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1, ... (default: cuda if there is one)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings to change, as YAML")
    parser.add_argument(
        "--name",
        default="",
        help="of the variants that --set, --config, --samples, --limit and --mask-seed make; their records stand "
        "beside those of the profile's own settings (default: made from the changes)",
    )
    parser.add_argument("--output", type=Path, default=Path("results"), metavar="DIR", help="default: results/")
    parser.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="weights and logs (default: runs/)"
    )
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="cells at the same time (default: 1)")
    add_cluster(parser)
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="end a cell that takes longer")
    parser.add_argument("--limit", type=int, metavar="N", help="only the first N test trajectories")
    parser.add_argument("--mask-seed", type=int, default=0, metavar="N", help="of the test masks (default: 0)")
    parser.add_argument(
        "--save-predictions",
        type=int,
        default=None,
        metavar="N",
        help="of the first N test trajectories, in runs/, for pictures; of a large one 8 frames of 64 x 64 "
        "points, so that 4 take 2 MB or so, and `verify` cannot score them again; 0: none (default: 4)",
    )
    parser.add_argument(
        "--log", choices=("tensorboard", "wandb"), default="", help="show curves of fits and scores there too"
    )
    parser.add_argument("--overwrite", action="store_true", help="run cells again that are done")
    parser.add_argument("--dry-run", action="store_true", help="print the plan and its cost, run nothing")
    for common in (add_data, add_set, add_plugin, add_json):
        common(parser)


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.cli.plan_view import means_of, show_plan
    from benchmark.planning.plan import plan

    check_cluster(arguments)
    on_cluster = arguments.executor == "slurm"
    requests = make_requests(arguments)
    means = means_of(arguments)
    planned = {variant: plan(request, means=means) for variant, request in requests.items()}
    if arguments.dry_run:
        return show_plan(planned, arguments.json)
    from benchmark.cli.live import Live
    from benchmark.running.provenance import now

    engine, records, since = engine_of(arguments), {}, now()
    if on_cluster:
        jobs, engine = submit_all(requests, planned, arguments), wait_for
        if arguments.no_wait:
            return show_jobs(jobs, planned, arguments.json)
    for variant, request in requests.items():
        if variant and not arguments.json:
            print(f"variant {variant}", file=sys.stderr, flush=True)
        with Live(len(planned[variant]), since, quiet=arguments.json, kept=request.kept) as live:
            records[variant] = engine(request, planned[variant], live)
    show_records(records, planned, requests, arguments, since)
    return exit_code([record for found in records.values() for record in found])


def engine_of(arguments: argparse.Namespace) -> Any:
    """What runs the cells: processes here, or jobs on a cluster."""
    from benchmark.running.pool import execute as execute_here

    check_cluster(arguments)
    return execute_here if arguments.executor == "local" else submit_and_wait(arguments)


def make_request(arguments: argparse.Namespace) -> Any:
    from benchmark.planning.request import Request
    from benchmark.planning.suites import read_suite, suite_path

    if arguments.log:
        from benchmark.running.loggers import check_logger

        check_logger(arguments.log)

    values: dict[str, Any] = read_suite(suite_path(arguments.suite)) if arguments.suite else {}
    for key in ("method", "task", "dataset"):
        if getattr(arguments, key):
            values[f"{key}s"] = names(getattr(arguments, key))
    missing = [key for key in ("methods", "tasks") if key not in values]
    if missing:
        raise UserError(f"--{missing[0][:-1]} is missing; name one, or all, or a --suite")
    if arguments.seed:
        values["seeds"] = whole_numbers("--seed", ",".join(arguments.seed))
    given = {name: getattr(arguments, name) for name in ("profile", "samples", "save_predictions")}
    values |= {k: v for k, v in given.items() if v is not None}
    return Request(
        **values, device=arguments.device, overrides=tuple(arguments.set), config=arguments.config,
        name=arguments.name,
        plugins=tuple(arguments.plugin), results=arguments.output, runs=arguments.runs, data=data_root(arguments.data),
        jobs=arguments.jobs, time_limit=arguments.time_limit, limit=arguments.limit, overwrite=arguments.overwrite,
        mask_seed=arguments.mask_seed, log=arguments.log,
    )  # fmt: skip


def make_requests(arguments: argparse.Namespace) -> dict[str, Any]:
    """One request under the name "", or one for each variant of a study."""
    from benchmark.planning.suites import read_study, suite_path

    request = make_request(arguments)
    study = read_study(suite_path(arguments.suite)) if arguments.suite else None
    return study.requests(request) if study else {"": request}


def show_records(
    records: dict[str, list[Record]],
    planned: dict[str, list[Any]],
    requests: dict[str, Any],
    arguments: argparse.Namespace,
    since: str,
) -> None:
    found = [(variant, record) for variant, own in records.items() for record in own]
    if arguments.json:
        rows = [
            record.to_json() | {"obtained": obtained(record, since)} | ({"variant": variant} if variant else {})
            for variant, record in found
        ]
        print(json.dumps({"records": rows}, indent=1))
        return
    from collections import Counter

    from tabulate import tabulate

    from benchmark.cli.ending import next_step, places

    table = [[*_named(variant), *_row(record), state_with_origin(record, since)] for variant, record in found]
    if "" in records:  # a study has results of its own
        beside = references_beside(records[""], arguments.output)
        table += [[*_row(record), f"{stored(record)}{', of another machine' * other}"] for record, other in beside]
    print(tabulate(table, _header(records, RECORD_HEADER)))
    states, origins = (
        Counter(values) for values in zip(*((r.state, obtained(r, since)) for _, r in found), strict=True)
    )
    counts = [", ".join(f"{n} {name}" for name, n in counter.items()) for counter in (states, origins)]
    print(f"\n{'; '.join(counts)}")
    cells, shown = [p for own in planned.values() for p in own], [record for _, record in found]
    where = places(cells, shown, list(requests.values()), arguments.output, arguments.runs)
    print(*where, f"next: {next_step(shown, arguments)}", sep="\n")


def references_beside(records: list[Record], results: Path) -> list[tuple[Record, bool]]:
    """Stored records of reference methods that may be compared with one of these, and whether they need a warning.

    True: the data has the same recipe but was generated on another kind of machine, so that its last bits, or in a
    chaotic flow its trajectories, are others.
    """
    from benchmark.records.compare import machine_difference

    ran = {record.cell for record in records}
    found: dict[Cell, tuple[Record, bool]] = {}
    for record in records:
        for reference in stored_references(record.cell, results) if record.state == "done" else []:
            reason, other_machine = machine_difference(reference, record)
            if reason is None and reference.cell not in ran:
                found[reference.cell] = reference, other_machine
    return list(found.values())


def stored_references(cell: Cell, results: Path) -> list[Record]:
    """The references' records of a task and dataset with seed 0, in the order of tables."""
    from benchmark.leaderboard.names import ordered
    from benchmark.records.files import read_record
    from benchmark.records.record import RecordError

    found = {}
    for path in cell.path(results).parent.glob("[!.]*-s0.json"):
        with suppress(RecordError):  # the leaderboard reports it
            record = read_record(path)
            is_plain = not record.cell.variant and "method" not in record.third_party
            if record.is_reference and is_plain and record.state == "done":
                found[record.cell.method] = record
    return [found[method] for method in ordered(found, "methods")]


def _header(variants: dict[str, Any], names: Sequence[str]) -> list[str]:
    return [*([] if "" in variants else ["variant"]), *names]


def _named(variant: str) -> list[str]:
    return [variant] if variant else []


def _row(record: Record) -> list[Any]:
    """All but the state."""
    cell, cost = record.cell, record.cost
    head = [cell.label, cell.task, cell.dataset, cell.seed]
    if record.state != "done":
        return [*head, "", "", "", ""]
    error = record.headline
    interval = f"{error.low:.3g} - {error.high:.3g}"
    return [*head, f"{error.mean:.3g}", interval, f"{cost['fit_seconds']:.1f}", f"{cost['predict_seconds']:.3g}"]


def exit_code(records: list[Record]) -> int:
    states = [record.state for record in records]
    if any(state in ("failed", "timeout", "oom") for state in states):
        return 1
    return 2 if states == ["unsupported"] else 0
