"""Links in the documents lead somewhere, and their tables are what the records say.

`python -m tests.test_docs` writes the tables anew.
"""

import math
import re
import shlex
from pathlib import Path

import pytest

from benchmark.cli import main, parser
from benchmark.cli.sweep import make_request
from benchmark.leaderboard.entries import pool
from benchmark.leaderboard.measure import Measure
from benchmark.leaderboard.names import known, ordered
from benchmark.leaderboard.selection import is_own
from benchmark.leaderboard.text import letter
from benchmark.planning import counts
from benchmark.planning.forecast import Forecast, forecast
from benchmark.planning.machine import GPUS
from benchmark.planning.resolve import Resolved
from benchmark.records.cell import Cell
from benchmark.records.files import read_record, record_paths, write_record
from benchmark.records.record import Record
from benchmark.scoring.metric_table import METRIC_TABLE
from benchmark.tools.count_paper import paper_cells, questions
from benchmark.tools.sweep import parse_values, plan_sweep
from methods import METHODS as CATALOGUE
from tests.benchmark.leaderboard.synthetic import Store, done

ROOT = Path(__file__).parent.parent
README, RESULTS = ROOT / "README.md", ROOT / "results" / "laptop" / "README.md"
COSTS = ROOT / "results" / "paper" / "README.md"
METRICS = ROOT / "benchmark" / "scoring" / "METRICS.md"
ALONE = ("eci", "voronoi_unet", "OPERATORS")  # cards of methods that have no folder
CARDS = [*(ROOT / "methods").rglob("README.md"), *(ROOT / "methods" / f"{name}.md" for name in ALONE)]
HEADINGS = ("Source", "What it fixes", "What we chose", "Cost", "Remarks")
CLUSTER = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "CLUSTER.md").read_text(), re.DOTALL | re.MULTILINE)[0]
BLOCK = re.compile(r"(<!-- table -->\n).*?(<!-- end of table -->)", re.DOTALL)
TASKS = ("cont_3", "fwd_full")
TRAJECTORIES = 32  # of the test set


def documents() -> list[Path]:
    top = {"benchmark", "datasets", "methods", "tasks", "tests", "results"}
    return sorted(p for p in [*ROOT.glob("*.md"), *(q for t in top for q in (ROOT / t).rglob("*.md"))])


def records(results: Path = ROOT / "results") -> dict[tuple[str, str, str], Record]:
    """(method, dataset, task) -> the suite's own record with seed 0 at profile laptop, whatever else lies there."""
    found = {}
    for path in record_paths(results, "laptop"):
        record = read_record(path)
        cell = record.cell
        if cell.seed == 0 and is_own(record):
            found[cell.method, cell.dataset, cell.task] = record
    return found


def overview() -> str:
    """Methods down, datasets x a few tasks across: the mean error in percent, or the state."""
    found = records()
    columns = [(d, t) for d in ordered({d for _, d, _ in found}, "datasets") for t in TASKS]
    methods = ordered({m for m, _, t in found if t in TASKS}, "methods")
    return table(["method", *(f"{d} {t}" for d, t in columns)], [[m, *((m, *c) for c in columns)] for m in methods])


def references() -> str:
    """Datasets x tasks down, the references across."""
    found = records()
    methods = ordered({m for (m, _, _), record in found.items() if record.is_reference}, "methods")
    places = [(d, t) for d in ordered({d for _, d, _ in found}, "datasets") for t in known("tasks")]
    done = {cell[1:] for cell, record in found.items() if record.is_reference and record.state == "done"}
    rows = [[" ".join(place), *((m, *place) for m in methods)] for place in places if place in done]
    return table(["rel_l2 %", *methods], rows)


def table(header: list[str], rows: list[list[str | tuple[str, str, str]]]) -> str:
    """Cells by their name, with letters for what must be known beside; these notes stand below."""
    found, letters = records(), {}

    def shown(cell: str | tuple[str, str, str]) -> str:
        if isinstance(cell, str):
            return cell
        record = found.get(cell)
        if record is None:
            return "missing"
        if record.state != "done":
            return "-"
        notes = [letters.setdefault(note, letter(len(letters))) for note in footnotes(record)]
        return " ".join([Measure().text(record.headline.mean), *(f"<sup>{','.join(notes)}</sup>" for _ in notes[:1])])

    lines = [header, ["---", *["--:"] * (len(header) - 1)], *([shown(cell) for cell in row] for row in rows)]
    notes = " ".join(f"<sup>{mark}</sup> {note}." for note, mark in letters.items())
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + (f"\n{notes}\n" if notes else "")


def footnotes(record: Record) -> tuple[str, ...]:
    """What the leaderboard says of a number, but for a method's own remarks, which its card has."""
    count = len(record.headline.values)
    fewer = (f"{count} of {TRAJECTORIES} test trajectories",) if count < TRAJECTORIES else ()
    return fewer + tuple(n for n in pool([record], record.basis).notes if n != record.remark)


def glossary() -> str:
    """The metrics in the order of the table."""
    better = {"low": "lower", "high": "higher", "level": "at a level"}
    lines = [["metric", "title", "unit", "better", "definition"], ["---"] * 5]
    lines += [
        [f"`{name}`", one.title, one.unit, better[one.goal], one.definition.replace("|", "\\|")]
        for name, one in METRIC_TABLE.items()
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def costs() -> str:
    """Learned methods down, datasets across: hours of training + prediction at profile `paper` on one L40S."""
    cells: dict[tuple[str, str], Resolved] = {}
    for cell in paper_cells():  # of each method and dataset first the task that comes first
        cells.setdefault((cell.cell.method, cell.cell.dataset), cell)
    datasets = ordered({dataset for _, dataset in cells}, "datasets")
    lines = [["method", "one fit serves", *datasets], ["---", "---", *["--:"] * len(datasets)]]
    for method in dict.fromkeys(method for method, _ in cells):
        own = [cells.get((method, dataset)) for dataset in datasets]
        scope = next(cell.method.scope for cell in own if cell is not None)
        lines.append([method, "a trajectory" if scope == "instance" else f"a {scope}", *map(hours, own)])
    totals = dict.fromkeys(datasets, 0.0)
    for (_, dataset), cell in cells.items():
        found = forecast_of(cell)
        totals[dataset] += found.seconds / 3600 if found else math.nan  # no total of a part
    lines.append(["together", "", *(f"{total:.0f}" for total in totals.values())])
    grand = (
        f"\nAll cells of the table, which are one task of each method and dataset: {sum(totals.values()):.0f} hours.\n"
    )
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + grand


def hours(cell: Resolved | None) -> str:
    if cell is None:
        return "-"
    found = forecast_of(cell)
    if found is None:
        return "not counted"
    parts = [seconds / 3600 for seconds in (found.fit_seconds, found.prediction_seconds) if seconds]
    return " + ".join("<0.01" if part < 0.01 else f"{part:.0f}" if part >= 10 else f"{part:.2g}" for part in parts)


def forecast_of(cell: Resolved) -> Forecast | None:
    """Only from what is stored: counting takes minutes."""
    is_counted = set(list(questions(cell))[:-1]) <= set(counts.stored())
    return forecast(cell, GPUS["L40S"]) if is_counted else None


WRITTEN = {README: overview, RESULTS: references, COSTS: costs, METRICS: glossary}


@pytest.mark.parametrize("path", documents(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_within_the_repository(path):
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text())
    missing = [t for t in targets if not (path.parent / t).exists()]
    assert not missing


def commands() -> list[str]:
    """Every `run`, `sweep` and `curve` of a code block, without comments, without those with a file of the reader's."""
    fence = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)
    blocks = [block for path in documents() for block in fence.findall(path.read_text())]
    lines = [line.split("#")[0].strip() for b in blocks for line in b.replace("\\\n", " ").splitlines()]
    found = [line[line.index("python -m benchmark") :] for line in lines if "python -m benchmark" in line]
    return [
        c for c in dict.fromkeys(found) if re.match(r"\S+ -m benchmark (run|sweep|curve)", c) and "--plugin" not in c
    ]


@pytest.mark.parametrize("command", commands())
def test_a_documented_command_is_accepted(command, tmp_path, capsys, monkeypatch):
    for count in ("memory", "fit_work", "prediction_work"):  # takes seconds
        monkeypatch.setattr(f"benchmark.planning.counts.{count}", lambda *cell: None)
    monkeypatch.chdir(tmp_path)
    Path("cluster.yaml").write_text(CLUSTER)
    arguments = [*shlex.split(command)[3:], "--data", str(tmp_path / "data"), "--runs", str(tmp_path / "runs")]
    if arguments[0] in ("run", "curve"):
        assert main([*arguments, "--dry-run", "--output", str(tmp_path / "results")]) == 0, capsys.readouterr().err
        return
    parsed = parser(["sweep"]).parse_args(arguments)
    cells, choices = plan_sweep(make_request(parsed), parse_values(parsed.vary))
    assert cells and len(choices) > 1


@pytest.mark.parametrize("path", WRITTEN, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_table_is_what_the_records_say(path):
    found = BLOCK.search(path.read_text())
    assert found and found.group(0) == f"{found.group(1)}{WRITTEN[path]()}{found.group(2)}"


def test_records_of_a_reader_change_no_table(tmp_path):
    """A plugin's records, failed ones too, and variants may lie in results/."""
    store = Store(tmp_path, "laptop")
    store.done("fno", [1.0], "cont_3")
    before = records(tmp_path)
    store.done("my_method", [1.0], "cont_3")
    store.empty("my_method", "failed", "KeyError: x", "fwd_full")
    store.done("fno", [2.0], "cont_3", "my_dataset")
    variant = Cell("fno", "cont_3", "navier_stokes", "laptop", 0, "wide")
    write_record(variant.path(tmp_path), done(variant, [0.1]))
    assert len(before) == 1 and records(tmp_path) == before


@pytest.mark.parametrize("path", CARDS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_card_has_its_five_headings_in_order(path):
    assert re.search(".*".join(HEADINGS), path.read_text(), re.DOTALL)


@pytest.mark.parametrize("method", CATALOGUE)
def test_every_method_has_a_card(method):
    assert f"`{method}`" in (ROOT / "methods" / "README.md").read_text()


if __name__ == "__main__":
    for path, written in WRITTEN.items():
        text = written()
        path.write_text(BLOCK.sub(lambda found, text=text: f"{found[1]}{text}{found[2]}", path.read_text()))
