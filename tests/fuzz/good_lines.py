"""A good line of every verb and, of each, endings that make it one to be refused: with exit code 2, before any work."""

from __future__ import annotations

from dataclasses import dataclass

NAMES = ("--profile=smok", "--profile=/abs", "--profile=", "--task=cont_x", "--method=fn0", "--method=../fno")
SETTINGS = ("--set=nothing=1", "--set=width", "--set==1")
PLUGINS = tuple(f"--plugin={name}" for name in ("broken.py", "empty.py", "raises.py", "exits.py", "/nowhere.py"))
RUNNING = (
    *NAMES, *SETTINGS, *PLUGINS, "--dataset=x", "--seed=x", "--seed=\u00b2", f"--seed={'9' * 5000}", "--seed=-1",
    "--samples=0", "--jobs=0", "--limit=-1", "--time-limit=nan", "--time-limit=0", "--save-predictions=-1",
    "--name=a/b", "--name=all",
    "--config=broken.yaml", "--config=bomb.yaml", "--config=nothing", 
)  # fmt: skip


@dataclass(frozen=True)
class Good:
    line: str
    bad: tuple[str, ...]
    works: bool = False  # for long: it is never run as it is


GOOD = {
    ("list",): Good("methods", PLUGINS),
    ("describe",): Good("fno --profile smoke", PLUGINS),
    ("run",): Good(
        "--method fno --task cont_1 --profile smoke --dry-run",
        (*RUNNING, "--suite=x", "--suite=suite.yaml", "--suite=binary", "--gpu=x", "--no-wait", "--cluster=suite.yaml"),
    ),
    ("status",): Good("--profile smoke", ("--state=x", "--logs=nobody", "--results=nothing --runs=nowhere")),
    ("sweep",): Good(
        "--method eci --task cont_1 --profile smoke --vary redraw=1",
        (*NAMES, *SETTINGS, *PLUGINS, "--vary=nothing=1", "--vary=redraw", "--vary=redraw=",
         "--by=x", "--by=rel_l2_mean",
         "--device=gpu", "--seed=-1", "--limit=0", "--samples=0", "--config=broken.yaml", "--dataset=x"),
        works=True,
    ),
    ("budget",): Good(
        "--method fno --profile smoke", (*NAMES, *SETTINGS, *PLUGINS, "--dataset=x", "--method=mean"), works=True
    ),
    ("curve",): Good(
        "--method fno --task cont_1 --profile smoke --no-run",
        (*RUNNING, "--budgets=0", "--budgets=nan", "--budgets=,", "--references=x", "--task=cont_3", "--method=mean"),
    ),
    ("leaderboard",): Good(
        "--profile smoke",
        ("--profile=smok", "--profile=/abs", "--format=x", "--format=,", "--metric=x", "--digits=0",
         "--suite=x", "--suite=suite.yaml", "--compare=x", "--merge=nothing", "--results=nothing"),
    ),
    ("plot",): Good(
        "kriging --task cont_1 --profile smoke --figure cost --format png",
        ("--profile=smok", "--profile=/abs", "--task=cont_x", "--dataset=x", "--dataset=,", "--seed=x", "--seed=\u00b2",
         f"--seed={'9' * 5000}", "--frames=\u00b2",
         "--frames=", "--figure=x", "--format=x", "--format=,", "--format=gif",
         "--figure=errors --trajectory=-1", "--figure=errors --frames=99", "--figure=noise_seeds"),
    ),
    ("records", "list"): Good("--profile smoke", ("--state=x", "--results=nothing")),
    ("records", "remove"): Good("--method fno", ("--state=x", "--results=nothing")),
    ("records", "export"): Good("out.csv", ("--results=nothing", "--metric=x")),
    ("verify",): Good("results", ("--tier=x",)),
    ("data", "info"): Good("navier_stokes --profile smoke", ("--profile=smok", *SETTINGS, *PLUGINS)),
    ("data", "verify"): Good(
        "navier_stokes --profile smoke", ("--profile=smok", "--trajectories=0", *SETTINGS, *PLUGINS)
    ),
    ("data", "generate"): Good(
        "navier_stokes --profile smoke", ("--profile=smok", "--device=gpu", *SETTINGS, *PLUGINS), works=True
    ),
    ("data", "plot"): Good(
        "navier_stokes --profile smoke", ("--profile=smok", "--count=-1", *SETTINGS, *PLUGINS), works=True
    ),
    ("data", "calibrate"): Good("navier_stokes --profile smoke", ("--profile=smok", *SETTINGS, *PLUGINS), works=True),
    ("data", "import"): Good("navier_stokes binary", ("--profile=smok", *SETTINGS, *PLUGINS), works=True),
    ("check",): Good("mean", ("--dataset=x", *PLUGINS), works=True),
    ("doctor",): Good("", ()),
}  # fmt: skip
