import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchmark.cli import main
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from tests.benchmark.leaderboard.synthetic import done
from tests.benchmark.support import TOY


def run(capsys, *arguments):
    code = main([str(a) for a in arguments])
    return code, *capsys.readouterr()


def test_list_names_everything(capsys):
    code, out, _ = run(capsys, "list")
    assert code == 0
    for name in ("kriging", "cont_3", "wave_layer", "laptop"):
        assert name in out
    code, out, _ = run(capsys, "list", "methods", "--json")
    assert code == 0 and "kriging" in json.loads(out)["methods"]


@pytest.mark.parametrize(
    "arguments",
    [["list"], [], ["--version"], ["--help"], ["leaderboard", "--help"], ["run", "--help"], ["records", "--help"]],
)
def test_light_commands_import_nothing_heavy(arguments):
    program = (
        "import sys\nfrom benchmark.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'pandas', 'h5py', 'scipy', 'rich'} & set(sys.modules)\nassert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_nothing_asked_shows_what_can_be(capsys):
    code, out, _ = run(capsys)
    assert code == 0 and "usage: python -m benchmark" in out and "examples:" in out


def test_the_version_is_that_of_the_project(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert ended.value.code == 0 and capsys.readouterr().out == f"{project['version']}\n"


@pytest.mark.parametrize("name", ["kriging", "cont_3", "helmholtz", "wave_layer", "long_range", "solver"])
def test_describe_shows_a_card(capsys, name):
    code, out, _ = run(capsys, "describe", name)
    assert code == 0 and "source" in out
    code, out, _ = run(capsys, "describe", name, "--json", "--profile", "smoke")
    assert code == 0 and json.loads(out)


@pytest.mark.parametrize("name, size", [("videopde", "118.0M"), ("videopde_unified", "73.8M")])
def test_describe_counts_the_papers_parameters(capsys, name, size):
    _, out, _ = run(capsys, "describe", name, "--profile", "paper")
    assert f"parameters: {size} (" in out


def test_describe_counts_sensors(capsys):
    _, out, _ = run(capsys, "describe", "cont_3", "--json", "--profile", "paper")
    assert json.loads(out)["observed"]["navier_stokes"].startswith("492 of 16384 sites in 20 of 20")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe", "krigin"], "did you mean kriging"),
        (["run", "--method", "krigin", "--task", "cont_3"], "did you mean kriging"),
        (["run", "--method", "kriging", "--task", "cont3"], "did you mean cont_3"),
        (["run", "--method", "kriging", "--task", "cont_3", "--dataset", "helmholz"], "did you mean helmholtz"),
        (["run", "--method", "kriging", "--task", "cont_3", "--profile", "laptp"], "did you mean laptop"),
        (["run", "--method", "kriging"], "--task is missing"),
        (["run", "--method", "kriging", "--task", "cont_3", "--seed", "x"], "--seed: expected whole numbers"),
        (["run", "--method", "mean", "--task", "cont_3", "--seed", "\u00b2"], "--seed: expected whole numbers"),
        (["run", "--method", "mean", "--task", "cont_3", "--seed", "9" * 5000], "--seed: expected whole numbers"),
        (["run", "--method", "mean", "--task", "cont_3", "--time-limit", "nan"], "time limit: expected more than 0"),
        (["sweep", "--method", "eci", "--task", "cont_3", "--seed", "-1"], "seeds: expected whole numbers from 0"),
        (["run", "--method", "kriging", "--task", "cont_3", "--set", "nuget=1"], "did you mean nugget"),
        (["run", "--method", "fno", "--task", "cont_3", "--set", "width=8"], "did you mean architecture.width?"),
        (["run", "--method", "fno", "--task", "cont_3", "--set", "widht=8"], "did you mean architecture.width?"),
        (["run", "--method", "tiny_cnn", "--task", "cont_3"], "in a file of your own needs --plugin FILE"),
        (["run", "--method", "mean", "--task", "cont_3", "--no-wait"], "--no-wait goes with --executor slurm"),
        (["run", "--method", "mean", "--task", "cont_3", "--cluster", "a.yaml"], "--cluster goes with --executor"),
        (["data", "generate", "navier"], "did you mean navier_stokes"),
        (["data", "generate", "navier_stokes", "--set", "sizes.resolution=17"], "even"),
        (["data", "generate", "helmholtz", "--set", "sizes.frames=3"], "expected 2 frames"),
        (["data", "generate", "navier_stokes", "--set", "duration=-1"], "duration: grid.times: expected"),
        (["data", "generate", "navier_stokes", "--device", "gpu"], "device: expected auto, cpu, cuda"),
        (["data", "import", "all", "x.nc"], "name one dataset"),
        (["run", "--method", "mean", "--task", "cont_3", "--set", "dataset.duration=-1"], "duration: grid.times"),
        (["run", "--method", "mean", "--task", "cont_3", "--jobs", "0"], "jobs: expected 1 or more"),
        (["run", "--method", "mean", "--task", "cont_3", "--config", "no.yaml"], "no.yaml: cannot be read"),
        (["run", "--suite", "tabel_2"], "unknown suite"),
        (["run", "--method", "mean", "--task", "cont_3", "--device", "gpu"], "device: expected auto, cpu, cuda"),
        (["sweep", "--method", "eci", "--task", "cont_3", "--vary", "bound"], "expected key=value"),
        (["sweep", "--method", "mean", "--task", "long_range", "--dataset", "kolmogorov"], "no long trajectories"),
        (["sweep", "--method", "eci", "--task", "cont_3", "--device", "gpu"], "device: expected auto, cpu, cuda"),
        (["leaderboard", "--format", "md,csv"], "--output DIR"),
        (["leaderboard", "--format", "mdd"], "unknown format 'mdd'"),
        (["leaderboard", "--results", "nowhere"], "no records there"),
        (["leaderboard", "--format", "html", "--digits", "2"], "--digits: the page (html) has 3 digits"),
        (["leaderboard", "--format", "html", "--names", "id"], "--names: the page"),
        (["leaderboard", "--format", "html", "--no-intervals"], "--no-intervals: the page"),
        (["leaderboard", "--format", "html", "--json"], "--json is the same as --format json, not html"),
        (["leaderboard", "--compare", "paper", "--format", "md,csv", "--json"], "--json is the same"),
        (["run", "--method", "mean", "--task", "cont_3", "--limit", "2", "--name", "a/b"], "--name: expected a letter"),
        (["run", "--method", "mean", "--task", "cont_3", "--name", "mine"], "nothing departs from the profile"),
        (["records", "remove"], "at least one of --profile, --method"),
        (["records", "remove", "--yes", "--fits"], "at least one of --profile, --method"),
        (["records", "list", "--state", "stal", "--results", "."], "did you mean stale"),
        (["records", "list", "--results", "nowhere"], "nowhere: no such folder"),
        (["check", "nothing.py"], "no such file"),
    ],
)
def test_usage_errors_name_the_remedy(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert code == 2 and message in err and out == ""
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "import", "wave_layer", "no.nc"], "no.nc: no such file"),
        (["run", "--method", "mean", "--task", "cont_3", "--output", "file"], "results folder file: cannot be written"),
    ],
)
def test_a_command_that_is_fine_with_files_that_are_not(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    code, _, err = run(capsys, *arguments, "--profile", "smoke", "--data", tmp_path / "data")
    assert code == 1 and f"error: {message}" in err


def test_a_bug_is_no_usage_error(capsys, monkeypatch):
    """It keeps its traceback, with which Python ends with code 1."""

    def broken(*arguments):
        raise ValueError("a bug")

    monkeypatch.setattr("benchmark.planning.plan.cells_of", broken)
    with pytest.raises(ValueError, match="^a bug$") as raised:
        main(["run", "--method", "mean", "--task", "cont_3"])
    assert type(raised.value) is ValueError and "error:" not in capsys.readouterr().err


def test_data_from_nothing_to_verified(capsys, tmp_path):
    common = ["--profile", "smoke", "--data", tmp_path]
    code, out, _ = run(capsys, "data", "info", "all", *common, "--json")
    assert code == 0 and {row["state"] for row in json.loads(out)} == {"missing"}
    code, out, err = run(capsys, "data", "generate", "all", *common, "--device", "auto")
    assert code == 0 and "navier_stokes" in out and "train" in err
    code, out, _ = run(capsys, "data", "verify", "all", *common, "--json")
    assert code == 0 and {row["verdict"] for row in json.loads(out)} <= {"pass", "skip"}
    code, out, _ = run(capsys, "data", "plot", "all", *common, "--output", tmp_path / "pictures", "--json")
    assert code == 0 and len(list((tmp_path / "pictures").glob("*.png"))) == 5
    (victim,) = tmp_path.glob("helmholtz/*/valid.hdf5")
    victim.write_bytes(victim.read_bytes()[:5000])
    code, out, err = run(capsys, "data", "verify", "helmholtz", *common)
    assert code == 1


def test_run_shows_the_stored_references_beside_it(capsys, tmp_path):
    where = ("--profile", "smoke", "--output", tmp_path / "r", "--runs", tmp_path / "w", "--data", tmp_path / "d")
    run(capsys, "run", "--method", "mean,persistence", "--task", "fwd_full", *where)
    _, out, _ = run(capsys, "run", "--method", "nearest", "--task", "fwd_full", *where)
    assert [line.split()[0] for line in out.splitlines() if "  stored (" in line] == ["mean", "persistence"]
    path = tmp_path / "r/smoke/navier_stokes/fwd_full/mean-s0.json"
    path.write_text(path.read_text().replace('"data_fingerprint":"', '"data_fingerprint":"other'))
    _, out, _ = run(capsys, "run", "--method", "nearest", "--task", "fwd_full", *where)
    assert [line.split()[0] for line in out.splitlines() if line.endswith("), of another machine")] == ["mean"]
    _, out, _ = run(capsys, "run", "--method", "nearest", "--task", "fwd_full", *where, "--limit", "2", "--overwrite")
    assert "stored (" not in out and "nearest @ limit=2" in out  # those were scored on other trajectories


def test_run_then_leaderboard(capsys, tmp_path):
    folders = ["--output", tmp_path / "results", "--runs", tmp_path / "runs", "--data", tmp_path / "data"]
    request = ["run", "--method", "mean,nearest", "--task", "cont_3", "--profile", "smoke", *folders]
    code, out, _ = run(capsys, *request, "--dry-run", "--json")
    assert code == 0 and json.loads(out)["total"]["to_run"] == 2
    code, out, _ = run(capsys, *request, "--json")
    records = json.loads(out)["records"]
    assert code == 0 and [r["state"] for r in records] == ["done", "done"]
    code, out, _ = run(capsys, *request, "--dry-run")
    assert code == 0 and "0 of 2 cells to run" in out
    board = ["leaderboard", "--profile", "smoke", "--results", tmp_path / "results"]
    code, out, _ = run(capsys, *board)
    assert code == 0 and "nearest" in out and f"{records[1]['metrics']['rel_l2']['mean']:.3g}"[:3] in out
    code, out, _ = run(capsys, *board, "--format", "all", "--output", tmp_path / "board")
    assert code == 0 and len(list((tmp_path / "board").iterdir())) == 5


def test_an_unsupported_pair(capsys, tmp_path):
    folders = ["--output", tmp_path / "results", "--runs", tmp_path / "runs", "--data", tmp_path / "data"]
    only = ["run", "--method", "persistence", "--task", "cont_3", "--profile", "smoke", *folders]
    code, out, _ = run(capsys, *only)
    assert code == 2 and "unsupported" in out
    code, out, _ = run(capsys, *only, "--method", "mean")
    assert code == 0


def test_a_run_of_one_cell_ends_with_its_files(capsys, tmp_path):
    folders = ["--output", tmp_path / "results", "--runs", tmp_path / "runs", "--data", tmp_path / "data"]
    toy = ["--dataset", "toy", "--plugin", TOY, "--task", "fwd_full", "--profile", "smoke", *folders]
    code, out, _ = run(capsys, "run", "--method", "learn", *toy)
    named = dict(line.split(": ", 1) for line in out.splitlines() if re.match("(record|log|weights|next): ", line))
    assert code == 0 and list(named) == ["record", "log", "weights", "next"]
    assert all(Path(named[name]).is_file() for name in ("record", "log", "weights"))
    assert named["next"].startswith("python -m benchmark leaderboard --profile smoke")
    code, out, err = run(capsys, "run", "--method", "odd_error,odd_nan", *toy)
    assert code == 1 and f"records in {tmp_path}/results/, logs and weights in {tmp_path}/runs/" in out
    assert re.search(r"KeyError: 'lost' \(.*toy\.py:\d+, log .*fwd_full\.log\)", err)


def test_doctor_names_broken_entry_points(tmp_path):
    (tmp_path / "fine.py").write_text(f"exec(open({str(TOY)!r}).read())")
    (tmp_path / "crooked.py").write_text("raise RuntimeError('not today')")
    (tmp_path / "mine-1.dist-info").mkdir()
    (tmp_path / "mine-1.dist-info" / "METADATA").write_text("Name: mine\nVersion: 1\n")
    points = ("fine=fine:Learn", "gone=fine:Gone", "crooked=crooked:M", "no_method=fine:Toy", "fno=fine:Learn")
    (tmp_path / "mine-1.dist-info" / "entry_points.txt").write_text("\n".join(["[benchmark.methods]", *points]))
    command = [sys.executable, "-m", "benchmark", "doctor", "--json", "--data", str(tmp_path)]
    paths = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[3])])
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    found = "\n".join(report["plugins"])
    assert "method fine from package mine" in found and found.count("BROKEN") == 4
    for reason in ("no attribute 'Gone'", "RuntimeError: not today", "expected a subclass", "registered already"):
        assert reason in found
    assert any("plugin is broken" in line for line in report["advice"])


def test_a_failure_is_one_json_document_too(capsys, tmp_path):
    code, out, err = run(capsys, "data", "import", "navier_stokes", tmp_path / "nothing", "--data", tmp_path, "--json")
    assert code == 1 and f"error: {json.loads(out)['error']}\n" == err
    code, out, _ = run(capsys, "describe", "nobody", "--json")
    assert code == 2 and not out


@pytest.mark.parametrize("what", [[], ["--compare", "paper"], ["--suite", "study.yaml"]])
def test_tables_in_files_are_named_in_one_json_document(capsys, tmp_path, monkeypatch, what):
    monkeypatch.chdir(tmp_path)
    lists = "methods: [mean]\ntasks: [fwd_full]\ndatasets: [navier_stokes]\n"
    Path("study.yaml").write_text(f"{lists}variants: {{fine: {{dataset.max_dt: 0.001}}}}")
    cell = Cell("mean", "fwd_full", "navier_stokes", "smoke", 0)
    for folder in ("results", "results/studies/study/fine"):
        write_record(cell.path(Path(folder)), done(cell, [1.0, 2.0]))
    code, out, _ = run(capsys, "leaderboard", "--profile", "smoke", "--json", "--output", "out", *what)
    (file,) = json.loads(out)["files"]
    assert code == 0 and json.loads(Path(file).read_text()) and list(Path("out").iterdir()) == [Path(file)]


def test_doctor_reports(capsys, tmp_path):
    code, out, _ = run(capsys, "doctor", "--data", tmp_path)
    assert code == 0 and "torch" in out and "natten" in out
    code, out, _ = run(capsys, "doctor", "--json", "--data", tmp_path)
    assert json.loads(out)["device"] in ("cpu", "cuda")
