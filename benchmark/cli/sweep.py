"""`sweep`: choose sampling settings of a fitted method on `valid`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from benchmark.cli.arguments import add_data, add_json, add_plugin, add_profile, add_set, add_verb, data_root, names

UNITS = {"spread_skill": ""}  # of measures that are no percentage
EXAMPLES = """  python -m benchmark sweep --method diffusionpde --task cont_3 --vary physics=0,1 --vary observation=1,2
  python -m benchmark sweep --method eci --task cont_3,fwd_partial --dataset helmholtz --vary bound=2,3,null
  python -m benchmark sweep --method videopde --task cont_3 --samples 8 --by crps --vary edm.steps=6,12
  python -m benchmark sweep --method shu --task cont_3 --vary restarts.time=200,400 --vary restarts.starts=1,3
"""


def add(verbs: argparse._SubParsersAction) -> None:
    parser = add_verb(verbs, "sweep", "choose settings of prediction on `valid`: one fit, every combination", EXAMPLES)
    parser.add_argument("--method", required=True, metavar="M", help="one method")
    parser.add_argument("--task", action="append", required=True, metavar="T", help="one or more, comma-separated")
    parser.add_argument("--dataset", default="navier_stokes", metavar="D", help="one dataset (default: navier_stokes)")
    parser.add_argument(
        "--vary",
        action="append",
        default=[],
        metavar="KEY=V,V,...",
        help="a setting that predictions alone depend on, and the values to try; repeat for more",
    )
    parser.add_argument("--limit", type=int, default=8, metavar="N", help="trajectories of `valid` (default: 8)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of fit and prediction (default: 0)")
    parser.add_argument("--samples", type=int, default=1, metavar="S", help="samples per trajectory (default: 1)")
    parser.add_argument(
        "--by",
        default="rel_l2",
        metavar="NAME",
        help="rel_l2 of one sample, rel_l2_mean of the mean of --samples, or crps (default: rel_l2)",
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1, ... (default: cuda if there is one)")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings of the fit to change, as YAML")
    parser.add_argument(
        "--runs", type=Path, default=Path("runs"), metavar="DIR", help="where fits are kept (default: runs/)"
    )
    for common in (add_profile, add_data, add_set, add_plugin, add_json):
        common(parser)
    parser.set_defaults(execute=execute, requests=lambda arguments: {"": make_request(arguments)})


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.cli.progress import Progress
    from benchmark.running.pool import check_device
    from benchmark.tools.sweep import parse_values, sweep

    check_device(arguments.device)
    request, values = make_request(arguments), parse_values(arguments.vary)
    trials, code = [], 0
    with Progress(arguments.json) as progress:

        def tell(message: str, fraction: float) -> None:
            what = message if message.startswith(("data", "waiting")) else "fit"
            progress(what, round(100 * fraction), 100)

        try:
            for trial in sweep(request, values, tell, arguments.by):
                trials.append(trial)
                outcome = trial.failure or f"{trial.error:.3g} %"
                print(f"{_spell(trial.choice)}: {outcome}", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            if not trials:
                raise
            code = 130  # what was tried is shown
    trials.sort(key=lambda trial: trial.error)
    if arguments.json:
        rows = [{**vars(t), "errors": t.errors, "error": None if t.failure else t.error} for t in trials]
        print(json.dumps({"trials": rows}, indent=1))
    else:
        _print(trials, arguments.by)
    return code or (1 if all(t.failure for t in trials) else 0)


def make_request(arguments: argparse.Namespace) -> Any:
    from benchmark.planning.request import Request

    return Request(
        (arguments.method,), names(arguments.task), (arguments.dataset,), (arguments.seed,), arguments.profile,
        arguments.samples, arguments.device, tuple(arguments.set), arguments.config, tuple(arguments.plugin),
        runs=arguments.runs, data=data_root(arguments.data), limit=arguments.limit,
    )  # fmt: skip


def _spell(choice: dict[str, Any]) -> str:
    """As `run` takes it."""
    items = (f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in choice.items())
    return " ".join(f"--set {shlex.quote(item)}" for item in items) or "as it is"


def _print(trials: list[Any], by: str) -> None:
    """A row for each choice; with several tasks, the mean of what they are chosen by at the end."""
    from tabulate import tabulate

    columns = list(dict.fromkeys((task, name) for t in trials for task, scores in t.scores.items() for name in scores))
    header = [*trials[0].choice, *(f"{task} {name}{UNITS.get(name, ' %')}" for task, name in columns)]
    rows = [
        [
            *t.choice.values(),
            *(t.scores.get(task, {}).get(name, "failed") for task, name in columns),
            t.error,
            t.seconds,
        ]
        for t in trials
    ]
    print(tabulate(rows, [*header, f"mean {by} %", "predict s"], floatfmt=".4g"))
    if trials[0].failure:
        print(f"\nall failed, the first with {trials[0].failure}")
    else:
        print(f"\nbest on valid: {_spell(trials[0].choice)}")
