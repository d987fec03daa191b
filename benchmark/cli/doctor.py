"""`doctor`: what this machine has, what is found, and what will be slow here."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.cli.arguments import add_data, add_json, add_verb, data_root

if TYPE_CHECKING:
    from benchmark.planning.registry import Registry


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(verbs, "doctor", "versions, device, attention backend, data found, disk, and what is slow here")
    add_data(parser)
    add_json(parser)
    parser.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    report = {
        "python": sys.version.split()[0],
        **_machine(),
        "packages": _packages(),
        "natten": _attention(),
        "data": _data(data_root(arguments.data)),
        "plugins": _plugins(),
    }
    report["advice"] = _advice(report)
    if arguments.json:
        print(json.dumps(report, indent=1))
        return 0
    for key, value in report.items():
        if isinstance(value, dict):
            print(f"{key}:")
            for name, line in value.items():
                print(f"  {name}: {line}")
        elif isinstance(value, list):
            print(f"{key}:")
            for line in value:
                print(f"  - {line}")
        else:
            print(f"{key}: {value}")
    return 0


def _machine() -> dict[str, Any]:
    import torch

    from benchmark.running.provenance import cores, cpu_model

    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cpu": f"{cpu_model()}, {cores()} cores", "memory": f"{memory:.0f} GiB", "gpus": ", ".join(gpus) or "none",
        "device": "cuda" if gpus else "cpu", "threads": torch.get_num_threads(), "load": round(os.getloadavg()[0], 2),
    }  # fmt: skip


def _packages() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in (
        "torch",
        "numpy",
        "scipy",
        "h5py",
        "pandas",
        "neuraloperator",
        "deepxde",
        "natten",
        "lightning-fabric",
    ):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _attention() -> str:
    """Which backend neighbourhood attention uses here, and why."""
    import torch

    from methods.blocks.networks.neighbourhood import attention_backend

    return attention_backend(torch.device("cuda" if torch.cuda.is_available() else "cpu"))


def _data(root: Path) -> dict[str, Any]:
    existing = next((p for p in [root, *root.absolute().parents] if p.exists()), Path("."))
    files = sorted(root.glob("*/*/*.hdf5")) if root.exists() else []
    parts = sorted(root.glob("*/*/*.part")) if root.exists() else []
    return {
        "folder": str(root), "files": len(files), "unfinished": len(parts),
        "used": f"{sum(f.stat().st_size for f in files) / 1e6:.0f} MB",
        "free": f"{shutil.disk_usage(existing).free / 1e9:.0f} GB",
        "writable": os.access(existing, os.W_OK),
    }  # fmt: skip


def _plugins() -> list[str]:
    """Names from installed packages: those that load, and those that do not, with the reason."""
    from benchmark.planning.registry import SUITE, registry

    known = registry()
    foreign = [(*name, origin) for name, origin in known.origin.items() if origin != SUITE]
    lines = [_plugin(known, *place) for place in foreign]
    return lines + [f"BROKEN {plugin}: {reason}" for plugin, reason in known.broken.items()]


def _plugin(known: Registry, kind: str, name: str, origin: str) -> str:
    from benchmark.planning.registry import PluginError
    from benchmark.planning.resolve import check_signature

    try:
        target = known.load(kind, name)
        if kind == "methods":
            check_signature(target, name, origin)
    except PluginError as error:
        return f"BROKEN {error}"
    return f"{kind[:-1]} {name} from {origin}"


def _advice(report: dict[str, Any]) -> list[str]:
    lines = []
    if report["device"] == "cpu":
        lines.append(
            "no GPU: use --profile laptop or smoke; profile paper is for GPUs, except for the reference methods"
        )
        lines.append("bfloat16 is very slow on most CPUs: training here uses float32")
    if report["load"] > report["threads"] * 0.5:
        lines.append(
            "the machine is busy: timings will be off, and busy torch processes slow each other down 10 times unless "
            "each has its own share of threads (--jobs does that)"
        )
    if any(line.startswith("BROKEN") for line in report["plugins"]):
        lines.append("an installed plugin is broken: mend it, or uninstall the package that registers it")
    if not report["data"]["writable"]:
        lines.append("the data folder cannot be written: set BENCHMARK_DATA")
    if report["data"]["unfinished"]:
        lines.append("data generation was interrupted: `data generate` goes on where it stopped")
    return lines
