"""`curve`: error against compute, one fit for each method and budget, as a table and a figure."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.cli.arguments import add_verb, names
from benchmark.errors import UserError

if TYPE_CHECKING:
    from benchmark.leaderboard.curve import Curve
    from benchmark.planning.plan import PlannedCell
    from benchmark.planning.request import Request
    from benchmark.records.cell import Cell
    from benchmark.records.record import Record

    Planned = Mapping[float, Sequence[PlannedCell]]  # by budget

EXAMPLES = """  python -m benchmark curve --method videopde,fno --task cont_3 --dataset kolmogorov --budgets 1,5,25
  python -m benchmark curve --method fno --task fwd_full --budgets 0.2,1,5 --seed 0,1,2 --dry-run
  python -m benchmark curve --method videopde,fno --task cont_3 --dataset kolmogorov --no-run
"""


def add(verbs: argparse._SubParsersAction) -> None:
    from benchmark.cli.run import add_running

    parser = add_verb(verbs, "curve", "error against compute: a fit for each budget, a table and a figure", EXAMPLES)
    parser.add_argument(
        "--method", action="append", required=True, metavar="M", help="methods that train, comma-separated, or all"
    )
    parser.add_argument("--task", action="append", required=True, metavar="T", help="one task")
    parser.add_argument("--dataset", action="append", metavar="D", help="one dataset (default: navier_stokes)")
    parser.add_argument(
        "--budgets",
        default="1,5,25",
        metavar="B,B,...",
        help="multiples of the profile's training steps, also fractions; 1 is the plain record (default: 1,5,25)",
    )
    parser.add_argument(
        "--references",
        default="all",
        metavar="R,R,...",
        help="references whose stored records are drawn as levels, or none (default: all)",
    )
    parser.add_argument(
        "--error",
        choices=("one", "mean"),
        default="one",
        help="of methods that sample: that of one sample, or of the mean of all (default: one)",
    )
    parser.add_argument(
        "--figures", type=Path, default=Path("figures"), metavar="DIR", help="figure and tables (default: figures/)"
    )
    parser.add_argument("--no-run", action="store_true", help="run nothing, draw the records that are there")
    add_running(parser)
    parser.set_defaults(execute=execute, requests=make_requests, suite=None)


def execute(arguments: argparse.Namespace) -> int:
    from benchmark.cli.plan_view import show_plan
    from benchmark.cli.run import exit_code

    requests = make_requests(arguments)
    planned = make_plans(requests, is_part=arguments.no_run)
    if arguments.dry_run:
        return show_plan({"": [p for cells in planned.values() for p in cells]}, arguments.json)
    ran = [] if arguments.no_run else run_all(requests, planned, arguments)
    curve = read_curve(planned, arguments)
    if all(point.entry.mean is None for line in curve.lines for point in line.points):
        raise UserError(f"no point to draw: {'; '.join(curve.notes)}")
    show(curve, arguments)
    return exit_code(ran)


# -- what is run


def parse_budgets(text: str) -> list[float]:
    """`1,5,25` in rising order, each once."""
    try:
        budgets = [float(part) for part in text.split(",")]
    except ValueError:
        budgets = []
    if not budgets or not all(0 < budget < math.inf for budget in budgets):
        raise UserError(f"--budgets: expected numbers above 0, such as 0.2,1,5, got {text!r}")
    return sorted(set(budgets))


def make_requests(arguments: argparse.Namespace) -> dict[float, Request]:
    """One for each budget."""
    from benchmark.cli.run import make_request
    from benchmark.planning.resolve import Resolver

    for kind in ("task", "dataset"):
        given = names(getattr(arguments, kind) or [])
        if len(given) > 1 or "all" in given:
            raise UserError(f"--{kind}: a curve is of one {kind}, got {', '.join(given)}")
    budgets, request = parse_budgets(arguments.budgets), make_request(arguments)
    Resolver.of(request).check_changes()  # also where records alone are read
    request = replace(request, methods=with_budget(request))
    return {budget: replace(request, budget=budget) for budget in budgets}


def with_budget(request: Request) -> tuple[str, ...]:
    """The methods asked for, which must have a budget; `all` are those that have one."""
    from benchmark.planning.resolve import Resolver

    resolver, take_all = Resolver.of(request), "all" in request.methods
    found = []
    for name in resolver.names("methods"):
        try:
            resolver.method_settings(name)  # refuses a profile that it does not have
            _check_budget(resolver, name)
            found.append(name)
        except UserError:
            if not take_all:
                raise
    return tuple(found)


def _check_budget(resolver: Any, name: str) -> None:
    if not resolver.budget_settings(name):
        is_reference = resolver.method(name).kind == "reference"
        why = "a reference is drawn from its stored record" if is_reference else "it names no `budget_settings`"
        raise UserError(f"{name} has no budget: {why}")


def make_plans(requests: Mapping[float, Request], is_part: bool) -> dict[float, list[PlannedCell]]:
    from benchmark.planning.plan import plan
    from benchmark.planning.variants import budget_name

    planned = {budget: plan(request, is_part) for budget, request in requests.items()}
    for budget, cells in planned.items():
        for p in cells:
            if budget != 1 and p.about is not None and not p.cell.variant.endswith(budget_name(budget)):
                raise UserError(f"budget {budget:g}: {p.cell.method} has no other steps than at its own budget")
    return planned


def run_all(requests: Mapping[float, Request], planned: Planned, arguments: argparse.Namespace) -> list[Record]:
    """Budget by budget, the cheapest first."""
    from benchmark.cli.live import Live
    from benchmark.cli.run import engine_of
    from benchmark.running.provenance import now

    engine, since, records = engine_of(arguments), now(), []
    for budget, request in requests.items():
        if not arguments.json:
            print(f"budget {budget:g}", file=sys.stderr, flush=True)
        with Live(len(planned[budget]), since, quiet=arguments.json, kept=arguments.runs) as live:
            records += engine(request, planned[budget], live)
    return records


# -- what is shown


def read_curve(planned: Planned, arguments: argparse.Namespace) -> Curve:
    """From the records alone; what they are not good for is noted."""
    from benchmark.cli.run import stored_references
    from benchmark.leaderboard.curve import build_curve

    points: dict[tuple[str, float], list[Record]] = {}
    notes = []
    for budget, p in ((budget, p) for budget, cells in planned.items() for p in cells):
        own = points.setdefault((line_name(p.cell, budget), budget), [])
        if p.state == "stale" and arguments.no_run:
            notes.append(f"{p.cell.label}, seed {p.cell.seed}: stale ({p.reason})")
        own += read_if_there(p.cell, arguments.output)
    cell = next(p.cell for cells in planned.values() for p in cells)
    references = choose(stored_references(cell, arguments.output), arguments.references)
    curve = build_curve(cell.profile, cell.dataset, cell.task, points, references, arguments.error)
    return replace(curve, notes=(*curve.notes, *notes))


def line_name(cell: Cell, budget: float) -> str:
    """`fno`, or `fno @ wide` for the line of a variant."""
    from benchmark.planning.variants import budget_name

    variant = cell.variant if budget == 1 else cell.variant.removesuffix(budget_name(budget)).removesuffix("+")
    return replace(cell, variant=variant).label


def read_if_there(cell: Cell, results: Path) -> list[Record]:
    from benchmark.records.files import read_record

    path = cell.path(results)
    return [read_record(path)] if path.exists() else []


def choose(references: Sequence[Record], asked: str) -> list[Record]:
    """Those asked for, which must be there."""
    from benchmark.planning.registry import near

    found = {record.cell.method: record for record in references}
    wanted = {"all": tuple(found), "none": ()}.get(asked, names([asked]))
    for name in wanted:
        if name not in found:
            raise UserError(f"--references: no stored record of {name!r}{near(name, [*found, 'all', 'none'])}")
    return [found[name] for name in wanted]


def show(curve: Curve, arguments: argparse.Namespace) -> None:
    """The table on stdout; the figure, and the table in all its forms, as files."""
    from benchmark.figures.curve import draw
    from benchmark.leaderboard.curve_text import RENDERERS, as_json
    from benchmark.records.files import write_text

    stem = arguments.figures / name_of(curve, arguments)
    texts = {stem.with_name(f"{stem.name}.{name}"): render(curve) for name, render in RENDERERS.items()}
    for path, text in texts.items():
        write_text(path, text)
    files = [str(path) for path in (*draw(curve, stem), *texts)]
    if arguments.json:
        print(json.dumps({**as_json(curve), "files": files}, indent=1))
        return
    sys.stdout.write(RENDERERS["md"](curve))
    print("\n".join(["", *files]))


def name_of(curve: Curve, arguments: argparse.Namespace) -> str:
    """Of its files: what is drawn, and the options that are not as usual."""
    from benchmark.figures.file_names import stem

    budgets, references = parse_budgets(arguments.budgets), names([arguments.references])
    seeds = names(arguments.seed or ["0"])
    options = [
        *([f"budgets_{'+'.join(f'{budget:g}' for budget in budgets)}"] if budgets != [1, 5, 25] else ()),
        *([f"references_{'+'.join(references)}"] if references != ("all",) else ()),
        *([f"seed_{'+'.join(seeds)}"] if seeds != ("0",) else ()),
        *(["mean"] if arguments.error == "mean" else ()),
    ]
    return stem("curve", curve.profile, [curve.dataset], [curve.task], [line.method for line in curve.lines], options)
