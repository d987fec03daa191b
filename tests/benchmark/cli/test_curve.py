"""`curve` from names to figure: what it runs, what it leaves alone, what it refuses."""

import json
from dataclasses import replace

import pytest

from benchmark.cli import main, parser
from benchmark.cli.curve import make_plans, make_requests, parse_budgets
from benchmark.errors import UserError
from benchmark.records.files import read_record, write_record
from tests.benchmark.leaderboard.synthetic import done
from tests.benchmark.support import TOY

LEARN = ("--plugin", TOY, "--method", "learn", "--task", "fwd_full", "--dataset", "toy")


class Here:
    """The verb in a folder of its own."""

    def __init__(self, root, capsys):
        self.root, self.capsys = root, capsys

    def spelled(self, *arguments, verb="curve"):
        places = {"--output": "results", "--runs": "runs", "--data": "data"}
        places |= {"--figures": "figures"} if verb == "curve" else {}
        where = [part for option, name in places.items() for part in (option, self.root / name)]
        return [verb, *map(str, arguments), "--profile", "smoke", *map(str, where)]

    def run(self, *arguments, verb="curve"):
        return main(self.spelled(*arguments, verb=verb)), *self.capsys.readouterr()

    def toy(self, *arguments, verb="curve"):
        return self.run(*LEARN, *arguments, verb=verb)

    def store(self, *arguments):
        """What running a toy's curve would leave, with errors made up."""
        parsed = parser(["curve"]).parse_args(self.spelled(*LEARN, *arguments))
        for budget, cells in make_plans(make_requests(parsed), is_part=False).items():
            for p in cells:
                made = done(p.cell, [50.0 / budget, 70.0 / budget])
                own = {"about": p.about, "settings": p.settings, "key": p.key, "changes": p.changes}
                write_record(p.cell.path(self.root / "results"), replace(made, **own))

    def records(self):
        return {path.name: read_record(path) for path in (self.root / "results").glob("*/*/*/*.json")}


@pytest.fixture
def here(tmp_path, capsys):
    return Here(tmp_path, capsys)


@pytest.mark.slow
def test_a_curve_of_a_network_from_nothing(here):
    """One fit a point, FLOP in the ratio of the budgets, a reference as a level, all files."""
    assert here.run("--method", "mean", "--task", "fwd_full", verb="run")[0] == 0
    code, out, _ = here.run("--method", "fno", "--task", "fwd_full", "--budgets", "1,0.1", "--json")
    document = json.loads(out)
    assert code == 0 and [p["budget"] for p in document["points"]] == [0.1, 1.0]
    few, own = document["points"]
    assert (few["steps"], own["steps"]) == (4, 40) and own["flop"] == 10 * few["flop"] > 0
    assert few["seconds"] > 0 and own["mean"] < few["mean"]
    assert [level["method"] for level in document["references"]] == ["mean"]
    stem = here.root / "figures" / "curve-smoke-navier_stokes-fwd_full-fno-budgets_0.1+1"
    assert document["files"] == [f"{stem}.{kind}" for kind in ("png", "pdf", "md", "csv", "json")]
    assert {str(path) for path in stem.parent.iterdir()} == set(document["files"])
    assert here.records()["fno@budget_0.1-s0.json"].changes == {"training.steps": 4}


def test_done_points_are_kept_and_shared_with_run(here):
    assert here.toy(verb="run")[0] == 0
    before = here.records()["learn-s0.json"]
    code, _, err = here.toy("--budgets", "1,2")
    after = here.records()
    assert code == 0 and err.count("stored (") == 1 and err.count("computed now") == 1
    assert after["learn-s0.json"] == before and sorted(after) == ["learn-s0.json", "learn@budget_2-s0.json"]
    assert after["learn@budget_2-s0.json"].cost["steps"] == 2 * before.cost["steps"]


def test_a_figure_is_drawn_again_without_running(here):
    here.store("--budgets", "1,2")
    before, figures = here.records(), here.root / "figures"
    code, out, err = here.toy("--budgets", "1,2,5", "--no-run")
    rows = [[cell.strip() for cell in line.split("|")] for line in out.splitlines()]
    assert code == 0 and err == "" and here.records() == before
    assert ["learn", "5", "missing"] in [row[1:4] for row in rows] and "- learn, budget 5: no record" in out
    drawn = {path.name: path.read_bytes() for path in figures.iterdir()}
    here.toy("--budgets", "1,2,5", "--no-run")
    assert {path.name: path.read_bytes() for path in figures.iterdir()} == drawn


def test_a_stale_point_is_drawn_with_a_word(here):
    here.store("--budgets", "1,2")
    path = next((here.root / "results").glob("*/*/*/learn-s0.json"))
    path.write_text(path.read_text().replace('"key": "', '"key": "0'))
    code, out, _ = here.toy("--budgets", "1,2", "--no-run")
    assert code == 0 and "learn, seed 0: stale" in out


def test_a_variant_has_a_line_of_its_own(here):
    changed = ("--budgets", "1,2", "--set", "optimiser.rate=0.5", "--name", "fast")
    here.store(*changed)
    assert sorted(here.records()) == ["learn@fast+budget_2-s0.json", "learn@fast-s0.json"]
    code, out, _ = here.toy(*changed, "--no-run", "--json")
    assert code == 0 and [p["method"] for p in json.loads(out)["points"]] == ["learn @ fast"] * 2


def test_a_setting_that_is_not_there_is_refused_also_where_nothing_runs(here):
    arguments = ("--budgets", "1", "--set", "optimiser.rat=0.5", "--no-run")
    here.store("--budgets", "1")
    code, _, err = here.toy(*arguments)
    assert code == 2 and "optimiser.rat" in err


def test_seeds_become_one_point(here):
    here.store("--budgets", "1,2", "--seed", "0,1")
    code, out, _ = here.toy("--budgets", "1,2", "--seed", "0,1", "--no-run", "--json")
    assert code == 0 and [p["seeds"] for p in json.loads(out)["points"]] == [[0, 1], [0, 1]]


def test_the_plan_of_a_curve(here):
    code, out, _ = here.toy("--budgets", "0.4,1,2", "--dry-run", "--json")
    cells = json.loads(out)["cells"]
    assert code == 0 and [c["cell"].get("variant", "") for c in cells] == ["budget_0.4", "", "budget_2"]
    seconds = [c["estimate"]["seconds"] for c in cells]
    assert seconds == [0.4 * seconds[1], seconds[1], 2 * seconds[1]]
    assert not (here.root / "results").exists() and not (here.root / "figures").exists()


def test_all_are_those_with_a_budget(here):
    code, out, _ = here.run("--method", "all", "--task", "cont_3", "--dry-run", "--json", "--budgets", "2")
    methods = {cell["cell"]["method"] for cell in json.loads(out)["cells"]}
    assert code == 0 and {"fno", "videopde", "pinn", "pino_refined"} <= methods and not methods & {"mean", "solver"}


def test_references_are_chosen_by_name(here):
    here.store("--budgets", "1")
    for name, code in (("none", 0), ("all", 0), ("mean", 2)):
        assert here.toy("--budgets", "1", "--no-run", "--references", name)[0] == code
    _, _, err = here.toy("--budgets", "1", "--no-run", "--references", "mean")
    assert "--references: no stored record of 'mean'" in err


@pytest.mark.parametrize("text", ["0", "-1,5", "1,x", "", "nan", "inf,1", "1,,5"])
def test_budgets_that_are_none_are_refused(text):
    with pytest.raises(UserError, match="--budgets: expected numbers above 0"):
        parse_budgets(text)


def test_budgets_rise_and_are_there_once():
    assert parse_budgets("5,1,0.2,5.0") == [0.2, 1.0, 5.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "fnoo", "--task", "cont_3"], "did you mean fno"),
        (["--method", "linear", "--task", "cont_3"], "linear has no budget: a reference is drawn from its stored"),
        (["--method", "odd", "--task", "cont_3", "--plugin", TOY], "odd has no budget: it names no `budget_settings`"),
        (["--method", "fno", "--task", "cont_3,fwd_full"], "--task: a curve is of one task, got cont_3, fwd_full"),
        (["--method", "fno", "--task", "cont_3", "--dataset", "all"], "--dataset: a curve is of one dataset"),
        (["--method", "fno", "--task", "cont_3", "--budgets", "0,1"], "--budgets: expected numbers above 0"),
        (["--method", "fno", "--task", "cont_3", "--budgets", "0.001"], "0.001 times 40 is less than 1"),
        (["--method", "fno", "--task", "cont_3", "--budgets", "1.001"], "fno has no other steps than at its own"),
        (["--method", "fno", "--task", "cont_3", "--no-run"], "no point to draw: fno: no record"),
    ],
)
def test_bad_input_names_the_remedy(here, arguments, message):
    code, out, err = here.run(*arguments)
    assert code == 2 and message in err and out == "" and "Traceback" not in err
