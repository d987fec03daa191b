"""`list`: what there is."""

from __future__ import annotations

import argparse
import importlib.util
import json

from benchmark.cli.arguments import add_json, add_plugin, add_verb
from benchmark.cli.cards import PROFILES

KINDS = ("methods", "tasks", "datasets", "profiles", "suites", "metrics")


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(
        verbs,
        "list",
        "list methods, tasks, datasets, profiles, suites or metrics",
        "  python -m benchmark list tasks\n",
    )
    parser.add_argument("kind", nargs="?", choices=KINDS, help="default: everything")
    add_plugin(parser)
    add_json(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.planning.registry import registry

    known = registry(arguments.plugin)
    found = {kind: _lines(known, kind) for kind in ([arguments.kind] if arguments.kind else KINDS)}
    if arguments.json:
        print(json.dumps({**found, "broken": known.broken}, indent=1))
        return 0
    for kind, lines in found.items():
        print(f"{kind}:")
        width = max(map(len, lines), default=0)
        for name, line in lines.items():
            print(f"  {name:<{width}}  {line}".rstrip())
    for plugin, reason in known.broken.items():
        print(f"broken: {plugin}: {reason}")
    return 0


def _lines(known, kind: str) -> dict[str, str]:
    if kind == "profiles":
        return PROFILES
    if kind == "metrics":
        from benchmark.scoring.metric_table import METRIC_TABLE

        return {name: info.title for name, info in METRIC_TABLE.items()}
    if kind == "suites":
        from benchmark.planning.registry import suite_files
        from benchmark.planning.suites import read_title

        return {path.stem: read_title(path) for path in suite_files()}
    if kind == "tasks":
        import tasks

        return {name: tasks.SUMMARIES.get(name, "") for name in known.names(kind)}
    return {name: _summary(known.tables[kind][name]) for name in known.names(kind)}


def _summary(target: object) -> str:
    """The first line of the module's docstring, read without importing the module (which may import torch)."""
    if not isinstance(target, str):
        return (target.__doc__ or "").strip().split("\n")[0]
    try:
        spec = importlib.util.find_spec(target.partition(":")[0])
    except ImportError:
        spec = None
    if spec is None or not spec.origin:
        return ""
    with open(spec.origin, encoding="utf-8") as file:
        first = file.readline().strip()
    return first.strip('"') if first.startswith('"""') else ""
