"""A comparison as text, and through the command line."""

import csv
import io
import json

import pytest

from benchmark.cli import main
from benchmark.published import compare
from benchmark.published.text import RENDERERS, render_latex, render_markdown
from benchmark.published.tidy import render_csv, render_json
from benchmark.records.files import write_record
from tests.benchmark.published.made import made
from tests.benchmark.published.test_compare import everything

RECORDS = [made("videopde", 2.0), made("shu", 1.0)]


def test_markdown_has_counts_first_and_says_what_is_contradicted():
    text = render_markdown(compare(RECORDS, "laptop"))
    head = text[: text.index("## Claims")]
    assert "no evidence against the paper" in head and "| orderings |" in head and "306 |" in head
    assert "navier_stokes cont_1: videopde < shu in the paper; here" in text
    assert "## Numbers" not in text  # a laptop number never stands beside the paper's
    (row,) = [r for r in csv.DictReader(io.StringIO(render_csv(compare(RECORDS, "laptop")))) if r["ours"]]
    assert row["state"] == "contradicted" and not row["printed"] and row["ratio"]
    assert "5.8 % (Table 1) and 6.1 % (Table 3)" in text


def test_numbers_at_profile_paper():
    text = render_markdown(compare(everything("paper"), "paper"))
    assert "## Numbers" in text and "| Table 2" in text and " X |" in text


def test_csv_and_json_have_everything():
    comparison = compare(everything("paper"), "paper")
    rows = list(csv.DictReader(io.StringIO(render_csv(comparison))))
    assert [sum(row["kind"] == kind for row in rows) for kind in ("claim", "ordering", "number")] == [33, 306, 187]
    document = json.loads(render_json(comparison))
    assert sum(document["counts"]["ordering"].values()) == len(document["orderings"]) == 306
    assert len(document["numbers"]) == 187 and len(document["claims"]) == 33
    study = document["numbers"][-1]
    assert (study["study"], study["variant"], study["setting"]) == ("frame_rate", "fps_20", "20 frames x 0.05 s")
    steady = next(n for n in document["numbers"] if n["dataset"] == "helmholtz" and n["task"] == "inv_full")
    assert steady["fields"] == "a" and steady["metric"] == "rel_l2" and "not stated" in steady["assumed"]


def test_latex_is_balanced_and_escaped():
    text = render_latex(compare(everything("paper"), "paper"))
    assert text.count(r"\begin{longtable}") == text.count(r"\end{longtable}") == 4
    body = [line for line in text.splitlines()[1:] if line]
    assert not any(" % " in line.replace(r"\%", "") or "_" in line.replace(r"\_", "") for line in body)
    assert text.count("{") == text.count("}")


@pytest.fixture
def results(tmp_path):
    for record in RECORDS:
        write_record(record.cell.path(tmp_path), record)
    return tmp_path


def test_command(results, capsys, tmp_path):
    base = ["leaderboard", "--compare", "paper", "--results", str(results)]
    assert main([*base, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["ordering"]["contradicted"] == 1
    assert main([*base, "--format", "all", "--output", str(tmp_path / "out")]) == 0
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {f".{ending}" for ending, _ in RENDERERS.values()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--compare", "thesis"], "expected paper"),
        (["--compare", "paper", "--format", "html"], "md, latex, csv, json"),
        (["--compare", "paper", "--format", "md,csv"], "--output"),
        (["--compare", "paper", "--profile", "huge"], "smoke, laptop, paper"),
        (["--compare", "paper", "--profile", "smoke"], "no records there"),
        (["--compare", "paper", "--method", "fno"], "leave it out"),
        (["--compare", "paper", "--metric", "crps"], "--metric: --compare shows the paper's own numbers"),
        (["--compare", "paper", "--digits", "5"], "--digits: --compare"),
        (["--compare", "paper", "--samples", "mean"], "--samples: --compare"),
        (["--compare", "paper", "--names", "display"], "--names: --compare"),
        (["--compare", "paper", "--no-intervals"], "--intervals: --compare"),
    ],
)
def test_mistakes(results, capsys, arguments, message):
    assert main(["leaderboard", "--results", str(results), *arguments]) == 2
    assert message in capsys.readouterr().err
