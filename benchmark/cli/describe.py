"""`describe NAME`: a card for a method, a task or a dataset; of the rest in `cards.py`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from benchmark.cli.arguments import add_json, add_plugin, add_profile, add_verb
from benchmark.cli.cards import other_cards


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(
        verbs, "describe", "show a method, task, dataset, metric, suite or profile: what it is, settings, source",
        "  python -m benchmark describe kriging --profile paper\n  python -m benchmark describe cont_3\n"
        "  python -m benchmark describe crps\n",
    )  # fmt: skip
    parser.add_argument("name", metavar="NAME")
    add_profile(parser)
    add_plugin(parser)
    add_json(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.planning.registry import KINDS, UnknownName, near, registry

    known, name, profile = registry(arguments.plugin), arguments.name, arguments.profile
    kinds = [kind for kind in KINDS if name in known.tables[kind]]
    if kinds:
        card = CARDS[kinds[0]](known, name, profile)
    else:
        others = {other: make for table in other_cards(known).values() for other, make in table.items()}
        if name not in others:
            everything = [*(n for kind in KINDS for n in known.names(kind)), *others]
            raise UnknownName(f"unknown name {name!r}{near(name, everything)}; `list` has all")
        card = others[name]()
    print(json.dumps(card, indent=1, default=str)) if arguments.json else _print(card)
    return 0


def method_card(known: Any, name: str, profile: str) -> dict[str, Any]:
    from benchmark.records.cell import plain

    cls = known.load("methods", name)
    card = {"method": name, **_common(cls, name, known, "methods"), "scope": cls.scope, "version": cls.version}
    if profile not in cls.profiles:
        return card | {"profile": f"{profile}: none (has {', '.join(cls.profiles)})"}
    method = cls(cls.profiles[profile])
    card |= {"profile": profile, "settings": plain(method.settings), "parameters": _parameters(method, known, profile)}
    return card | {"supports": _support(method, known, profile)}


def _parameters(method: Any, known: Any, profile: str) -> Any:
    """For the first dataset and task that the method supports at this profile."""
    for dataset, task in _pairs(known, profile):
        if not _task_reason(task, method, dataset):
            count = method.parameters(task, dataset)
            return "known after a fit" if count is None else count
    return "supports nothing"


def _pairs(known: Any, profile: str) -> Iterator[tuple[Any, Any]]:
    """navier_stokes, the default, goes first."""
    for name in sorted(known.names("datasets"), key=lambda name: name != "navier_stokes"):
        cls = known.load("datasets", name)
        if profile in cls.profiles:
            yield from ((cls(cls.profiles[profile]), known.load("tasks", task)) for task in known.names("tasks"))


def _support(method: Any, known: Any, profile: str) -> dict[str, Any]:
    """{dataset: {task: "yes" or the reason why not}}."""
    table: dict[str, Any] = {}
    for dataset_name in known.names("datasets"):
        cls = known.load("datasets", dataset_name)
        if profile not in cls.profiles:
            continue
        dataset = cls(cls.profiles[profile])
        table[dataset_name] = {
            task: _task_reason(known.load("tasks", task), method, dataset) or "yes" for task in known.names("tasks")
        }
    return table


def _task_reason(task: Any, method: Any, dataset: Any) -> str | None:
    from benchmark.planning.support import unsupported

    return unsupported(method, task, dataset)


def task_card(known: Any, name: str, profile: str) -> dict[str, Any]:
    from inspect import getdoc

    from benchmark.planning.support import task_unsupported
    from benchmark.records.cell import plain
    from tasks import SUMMARIES

    task = known.load("tasks", name)
    sensors = {}
    for dataset_name in known.names("datasets"):
        cls = known.load("datasets", dataset_name)
        if profile in cls.profiles:
            dataset = cls(cls.profiles[profile])
            sensors[dataset_name] = task_unsupported(task, dataset) or _sensor_count(task, dataset)
    return {
        "task": name, "about": SUMMARIES.get(name) or getdoc(type(task)), "settings": plain(task), "profile": profile,
        "observed": sensors, "source": _task_source(task, name, known), "from": known.origin["tasks", name],
    }  # fmt: skip


def _task_source(task: Any, name: str, known: Any) -> str:
    """A stranger's task speaks for itself."""
    from benchmark.planning.registry import SUITE

    own = "VideoPDE (arXiv 2506.13754)" if known.origin["tasks", name] == SUITE else "not declared"
    return getattr(task, "source", own)


def _sensor_count(task: Any, dataset: Any) -> str:
    import torch

    grid = dataset.grid(dataset.sizes.frames)
    mask = task.mask(grid, torch.Generator().manual_seed(0))  # (T, H, W)
    seen = mask.flatten(1).sum(1)
    h, w = grid.shape
    return f"{int(seen.max())} of {h * w} sites in {int((seen > 0).sum())} of {len(mask)} frames"


def dataset_card(known: Any, name: str, profile: str) -> dict[str, Any]:
    from benchmark.records.cell import plain

    cls = known.load("datasets", name)
    card = {"dataset": name, "title": cls.title, **_common(cls, name, known, "datasets"), "version": cls.version}
    if profile not in cls.profiles:
        return card | {"profile": f"{profile}: none (has {', '.join(cls.profiles)})"}
    dataset = cls(cls.profiles[profile])
    equation, grid = dataset.equation(), dataset.grid(dataset.sizes.frames)
    return card | {
        "equation": equation.formula, "boundary": grid.boundary, "grid": "x".join(map(str, grid.shape)),
        "frames": len(grid.times), "frame spacing": None if dataset.steady else grid.dt,
        "channels": list(dataset.channels), "known fields": list(dataset.static_names), "profile": profile,
        "settings": plain(dataset.settings),
    }  # fmt: skip


def _common(cls: Any, name: str, known: Any, kind: str) -> dict[str, Any]:
    from inspect import getdoc, getmodule

    about = getdoc(getmodule(cls)) or getdoc(cls) or ""
    code = known.source(kind, name)
    key = {"in its keys": f"sha256 {code} of its source"} if code else {}
    return {"about": about, "source": cls.source, "from": known.origin[kind, name], **key}


CARDS = {"methods": method_card, "tasks": task_card, "datasets": dataset_card}


def _print(card: dict[str, Any], indent: str = "") -> None:
    for key, value in card.items():
        if key == "supports":
            _print_support(value)
        elif isinstance(value, dict):
            print(f"{indent}{key}:")
            _print(value, indent + "  ")
        elif isinstance(value, str) and "\n" in value:
            print(f"{indent}{key}:")
            print("\n".join(f"{indent}  {line}".rstrip() for line in value.strip().splitlines()))
        elif key == "parameters" and isinstance(value, int) and value:
            print(f"{indent}{key}: {value / 1e6:.1f}M ({value:,})")
        else:
            print(f"{indent}{key}: {value}")


def _print_support(table: dict[str, dict[str, str]]) -> None:
    from tabulate import tabulate

    reasons: list[str] = []
    rows = []
    for dataset, tasks in table.items():
        row = [dataset]
        for answer in tasks.values():
            if answer != "yes" and answer not in reasons:
                reasons.append(answer)
            row.append("yes" if answer == "yes" else f"no ({reasons.index(answer) + 1})")
        rows.append(row)
    print("supports:")
    print(tabulate(rows, ["dataset", *next(iter(table.values()), {})]))
    for number, reason in enumerate(reasons, 1):
        print(f"  ({number}) {reason}")
