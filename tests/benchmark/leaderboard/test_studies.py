import csv
import json
from pathlib import Path

import pytest

from benchmark.cli import main
from benchmark.planning.plan import plan
from benchmark.planning.registry import registry
from benchmark.planning.request import Request
from benchmark.planning.suites import Study, read_study, read_suite, suite_files
from benchmark.records.files import record_paths
from tests.benchmark.leaderboard.synthetic import Store

SUITE = """title: Longer and shorter
methods: [nearest, mean]
tasks: [cont_3]
datasets: [navier_stokes]
profile: smoke
variants:
  short: {dataset.sizes.frames: 3, dataset.duration: 0.75}
  long: {dataset.sizes.frames: 5}
"""
# The methods that the paper's tables and figures compare.
PAPER = {
    "comparison": ("pinn", "fno", "deeponet", "pino", "diffusionpde", "shu", "zhuang", "videopde"),
    "continuous": ("diffusionpde", "diffusionpde_ext", "shu", "zhuang", "videopde", "videopde_unified"),
    "full": ("fno", "pino", "deeponet", "diffusionpde", "videopde", "videopde_unified"),
    "partial": ("diffusionpde", "videopde", "videopde_unified"),
    "unified": ("videopde", "videopde_unified"),
    "long_range": ("fno", "pino", "deeponet", "videopde"),
    "ablation": (
        "ablation_mixed",
        "ablation_concat",
        "ablation_latent",
        "ablation_flat",
        "ablation_hierarchical",
        "videopde",
    ),
}


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    return code, *capsys.readouterr()


def suite(tmp_path, text=SUITE):
    path = tmp_path / "length.yaml"
    path.write_text(text)
    return path


# -- the suites that come with the package


@pytest.mark.parametrize("path", suite_files(), ids=lambda p: p.stem)
@pytest.mark.parametrize("profile", ["smoke", "laptop", "paper"])
def test_a_suite_can_be_planned(path, profile, tmp_path):
    values = read_suite(path)
    folders = {"results": tmp_path / "results", "runs": tmp_path / "runs", "data": tmp_path / "data"}
    request = Request(**{**values, "profile": profile}, **folders)
    study = read_study(path)
    for each in (study.requests(request) if study else {"": request}).values():
        planned = plan(each)
        assert planned and any(p.action == "run" for p in planned)
        assert not any(p.action == "refuse" for p in planned)


@pytest.mark.parametrize("name", PAPER)
def test_a_suite_has_the_methods_of_its_table(name):
    (path,) = (p for p in suite_files() if p.stem == name)
    assert read_suite(path)["methods"] == PAPER[name]


def test_the_studies_of_time_have_the_spacings_they_name():
    known = registry().load("datasets", "wave_layer")
    wanted = {
        "frame_count": [(5, 0.05), (10, 0.05), (20, 0.05)],
        "timestep": [(5, 0.05), (5, 0.1), (5, 0.2)],
        "frame_rate": [(5, 0.2), (10, 0.1), (20, 0.05)],
    }
    for path in suite_files():
        if path.stem in wanted:
            study = read_study(path)
            assert study is not None
            found = [(v["dataset.sizes.frames"], v["dataset.duration"]) for v in study.variants.values()]
            assert [(n, pytest.approx(duration / n)) for n, duration in found] == wanted[path.stem]
    assert known.profiles["paper"].duration == 1.0 and known.profiles["paper"].sizes.frames == 20


# -- variants


def test_a_study_from_file_to_table(capsys, tmp_path):
    path = suite(tmp_path)
    folders = ["--output", tmp_path / "results", "--runs", tmp_path / "runs", "--data", tmp_path / "data"]
    code, out, _ = run(capsys, "run", "--suite", path, *folders, "--dry-run", "--json")
    plan = json.loads(out)
    assert code == 0 and plan["total"]["to_run"] == 4
    assert [row["variant"] for row in plan["cells"]] == ["short", "short", "long", "long"]
    code, out, err = run(capsys, "run", "--suite", path, *folders)
    assert code == 0 and "4 done" in out and "variant long" in err
    code, out, _ = run(capsys, "run", "--suite", path, *folders, "--dry-run")
    assert "0 of 4 cells to run" in out

    root = tmp_path / "results/studies/length"
    assert len(list(record_paths(root / "short", "smoke"))) == len(list(record_paths(root / "long", "smoke"))) == 2
    assert not list(record_paths(tmp_path / "results", "smoke"))  # nothing in the main tree
    board = ["leaderboard", "--profile", "smoke", "--results", tmp_path / "results", "--suite", path]
    code, out, _ = run(capsys, *board)
    assert code == 0 and "# Longer and shorter" in out and "- short: dataset.sizes.frames = 3" in out
    header, _, *rows = [line for line in out.splitlines() if line.startswith("|")]
    assert [cell.strip() for cell in header.split("|")[1:-1]] == ["method", "short", "long"]
    assert [row.split()[1] for row in rows] == ["nearest", "mean"]  # as the suite has them

    code, out, _ = run(capsys, *board, "--format", "json")
    cells = {(c["method"], c["variant"]): c for c in json.loads(out)["cells"]}
    record = json.loads((root / "long/smoke/navier_stokes/cont_3/nearest-s0.json").read_text())
    assert record["settings"]["dataset"]["sizes"]["frames"] == 5
    assert cells["nearest", "long"]["mean"] == record["metrics"]["rel_l2"]["mean"]
    code, out, _ = run(capsys, "leaderboard", "--profile", "smoke", "--results", root / "short")
    assert code == 0 and "navier_stokes cont_3" in out


def test_what_is_missing_or_failed_is_shown(capsys, tmp_path):
    path = suite(tmp_path)
    folders = ["--output", tmp_path / "results", "--runs", tmp_path / "runs", "--data", tmp_path / "data"]
    only = suite(tmp_path, SUITE.replace("  long: {dataset.sizes.frames: 5}\n", "").replace("mean", "persistence"))
    assert run(capsys, "run", "--suite", only, *folders)[0] == 0
    suite(tmp_path)
    board = ["leaderboard", "--profile", "smoke", "--results", tmp_path / "results", "--suite", path]
    code, out, _ = run(capsys, *board)
    assert code == 0 and "missing" in out and "- persistence, short: unsupported: " in out
    code, out, _ = run(capsys, *board, "--format", "md,csv", "--output", tmp_path / "tables")
    with Path(out.split()[1]).open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["method"], r["variant"], r["state"]) for r in rows] == [
        ("nearest", "short", "done"), ("nearest", "long", "missing"),
        ("mean", "short", "missing"), ("mean", "long", "missing"),
        ("persistence", "short", "unsupported"), ("persistence", "long", "missing"),
    ]  # fmt: skip


@pytest.mark.parametrize("format", ["md", "latex", "html"])
def test_intervals_can_be_left_out(capsys, tmp_path, format):
    path = suite(tmp_path)
    Store(tmp_path / "studies/length/short", "smoke").done("fno", [1.0, 3.0], "cont_3")
    board = ["leaderboard", "--profile", "smoke", "--results", tmp_path, "--suite", path, "--format", format]
    for option, expected in (("--intervals", True), ("--no-intervals", False)):
        code, out, _ = run(capsys, *board, option)
        words = "95 \\% interval" if format == "latex" else "95 % interval"
        assert code == 0 and "2.00" in out and ("1.80, 2.20" in out) == (words in out) == expected


def test_a_typo_is_said_whatever_the_study_has(capsys, tmp_path):
    path = suite(tmp_path)
    Store(tmp_path / "studies/length/short", "smoke").done("fno", [1.0, 3.0], "cont_3")
    board = ["leaderboard", "--profile", "smoke", "--results", tmp_path, "--suite", path]
    code, out, err = run(capsys, *board, "--method", "fnoo")
    assert code == 2 and out == "" and "--method: no record of 'fnoo' (did you mean fno?)" in err
    code, out, _ = run(capsys, *board, "--method", "fno")
    assert code == 0 and "| fno " in out and "| mean" not in out


def test_overrides_of_the_command_line_win():
    study = Study("s", "S", {"a": {"edm.steps": 2, "edm.sigma_max": 5.0}})
    (request,) = study.requests(Request(("videopde",), ("cont_3",), overrides=("edm.steps=7",))).values()
    assert request.changes() == {"edm.steps": 7, "edm.sigma_max": 5.0}
    assert request.results == Path("results/studies/s/a")


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ("variants: [a, b]", "variants: expected a mapping"),
        ("variants: {}", "variants: expected a mapping"),
        ("variants: {../a: {edm.steps: 2}}", "expected a name"),
        ("variants: {a: 3}", "expected dotted settings"),
        ("variants: {a: {edm: {steps: 2}}}", "expected dotted settings"),
    ],
)
def test_wrong_variants_are_refused(tmp_path, variants, message):
    with pytest.raises(ValueError, match=message):
        read_study(suite(tmp_path, SUITE.split("variants")[0] + variants))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--suite", "references"], "results/laptop: no records there"),
        (["--suite", "frame_cont"], "did you mean frame_count"),
        (["--suite", "frame_count", "--format", "pdf"], "unknown format 'pdf'"),
        (["--suite", "frame_count"], "no records of profile laptop"),
    ],
)
def test_a_table_that_cannot_be_made(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "leaderboard", *arguments)
    assert code == 2 and message in err and out == ""


@pytest.mark.parametrize("format", ["latex", "html"])
def test_a_study_for_print_and_for_the_browser(capsys, tmp_path, format):
    path = suite(tmp_path)
    store = Store(tmp_path / "studies/length/short", "smoke")
    store.done("fno", [1.0, 3.0], "cont_3")
    store.empty("videopde", "failed", "<script>alert(1)</script> 5 % & more", "cont_3")
    board = ["leaderboard", "--profile", "smoke", "--results", tmp_path, "--suite", path, "--format", format]
    code, out, _ = run(capsys, *board)
    assert code == 0 and "FNO" in out and "2.00 [1.80, 2.20]" in out and "missing" in out
    assert "<script>" not in out and ("5 \\% \\& more" if format == "latex" else "&lt;script&gt;") in out
