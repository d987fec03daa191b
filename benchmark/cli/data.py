"""`data`: generate, import, verify, show and plot the datasets."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.cli.arguments import add_data, add_json, add_plugin, add_profile, add_set, add_verb, data_root
from benchmark.cli.progress import Progress
from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.core import Dataset

SPLITS = ("train", "valid", "test")
EXAMPLES = """  python -m benchmark data generate all --profile laptop
  python -m benchmark data verify all
  python -m benchmark data import wave_layer Wave-Layer.nc
  python -m benchmark data plot kolmogorov --output pictures
  python -m benchmark data calibrate all
"""


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(verbs, "data", "generate, import, verify, show or plot datasets", EXAMPLES)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, execute, help in (
        ("generate", generate, "generate what is missing (resumes where it was interrupted)"),
        ("verify", verify, "check stored files against the physics"),
        ("info", info, "what is stored, how large, from where"),
        ("plot", plot, "save film strips of a few trajectories as a picture"),
        (
            "calibrate",
            calibrate,
            "is a smaller profile still the paper's problem? Dimension and reference errors at both sizes",
        ),
        ("import", import_, "bring official files into the store"),
    ):
        action = actions.add_parser(name, help=help, description=help[0].upper() + help[1:] + ".")
        action.add_argument("dataset", metavar="DATASET|all")
        add_profile(action, "paper" if name == "import" else "laptop")
        for common in (add_data, add_set, add_plugin, add_json):
            common(action)
        action.set_defaults(execute=execute)
        _add_own(action, name)


def _add_own(action: argparse.ArgumentParser, name: str) -> None:
    if name in ("generate", "verify"):
        action.add_argument("--split", choices=SPLITS, action="append", help="default: all three")
    if name == "generate":
        action.add_argument("--device", default="cpu", help="auto, cpu, cuda, cuda:1, ... (default: cpu)")
        action.add_argument("--overwrite", action="store_true", help="make files anew that are there")
    if name == "verify":
        action.add_argument("--trajectories", type=int, default=64, metavar="N", help="how many to check (default: 64)")
    if name == "plot":
        action.add_argument("--output", type=Path, default=Path("."), metavar="DIR")
        action.add_argument("--count", type=int, default=3, metavar="N", help="trajectories a picture (default: 3)")
    if name == "import":
        action.add_argument("source", type=Path, metavar="PATH", help="the official file, or a folder of its parts")
        action.add_argument("--overwrite", action="store_true", help="replace files that are there")
    if name == "calibrate":
        action.add_argument(
            "--results",
            type=Path,
            default=Path("results"),
            metavar="DIR",
            help="records at paper size (default: results/)",
        )


def chosen(arguments: argparse.Namespace, profile: str = "") -> list[Dataset]:
    """The datasets asked for, with the profile's settings and --set applied."""
    from benchmark.planning.registry import near, registry
    from benchmark.planning.resolve import changed_dataset
    from benchmark.planning.settings import parse_overrides

    known = registry(arguments.plugin)
    names = known.names("datasets") if arguments.dataset == "all" else [known.check("datasets", arguments.dataset)]
    changes = parse_overrides(arguments.set)
    profile = profile or arguments.profile
    datasets = []
    for name in names:
        cls = known.load("datasets", name)
        if profile not in cls.profiles:
            raise UserError(f"{name} has no profile {profile!r}{near(profile, cls.profiles)}")
        datasets.append(changed_dataset(cls, cls.profiles[profile], changes, name))
    return datasets


def generate(arguments: argparse.Namespace) -> int:
    from benchmark.running.pool import check_device
    from benchmark.running.worker import choose_device
    from datasets.generate import ensure_data
    from datasets.layout import split_path

    check_device(arguments.device)
    device = choose_device(arguments.device, 0)
    root = data_root(arguments.data)
    rows = []
    with Progress(quiet=arguments.json) as progress:
        for dataset in chosen(arguments):
            splits = arguments.split or SPLITS
            for split in splits if arguments.overwrite else ():
                split_path(dataset, split, root).unlink(missing_ok=True)
            ensure_data(dataset, root, splits, progress, str(device))
            rows += [_stored(dataset, split, root) for split in splits]
    return show(rows, arguments.json)


def info(arguments: argparse.Namespace) -> int:
    root = data_root(arguments.data)
    return show([_stored(d, split, root) for d in chosen(arguments) for split in SPLITS], arguments.json)


def _stored(dataset: Dataset, split: Any, root: Path) -> dict[str, Any]:
    from datasets.layout import DataError, split_path
    from datasets.store import open_split

    path = split_path(dataset, split, root)
    row: dict[str, Any] = {"dataset": dataset.name, "split": split, "file": str(path)}
    if not path.exists():
        return {**row, "state": "missing"}
    try:
        stored = open_split(dataset, split, root)
    except DataError as error:
        return {**row, "state": f"unusable: {error}"}
    return {
        **row,
        "state": "stored",
        "source": stored.source,
        "trajectories": len(stored),
        "shape": list(stored[:1].u.shape[1:]),
        "MB": round(path.stat().st_size / 1e6, 1),
        "fingerprint": stored.fingerprint[:16],
    }


def verify(arguments: argparse.Namespace) -> int:
    from datasets.layout import split_path
    from datasets.verify import verify_file

    rows, root = [], data_root(arguments.data)
    check_count("--trajectories", arguments.trajectories)
    for dataset in chosen(arguments):
        for split in arguments.split or SPLITS:
            path = split_path(dataset, split, root)
            for check in verify_file(dataset, path, trajectories=arguments.trajectories):
                rows.append({"dataset": dataset.name, "split": split, **vars(check)})
    show(rows, arguments.json)
    failed = sum(row["verdict"] == "fail" for row in rows)
    if failed:
        print(f"{failed} of {len(rows)} checks failed", file=sys.stderr)
    return 1 if failed else 0


def plot(arguments: argparse.Namespace) -> int:
    from datasets.generate import ensure_data
    from datasets.plot import film_strips
    from datasets.store import open_split

    root = data_root(arguments.data)
    check_count("--count", arguments.count)
    rows = []
    for dataset in chosen(arguments):
        with Progress(quiet=arguments.json) as progress:
            ensure_data(dataset, root, ("test",), progress)
        path = arguments.output / f"{dataset.name}-{arguments.profile}.png"
        film_strips(dataset, open_split(dataset, "test", root)[: arguments.count], path)
        rows.append({"dataset": dataset.name, "picture": str(path)})
    return show(rows, arguments.json)


def calibrate(arguments: argparse.Namespace) -> int:
    from benchmark.tools.calibrate import DEGENERATE, calibration

    root, rows = data_root(arguments.data), []
    with Progress(quiet=arguments.json) as progress:
        for small, large in zip(chosen(arguments), chosen(arguments, "paper"), strict=True):
            rows += calibration(small, large, arguments.profile, root, arguments.results, progress)
    show(rows, arguments.json)
    broken = [row["dataset"] for row in rows if row.get("rule") == DEGENERATE]
    if broken:
        print(f"the sensors see nearly all there is of: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


def import_(arguments: argparse.Namespace) -> int:
    from benchmark.planning.settings import parse_overrides, resolve
    from datasets.layout import split_path
    from datasets.official import ImportSettings, import_official

    if arguments.dataset == "all":
        raise UserError("data import: name one dataset, e.g. `data import wave_layer Wave-Layer.nc`")
    settings = resolve(ImportSettings(), parse_overrides(arguments.set), "import")
    arguments.set, root = [], data_root(arguments.data)
    (dataset,) = chosen(arguments)
    there = [path for split in SPLITS if (path := split_path(dataset, split, root)).exists()]
    if there and not arguments.overwrite:
        raise UserError(f"{there[0]} is there already; --overwrite replaces it")
    for path in there:
        path.unlink()
    with Progress(quiet=arguments.json) as progress:
        report = import_official(dataset, arguments.source, root, settings=settings, progress=progress)
    for warning in report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return show([vars(statistic) for statistic in report.statistics], arguments.json)


def check_count(option: str, count: int) -> None:
    if count < 1:
        raise UserError(f"{option}: expected 1 or more, got {count}")


def show(rows: list[dict[str, Any]], as_json: bool) -> int:
    if as_json:
        print(json.dumps(rows, indent=1))
    else:
        from tabulate import tabulate

        print(tabulate([{k: _short(v) for k, v in row.items()} for row in rows], headers="keys", tablefmt="simple"))
    return 0


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "x".join(map(str, value)) if isinstance(value, list) else value
