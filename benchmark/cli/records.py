"""`records`: list what is stored, remove it, or export its values."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.cli.arguments import (
    add_data,
    add_filters,
    add_json,
    add_plugin,
    add_verb,
    data_root,
    filters,
    names,
    passes,
)
from benchmark.cli.exchange import add_export
from benchmark.errors import UserError
from benchmark.records.cell import Cell
from benchmark.records.record import STATES, Record

PARTS = ("profile", "method", "task", "dataset")
FILTERS = (*PARTS, "state", "variant")
STALE, UNREADABLE = "stale", "unreadable"
EXAMPLES = """  python -m benchmark records list --method fno --state stale
  python -m benchmark records list --variant all
  python -m benchmark records remove --method my_method
  python -m benchmark records remove --variant wide --fits --yes
  python -m benchmark records export values.parquet --profile laptop --metric rel_l2
"""
HEADER = ("method", "task", "dataset", "profile", "seed", "state", "date", "commit", "kB")


@dataclass(frozen=True)
class Found:
    """A record file. `is_current`: None where it cannot be told; `record`: None where it cannot be read."""

    path: Path
    cell: Cell
    record: Record | None
    is_current: bool | None
    size: int

    @property
    def state(self) -> str:
        if self.record is None:
            return UNREADABLE
        is_stale = self.is_current is False and self.record.state != "unsupported"  # as a plan has it
        return STALE if is_stale else self.record.state

    def to_json(self) -> dict[str, Any]:
        provenance = self.record.provenance if self.record else {}
        return {
            "cell": self.cell.to_json(),
            "path": str(self.path),
            "state": self.state,
            "is_current": self.is_current,
            "changes": self.record.changes if self.record else {},
            "created": provenance.get("created"),
            "commit": provenance.get("commit"),
            "bytes": self.size,
        }


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(verbs, "records", "list, remove or export records", EXAMPLES)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, execute, help in (
        ("list", show, "list records: state, date, commit and size"),
        (
            "remove",
            remove,
            "remove records, their predictions and what killed runs left of them; only shows them without --yes",
        ),
    ):
        action = actions.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
        add_filters(action, PARTS)
        add_filters(action, ["state"], ", ".join((*STATES, STALE, UNREADABLE)))
        add_filters(action, ["variant"], "its name, or all, or none")
        action.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results/")
        if name == "remove":
            action.add_argument("--yes", action="store_true", help="remove them without asking")
            action.add_argument("--fits", action="store_true", help="also fits that no other record of DIR comes from")
            action.add_argument(
                "--runs", type=Path, default=Path("runs"), metavar="DIR", help="of fits and predictions: runs/"
            )
        for common in (add_data, add_plugin, add_json):
            common(action)
        action.set_defaults(execute=execute)
    add_export(actions)


def show(arguments: argparse.Namespace) -> int:
    found = list(matching(arguments))
    if arguments.json:
        print(json.dumps({"records": [one.to_json() for one in found]}, indent=1))
    else:
        _print(found)
        print(f"\n{len(found)} records, {sum(one.size for one in found) / 1e6:.1f} MB, in {arguments.results}/")
    return 0


def _print(found: Sequence[Found]) -> None:
    from tabulate import tabulate

    print(tabulate([_row(one) for one in found], HEADER))
    if any(one.record is not None and one.is_current is None for one in found):
        print("\n?: it cannot be told whether it is stale; its plugin is not given (--plugin FILE)")


def _row(one: Found) -> list[Any]:
    cell, record = one.cell, one.record
    doubt = " ?" if record is not None and one.is_current is None else ""
    commit = str(record.provenance.get("commit") or "")[:7] if record else ""
    date = record.created[:10] if record else ""
    head = (cell.label, cell.task, cell.dataset, cell.profile, cell.seed)
    return [*head, f"{one.state}{doubt}", date, commit, f"{one.size / 1e3:.1f}"]


def matching(arguments: argparse.Namespace) -> Iterator[Found]:
    """The records that pass every filter."""
    from benchmark.planning.currency import Currency
    from benchmark.records.files import read_record, record_paths
    from benchmark.records.record import RecordError

    if not arguments.results.is_dir():
        raise UserError(f"{arguments.results}: no such folder; name the one with the records with --results")
    states, currency = _states(arguments), None
    for path in record_paths(arguments.results):
        cell = Cell.from_path(path)
        if cell is None or not _passes(cell, arguments):
            continue
        currency = currency or Currency(arguments.results, data_root(arguments.data), arguments.plugin)
        record, is_current = None, None
        try:
            record = read_record(path)
            is_current = currency.of(record)
        except (RecordError, OSError):
            pass
        found = Found(path, cell, record, is_current, path.stat().st_size)
        if not states or found.state in states:
            yield found


def _states(arguments: argparse.Namespace) -> tuple[str, ...]:
    from benchmark.planning.registry import near

    known, states = (*STATES, STALE, UNREADABLE), names(arguments.state)
    for state in states:
        if state not in known:
            raise UserError(f"--state: unknown state {state!r}{near(state, known)}")
    return states


def _passes(cell: Cell, arguments: argparse.Namespace) -> bool:
    """All filters but that of the state."""
    variants = names(arguments.variant)
    by_variant = not variants or (cell.variant or "none") in variants or (bool(cell.variant) and "all" in variants)
    return by_variant and passes(cell, filters(arguments, PARTS))


def remove(arguments: argparse.Namespace) -> int:
    from benchmark.records.folders import kept_in
    from benchmark.running.claim import leftovers
    from benchmark.running.removal import predictions_of, remove_fit, remove_record

    if not any(getattr(arguments, key) for key in FILTERS):
        raise UserError(f"name what to remove with at least one of {', '.join(f'--{key}' for key in FILTERS)}")
    found = list(matching(arguments))
    left = [] if arguments.state else [p for p in leftovers(arguments.results) if _is_left(p, arguments)]
    fits = _unneeded_fits(found, arguments) if arguments.fits else []
    place = kept_in(arguments.runs, arguments.results)
    kept = {one.path: path for one in found if one.record and (path := predictions_of(one.record, place))}
    is_agreed = _ask(found, left, [*kept.values(), *fits], arguments)
    busy: list[Path] = []
    if is_agreed:
        busy += [path for path in (*(one.path for one in found), *left) if not remove_record(path, kept.get(path))]
        busy += [folder for folder in fits if not remove_fit(folder)]
    if arguments.json:
        parts = {
            "records": [one.path for one in found],
            "leftovers": left,
            "predictions": list(kept.values()),
            "fits": fits,
            "busy": busy,
        }
        answer = {"removed": is_agreed, **{name: list(map(str, part)) for name, part in parts.items()}}
        print(json.dumps(answer, indent=1))
    elif is_agreed:
        print(f"{len(found) + len(left) + len(fits) - len(busy)} removed")
    for path in busy:
        print(f"error: {path}: another process is at it; remove it when that has ended", file=sys.stderr)
    return 1 if busy else 0


def _is_left(path: Path, arguments: argparse.Namespace) -> bool:
    cell = Cell.from_path(path)
    return cell is not None and _passes(cell, arguments)


def _unneeded_fits(found: Sequence[Found], arguments: argparse.Namespace) -> list[Path]:
    """Fits of the records to be removed that no other record comes from."""
    from benchmark.leaderboard.collect import read_records
    from benchmark.running.removal import fits_of

    removed = [one.record for one in found if one.record is not None]
    cells = {record.cell for record in removed}
    profiles = sorted({cell.profile for cell in cells})
    others = [record for p in profiles for record in read_records(arguments.results, p)[0] if record.cell not in cells]
    return sorted(fits_of(removed, arguments.runs) - fits_of(others, arguments.runs))


def _ask(found: Sequence[Found], left: Sequence[Path], others: Sequence[Path], arguments: argparse.Namespace) -> bool:
    """Show what would go, and whether it may. `others`: predictions and fits."""
    if not (found or left or others):
        print("nothing matches", file=sys.stderr)
        return False
    if not arguments.json:
        _print(found)
        for path in (*left, *others):
            print(path)
        what = (
            f"{len(found)} records, {len(left)} leftovers of runs that were killed, {len(others)} predictions and fits"
        )
        print(f"\n{what} in {arguments.results}/")
    if arguments.yes:
        return True
    if not arguments.json and sys.stdin.isatty():
        return input("remove them? [y/N] ").strip().lower() in ("y", "yes")
    print("nothing is removed without --yes", file=sys.stderr)
    return False
