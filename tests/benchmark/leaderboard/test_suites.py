"""The table of a suite: all its cells in its own order, and for the paper's Table 1 what methods can do."""

import csv
import io
import json
from dataclasses import replace

import pytest

from benchmark.cli import main
from benchmark.leaderboard.capabilities import read_capabilities
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from benchmark.records.record import About
from tests.benchmark.leaderboard.synthetic import Store, done

DECLARED = {
    "pinn": About("learned", True, "instance", stochastic=False),
    "fno": About("learned", False, "task", stochastic=False),
    "pino": About("learned", True, "task", stochastic=False),
    "diffusionpde": About("learned", True, "dataset", stochastic=True),
    "videopde": About("learned", False, "task", stochastic=True),
    "videopde_unified": About("learned", False, "dataset", stochastic=True),
    "kriging": About("reference", False, "task", stochastic=True),
    "solver": About("reference", True, "task", stochastic=False),
}
REFERENCES = ("mean", "persistence", "nearest", "kriging", "linear", "residual_min", "solver")


@pytest.fixture
def store(tmp_path):
    """Of Table 1 fno and videopde; pinn, diffusionpde and shu on other cells alone, the others on none."""
    store = Store(tmp_path)
    write(store, "fno", "fwd_full", [4.0, 5.0])
    write(store, "videopde", "fwd_full", [2.0, 3.0])
    for task in ("cont_3", "fwd_partial", "inv_full"):
        write(store, "pinn", task, [20.0, 30.0], "kolmogorov")
    write(store, "diffusionpde", "fwd_full", [5.0, 6.0], "kolmogorov", frames=[7])
    write(store, "diffusionpde", "cont_1", [5.0, 6.0], "kolmogorov")
    store.empty("shu", "unsupported", "not this", "fwd_full", "navier_stokes")
    return store


def write(store, method, task, values, dataset="navier_stokes", **more):
    cell = store.cell(method, task, dataset, 0)
    write_record(cell.path(store.results), replace(done(cell, values, **more), about=DECLARED[method]))


def shown(capsys, store, *arguments):
    code = main(["leaderboard", "--profile", "smoke", "--results", str(store.results), *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def table(text, title):
    lines = text.split(f"# {title}\n")[1].split("\n#")[0].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    return {row[0]: row[1:] for row in rows}


def test_table_1_has_ticks_seconds_and_error_in_one(capsys, store):
    code, out, _ = shown(capsys, store, "--suite", "comparison", "--no-intervals")
    found = table(out, "What methods can do, seconds and errors")
    header = ["type", "partial obs.", "flexible inference", "dense temporal", "seconds", "navier_stokes fwd_full"]
    assert code == 0 and found.pop("method") == header
    assert list(found)[1:] == ["pinn", "fno", "deeponet", "pino", "diffusionpde", "shu", "zhuang", "videopde"]
    assert found["pinn"] == ["PDE loss", "✓", "✓", "✓", "missing", "missing"]  # ticked by other cells
    assert found["fno"] == ["Operator", "", "no", "✓", "0.50", "<u>4.50</u>"]
    assert found["diffusionpde"] == ["Generative+PDE", "✓", "", "no", "missing", "missing"]
    assert found["shu"] == ["Operator", "", "no", "", "missing", "unsup.<sup>a</sup>"]
    assert found["videopde"] == ["Generative", "", "no", "✓", "0.50", "**2.50**"]
    assert found["deeponet"] == found["pino"] == found["zhuang"] == ["missing"] * 6  # no record, no ticks
    assert "Other tasks" not in out and "## Forward and inverse" not in out and "the paper ticks" in out.lower()


def test_table_1_for_print_and_for_programs(capsys, store):
    _, out, _ = shown(capsys, store, "--suite", "comparison", "--format", "latex")
    assert r"\begin{tabular}{llccccr}" in out and r"FNO & Operator &  & no & \checkmark{} & 0.50 &" in out
    _, out, _ = shown(capsys, store, "--suite", "comparison", "--format", "json")
    found = json.loads(out)["capabilities"]
    assert found["pinn"] == {
        "type": "PDE loss", "partial_observation": "yes", "flexible_inference": "yes", "dense_temporal": "yes",
    }  # fmt: skip
    assert "zhuang" not in found and "kriging" not in found
    _, out, _ = shown(capsys, store, "--suite", "comparison", "--format", "csv")
    rows = {row["method"]: row for row in csv.DictReader(io.StringIO(out)) if row["metric"] in ("rel_l2", "")}
    assert (rows["fno"]["type"], rows["fno"]["flexible_inference"], rows["fno"]["dense_temporal"]) == (
        "Operator", "no", "yes",
    )  # fmt: skip
    assert rows["zhuang"]["state"] == "missing" and rows["zhuang"]["type"] == ""


def test_every_cell_of_a_suite_is_there_in_its_order(capsys, store):
    code, out, _ = shown(capsys, store, "--suite", "full", "--no-intervals")
    found = table(out, "Forward and inverse, full observation")
    assert code == 0 and len(found.pop("method")) == 10 and len(list(found)[1:]) == 6
    assert list(found)[1:] == ["fno", "pino", "deeponet", "diffusionpde", "videopde", "videopde_unified"]
    assert found["pino"] == ["missing"] * 10 and found["videopde"][2:4] == ["**2.50**", "missing"]
    assert "missing: no record." in out
    code, out, _ = shown(capsys, store, "--suite", "full", "--task", "inv_full", "--method", "pinn", "--no-intervals")
    assert code == 0 and table(out, "Forward and inverse, full observation")["pinn"] == [
        "missing", "missing", "**25.0**", "missing", "missing",
    ]  # fmt: skip
    assert "Only these methods are shown and compared: pinn." in out


def test_references_without_a_record_stand_among_references(capsys, tmp_path):
    store = Store(tmp_path)
    write(store, "kriging", "cont_3", [4.0, 5.0])
    code, out, _ = shown(capsys, store, "--suite", "references", "--dataset", "navier_stokes", "--no-intervals")
    assert code == 0 and "learned methods*" not in out and "the references alone" in out
    found = table(out, "Continuous partial observation")
    assert list(found)[1:] == ["*references*", *REFERENCES]
    assert found["kriging"] == ["missing", "missing", "*4.50*"]
    assert "## Long range" in out and "## Other tasks" not in out  # tasks that no record tells of


def test_types_of_older_records_are_told_by_their_samples():
    cell = Cell("videopde", "cont_3", "navier_stokes", "smoke", 0)
    old = replace(done(cell, [1.0, 2.0]), about=About("learned", False, "task"))
    many = replace(old, settings={**old.settings, "evaluation": {"samples": 8}})
    for record, kind in ((old, "Operator"), (many, "Generative")):
        assert read_capabilities([record])["videopde"].type == kind
    reference = replace(old, about=DECLARED["solver"])
    assert read_capabilities([reference])["videopde"].type == "Reference+PDE"


def test_a_steady_problem_says_nothing_of_dense_time():
    cell = Cell("fno", "cont_3", "helmholtz", "smoke", 0)
    record = done(cell, [1.0, 2.0])
    steady = replace(record, metrics={**record.metrics, "rel_l2_fields": record.metrics["rel_l2"]})
    assert [read_capabilities([one])["fno"].dense_temporal for one in (record, steady)] == ["✓", ""]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "comparison", "--method", "fnoo"], "--method: no record of 'fnoo' (did you mean fno?)"),
        (["--suite", "comparison", "--dataset", "kolmogorof"], "--dataset: no record of 'kolmogorof'"),
        (["--suite", "ablation"], "`python -m benchmark run --suite ablation --profile smoke` makes them"),
        (["--suite", "comparison", "--method", "pinn"], "run --suite comparison --method pinn --profile smoke`"),
    ],
)
def test_a_typo_and_a_suite_without_a_record_are_said(capsys, store, arguments, message):
    code, out, err = shown(capsys, store, *arguments)
    assert code == 2 and out == "" and message in err


def test_helmholtz_is_spoken_of_only_where_it_is_shown(capsys, store):
    words = "(helmholtz: of the field that is asked for)"
    for format in ("md", "latex", "json", "html"):
        assert words not in shown(capsys, store, "--format", format)[1]
    for format in ("md", "latex", "json"):
        assert words in shown(capsys, store, "--suite", "full", "--format", format)[1]
    _, out, _ = shown(capsys, store, "--suite", "full", "--format", "latex")
    captions = [line for line in out.splitlines() if line.startswith(r"\caption{Forward")]
    assert [words in caption for caption in captions] == [False, True]  # of three and of two datasets


def test_capabilities_are_asked_for_with_true(capsys, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("methods: [fno]\ntasks: [cont_3]\ndatasets: [helmholtz]\ncapabilities: ticks\n")
    Store(tmp_path).done("fno", [1.0])
    code, _, err = shown(capsys, Store(tmp_path), "--suite", str(path))
    assert code == 2 and "capabilities: expected true or false, got 'ticks'" in err
