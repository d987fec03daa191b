import csv
import io
import json
import re
import subprocess
import sys

import pytest

from benchmark.leaderboard import FORMATS, read_leaderboard, render, save, write_leaderboard
from tests.benchmark.leaderboard.synthetic import Store

HOSTILE = 'RuntimeError: a_b | <script>alert("x")</script>\n100 % of {it} & #1 ~ ^ \\ \u00e4'


def fill(results):
    """Two references, four learned methods, two datasets; every kind of empty cell."""
    store = Store(results)
    for dataset in ("helmholtz", "wave_layer"):
        for task in ("cont_1", "cont_3", "fwd_full"):
            for rank, method in enumerate(("kriging", "mean", "shu", "videopde", "fno")):
                store.done(method, [1.0 + rank + 0.08 * i for i in range(8)], task, dataset)
    store.done("shu", [3.2 + 0.1 * i for i in range(8)], "cont_1", "wave_layer", seed=1)
    store.empty("pino", "failed", HOSTILE, "cont_1", "wave_layer")
    store.empty("pino", "oom", "needs 40 GB", "cont_3", "wave_layer")
    store.empty("pino", "timeout", "over 600 s", "cont_1", "helmholtz")
    store.empty("pino", "unsupported", "no forecast", "fwd_full", "helmholtz")
    store.done("fno", [1.0], "fwd_full", "wave_layer", frames=[3])
    for method in ("kriging", "fno"):
        store.empty(method, "unsupported", "no long test set", "long_range", "wave_layer")
    return store


@pytest.fixture
def board(tmp_path):
    return read_leaderboard(fill(tmp_path / "results").results, "smoke")


def row(text, method):
    return [cell.strip() for cell in next(x for x in text.splitlines() if x.startswith(f"| {method}")).split("|")[1:-1]]


def test_markdown_lays_a_family_out_like_the_paper(board):
    text = render(board, "md")
    family = text.split("## Continuous partial observation")[1].split("## ")[0]
    assert row(family, "method") == [
        "method", "wave_layer cont_1", "wave_layer cont_3", "helmholtz cont_1", "helmholtz cont_3",
    ]  # fmt: skip
    methods = re.findall(r"^\| (\w+) ", family, re.MULTILINE)
    assert methods == ["method", "mean", "kriging", "videopde", "fno", "pino", "shu"]
    assert row(family, "shu")[2] == "**3.28** [2.95, 3.61]"
    assert row(family, "videopde")[2] == "<u>4.28</u> [3.85, 4.71]"
    assert row(family, "kriging")[2] == "*1.28* [1.15, 1.41]"
    assert row(family, "pino")[1:] == ["failed<sup>a</sup>", "oom<sup>b</sup>", "timeout<sup>c</sup>", "missing"]
    assert "- <sup>b</sup> oom: needs 40 GB\n" in family
    assert "a_b \\| \\<script>" in family and "\n100" not in family


def test_markdown_says_what_must_be_known(board):
    text = render(board, "md")
    assert "All numbers are of profile smoke. Numbers of different profiles are never comparable" in text
    assert "Data source generated: wave_layer, helmholtz." in text
    assert "is not the official data" in text
    assert "only frames 3 are predicted and scored" in text
    (empty,) = (line for line in text.splitlines() if "wave_layer long_range is not shown" in line)
    assert "no long test set; no number yet; missing: mean" in empty
    assert "Without it, one seed: training variance not shown." in text
    overview = text.split("## Overview")[1]
    assert row(overview, "mean")[6:10] == ["—"] * 4  # a reference
    assert (
        row(overview, "fno")[7:9] == ["5", "2/2"] and row(overview, "pino")[6:10] == ["—"] * 4
    )  # one of fno is partial


def test_every_table_says_what_is_shown_of_samples(tmp_path):
    results = fill(tmp_path).results
    for samples, words in (("one", "shown by one sample"), ("mean", "shown by the mean of their samples")):
        board = read_leaderboard(results, "smoke", samples)
        md, latex, html = (render(board, name) for name in ("md", "latex", "html"))
        assert md.count(words) == 2 and html.count(words) == 1  # families with a column; the page is one table
        assert len([line for line in latex.splitlines() if "caption" in line and words in line]) == 2
        assert json.loads(render(board, "json"))["samples"] == samples
        assert md.count("sqrt(2) times the error of the posterior mean") == 2


def test_the_interval_over_trajectories_and_the_spread_over_seeds_are_apart(tmp_path):
    store = Store(tmp_path)
    for seed in (0, 1, 2):
        store.done("fno", [2.0 + seed] * 4, seed=seed)
    board = read_leaderboard(tmp_path, "smoke")
    assert row(render(board, "md"), "fno")[1] == "**3.00** [3.00, 3.00] ± 1.00"
    assert '"score":[3.0,3.0,3.0],"sd":1.0' in render(board, "html")
    first = next(csv.DictReader(io.StringIO(render(board, "csv"), newline="")))
    assert (first["pooled_low"], first["pooled_high"], first["pooled_seed_sd"]) == ("3.0", "3.0", "1.0")
    assert float(first["pooled_total_low"]) == pytest.approx(3 - 4.3027 / 3**0.5, abs=1e-3)  # t of 2 degrees
    (entry,) = json.loads(render(board, "json"))["families"][0]["columns"][0]["entries"]
    assert entry["seed_sd"] == 1.0 and entry["total_high"] == pytest.approx(3 + 4.3027 / 3**0.5, abs=1e-3)
    assert "training variance not shown" not in render(board, "md")


def test_a_method_with_records_of_several_versions_is_said(tmp_path):
    store = Store(tmp_path)
    store.done("solver", [2.0, 3.0], method_version=2)
    store.done("solver", [2.0, 3.0], task="cont_3", method_version=3)
    store.done("fno", [2.0, 3.0], method_version=1)
    text = render(read_leaderboard(tmp_path, "smoke"), "md")
    assert "solver has records of versions 2, 3: the older ones are stale" in text and "fno has records" not in text


def test_one_seed_is_said(tmp_path):
    store = Store(tmp_path)
    store.done("fno", [2.0, 3.0])
    for name in ("md", "latex", "html"):
        text = write_leaderboard(tmp_path, "smoke", [name], None).text
        assert "All numbers are of one seed: training variance not shown." in text


def test_sections_follow_the_families(board):
    headings = re.findall(r"^## (.*)$", render(board, "md"), re.MULTILINE)
    assert headings == [
        "Continuous partial observation", "Forward and inverse, full observation", "Long range", "Overview",
    ]  # fmt: skip


def test_tasks_and_datasets_of_plugins_come_last(tmp_path):
    store = Store(tmp_path)
    store.done("fno", [1.0], task="my_task")
    for dataset in ("zebra", "ant", "helmholtz"):
        store.done("fno", [1.0], dataset=dataset)
    store.done("aardvark", [1.0])
    board = read_leaderboard(tmp_path, "smoke", include=["all"])
    assert board.methods == ("fno", "aardvark")
    assert list(board.families) == ["Continuous partial observation", "Other tasks"]
    datasets = [column.dataset for column in board.families["Continuous partial observation"]]
    assert datasets == ["navier_stokes", "helmholtz", "ant", "zebra"]


def test_latex_is_well_formed(board):
    text = render(board, "latex")
    assert text.isascii()
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    plain = re.sub(r"\\[{}]", "", body)
    assert plain.count("{") == plain.count("}")
    assert sorted(re.findall(r"\\begin{(\w+)}", body)) == sorted(re.findall(r"\\end{(\w+)}", body))
    assert not re.search(r"(?<!\\)[_#%]", re.sub(r"{%$", "{", body, flags=re.MULTILINE))
    for tabular in re.findall(r"\\begin{tabular}{(\w+)}(.*?)\\end{tabular}", body, re.DOTALL):
        check_rows(*tabular)


def check_rows(columns, tabular):
    for line in tabular.splitlines():
        if line.endswith(r"\\"):
            spans = sum(int(width) - 1 for width in re.findall(r"\\multicolumn{(\d+)}", line))
            assert len(re.findall(r"(?<!\\)&", line)) + 1 + spans == len(columns)


def test_latex_has_one_table_a_family_with_marks(board):
    text = render(board, "latex")
    assert text.count(r"\begin{table}") == 5  # two families with a column, standing, costs and what can be asked
    assert r" & \multicolumn{2}{c}{Wave-Layer} & \multicolumn{2}{c}{Helmholtz} \\" in text
    assert r"FNO & \checkmark{} &" in text and "resizebox" not in text
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in text
    assert r"\textbf{3.28}" in text and r"\underline{4.28}" in text and r"\textit{1.28}" in text
    assert r"failed$^{\mathrm{a}}$" in text
    assert r"a\_b \textbar{} \textless{}script\textgreater{}" in text


def test_csv_is_tidy(board):
    rows = list(csv.DictReader(io.StringIO(render(board, "csv"), newline="")))
    done = [r for r in rows if r["state"] == "done"]
    assert len(done) == 31 * 3  # 5 methods x 6 columns and one more seed, 3 metrics each
    one = next(r for r in done if (r["method"], r["seed"], r["metric"]) == ("shu", "1", "vrmse"))
    assert (one["unit"], float(one["mean"]), one["n"]) == ("", pytest.approx(0.0355), "8")
    assert one["pooled_seeds"] == "0 1" and float(one["pooled_percent"]) == pytest.approx(3.415)
    assert (one["place"], one["data_source"], one["commit"]) == ("best", "generated", "0123456789abcdef")
    kinds = {(r["method"], r["kind"], r["uses_equation"], r["scope"]) for r in rows if r["state"] != "missing"}
    assert {("mean", "reference", "False", "task"), ("pino", "learned", "True", "task")} <= kinds and len(kinds) == 6
    failed = next(r for r in rows if r["state"] == "failed")
    assert failed["reason"] == HOSTILE and failed["metric"] == "" and failed["data_source"]
    missing = {(r["method"], r["task"], r["dataset"], r["seed"]) for r in rows if r["state"] == "missing"}
    assert ("pino", "cont_3", "helmholtz", "") in missing and len(missing) == 2 + 4
    assert all(None not in r and None not in r.values() for r in rows)


def test_json_holds_everything(board):
    found = json.loads(render(board, "json"))
    assert len(found["cells"]) == 31 + 4 + 2
    first = found["families"][0]["columns"][0]
    assert (first["dataset"], first["task"], first["best"], first["second"]) == (
        "wave_layer", "cont_1", ["shu"], ["videopde"],
    )  # fmt: skip
    entry = next(e for e in first["entries"] if e["method"] == "pino")
    assert entry["state"] == "failed" and entry["notes"] == [f"failed: {HOSTILE}"]
    cell = next(c for c in found["cells"] if c["method"] == "fno" and c["frames"] == [3])
    assert cell["metrics"]["vrmse"]["mean"] == 0.01 and cell["cost"]["parameters"] == 1000
    assert cell["about"] == {"kind": "learned", "uses_equation": False, "scope": "task"}
    rankings = {one["method"]: one["ranking"] for one in found["overview"]["summaries"]}
    assert rankings["mean"] is None and rankings["fno"]["competitors"] == 2


def test_html_is_safe_and_whole(board):
    """What the page does with it is in `page/` and, in a browser, in `tests/browser/`."""
    text = render(board, "html")
    assert "<script>alert" not in text and "\\u003cscript>alert" in text
    assert text.count("<script") == text.count("</script>") and text.endswith("</html>\n")


def test_same_records_same_bytes(tmp_path, board):
    texts = {name: render(board, name) for name in FORMATS}
    elsewhere = fill(tmp_path / "another" / "place").results
    again = read_leaderboard(elsewhere, "smoke")
    assert {name: render(again, name) for name in FORMATS} == texts
    program = "import sys; from pathlib import Path; from benchmark.leaderboard import *; " + (
        "sys.stdout.write(write_leaderboard(Path(sys.argv[1]), 'smoke', ['json'], None).text)"
    )
    out = subprocess.run([sys.executable, "-c", program, str(elsewhere)], capture_output=True, check=True)
    assert out.stdout.decode() == texts["json"]


def test_unreadable_records_are_listed_in_every_format_for_people(tmp_path):
    store = Store(tmp_path)
    store.done("fno", [1.0])
    store.done("shu", [1.0]).write_text("{")
    for name in ("md", "latex", "html", "json"):
        written = write_leaderboard(tmp_path, "smoke", [name], None)
        assert len(written.problems) == 1
        assert "ould not be read" in written.text or name == "json"
        assert "shu-s0.json" in written.text


def test_an_empty_leaderboard_says_so(tmp_path):
    for name in FORMATS:
        written = write_leaderboard(tmp_path, "laptop", [name], None)
        assert written.problems == () and written.text
    assert "There is no readable record of profile laptop." in write_leaderboard(tmp_path, "laptop", ["md"], None).text
    assert json.loads(write_leaderboard(tmp_path, "laptop", ["json"], None).text)["cells"] == []


def test_files_are_written_whole(tmp_path, board):
    paths = save(board, FORMATS, tmp_path / "out")
    assert [path.name for path in paths] == [f"leaderboard.{end}" for end in ("md", "tex", "csv", "json", "html")]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(path.name for path in paths)
    assert paths[0].read_text(encoding="utf-8") == render(board, "md")


def test_bad_requests_are_refused(tmp_path):
    with pytest.raises(ValueError, match="format: expected one of md, latex, csv, json, html, got 'pdf'"):
        write_leaderboard(tmp_path, "smoke", ["pdf"], None)
    with pytest.raises(ValueError, match="expected exactly one without an output folder, got md, csv"):
        write_leaderboard(tmp_path, "smoke", ["md", "csv"], None)
    with pytest.raises(ValueError, match="profile: expected one of smoke, laptop, paper, got 'huge'"):
        write_leaderboard(tmp_path, "huge", ["md"], None)


def test_heavy_packages_stay_out(tmp_path):
    fill(tmp_path)
    program = (
        "import sys; from pathlib import Path; from benchmark.leaderboard import *; "
        "write_leaderboard(Path(sys.argv[1]), 'smoke', FORMATS, Path(sys.argv[1]) / 'out'); "
        "print([name for name in ('torch', 'scipy', 'pandas', 'matplotlib', 'h5py') if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
