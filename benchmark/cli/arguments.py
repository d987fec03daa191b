"""Arguments that several verbs share."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.records.cell import Cell

DIGITS = 18  # of a whole number: torch takes 64 bits


def add_verb(verbs: argparse._SubParsersAction, name: str, help: str, examples: str = "") -> argparse.ArgumentParser:
    return verbs.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=f"examples:\n{examples}" if examples else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document on stdout and nothing else")


def add_profile(parser: argparse.ArgumentParser, default: str = "laptop") -> None:
    parser.add_argument("--profile", default=default, metavar="P", help=f"smoke, laptop or paper (default: {default})")


def add_data(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", type=Path, default=None, metavar="DIR", help="data folder (default: $BENCHMARK_DATA or data/)"
    )


def add_plugin(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plugin",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file with METHODS, TASKS or DATASETS",
    )


def add_set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="change a setting, e.g. task.noise=0.1"
    )


def add_filters(
    parser: argparse.ArgumentParser, keys: Sequence[str], words: str = "one or more {}s, comma-separated or repeated"
) -> None:
    """`--method a,b --task c`, for each part of a cell's name that is a key."""
    for key in keys:
        help = words.format(key)
        parser.add_argument(f"--{key}", action="append", default=[], metavar=key[0].upper(), help=help)


def filters(arguments: argparse.Namespace, keys: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Names by the key that they narrow; a key without names narrows nothing and is not in it."""
    return {key: found for key in keys if (found := names(getattr(arguments, key)))}


def passes(cell: Cell, wanted: Mapping[str, Sequence[str]]) -> bool:
    return all(getattr(cell, key) in found for key, found in wanted.items())


def data_root(given: Path | None) -> Path:
    return given or Path(os.environ.get("BENCHMARK_DATA") or "data")


def whole_numbers(option: str, text: str) -> tuple[int, ...]:
    """`0,3,7`."""
    parts = names([text])
    if not parts or not all(re.fullmatch(f"[0-9]{{1,{DIGITS}}}", part) for part in parts):
        shown = text if len(text) <= 40 else f"{text[:40]}..."
        raise UserError(f"{option}: expected whole numbers like 0,3,7 of at most {DIGITS} digits, got {shown!r}")
    return tuple(dict.fromkeys(map(int, parts)))


def names(values: Sequence[str]) -> tuple[str, ...]:
    """Repeated and comma-separated lists: `--task a,b --task c`."""
    return tuple(dict.fromkeys(part for value in values for part in value.split(",") if part))
