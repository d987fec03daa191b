"""`plot` from names to files: what it draws, what it says, what it refuses."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from benchmark.cli import main, parser
from benchmark.figures.plot import KINDS
from benchmark.records.files import read_record, write_record
from benchmark.records.predictions import predictions_path, write_predictions
from tests.benchmark.figures.made import predictions, record, score
from tests.benchmark.support import TOY

ROOT = Path(__file__).parents[3]
DOCUMENTS = [ROOT / "README.md", ROOT / "benchmark" / "figures" / "README.md", ROOT / "benchmark" / "cli" / "plot.py"]
FOUND = (re.findall(r"python -m benchmark (plot .*?) *(?:#.*)?$", p.read_text(), re.MULTILINE) for p in DOCUMENTS)
COMMANDS = sorted({command for found in FOUND for command in found})


class Here:
    """The verb in a folder of its own."""

    def __init__(self, root, capsys):
        self.root, self.capsys = root, capsys

    def plot(self, *arguments):
        where = [p for name in ("results", "runs") for p in (f"--{name}", self.root / name)]
        code = main(["plot", *map(str, [*arguments, *where, "--output", self.root / "figures"])])
        return code, *self.capsys.readouterr()

    def keep(self, method, **more):
        p = predictions(method, **more)
        write_predictions(predictions_path(self.root / "runs", p.cell), p)
        self.store(replace(record(method, [5.0, 6.0]), key="key"))

    def store(self, made):
        write_record(made.cell.path(self.root / "results"), made)

    def figures(self):
        return sorted(path.name for path in (self.root / "figures").glob("*"))


@pytest.fixture
def here(tmp_path, capsys):
    return Here(tmp_path, capsys)


def test_from_a_run_to_a_picture_and_a_film(here):
    """A plugin's method, as a stranger would: run, then plot what it kept."""
    places = ("--output", here.root / "results", "--runs", here.root / "runs", "--data", here.root / "data")
    toy = ("--method", "learn", "--task", "fwd_full", "--dataset", "toy", "--profile", "smoke", "--plugin", TOY)
    assert main(["run", *map(str, [*toy, *places])]) == 0
    here.capsys.readouterr()
    code, out, err = here.plot("learn", "--task", "fwd_full", "--dataset", "toy", "--profile", "smoke",
                               "--format", "png,pdf,gif", "--frames", "0,2")  # fmt: skip
    names = [f"errors-smoke-toy-fwd_full-learn-frames_0+2.{kind}" for kind in ("gif", "pdf", "png")]
    assert code == 0 and err == "" and here.figures() == names
    assert sorted(out.split()) == [str(here.root / "figures" / name) for name in names]
    with Image.open(here.root / "figures" / names[0]) as film, Image.open(here.root / "figures" / names[2]) as picture:
        assert film.n_frames == 2 and picture.width == 3.4 * 300
    pdf = (here.root / "figures" / names[1]).read_bytes()
    assert b"/FontFile2" in pdf and b"/Type3" not in pdf  # embedded TrueType


def test_the_document_has_files_and_notes(here):
    here.keep("kriging", key="older")
    code, out, err = here.plot("kriging", "--task", "cont_3", "--format", "png", "--json")
    document = json.loads(out)
    assert code == 0 and err == "" and document["figure"] == "errors"
    assert document["files"] == [str(here.root / "figures" / "errors-laptop-navier_stokes-cont_3-kriging.png")]
    assert "its record has moved on" in document["notes"][0]
    assert here.plot("kriging", "--task", "cont_3", "--format", "png")[2].startswith("note: kriging: its record has")


def test_every_figure_has_its_command(here):
    """One record and one file of predictions a method are enough for each."""
    samples = {"spread_skill": score([0.9, 1.1], ""), "rel_l2_mean": score([5.0, 6.0]), "coverage_50": score([50.0])}
    for method in ("kriging", "fno"):
        here.keep(method, samples=3)
        for task, rate in (("cont_1", 0.01), ("cont_3", 0.03), ("long_range", 1.0)):
            made = record(method, [5.0, 6.0], task, rate=rate, metrics=samples, curve=[0.0, 1.0, 2.0])
            here.store(replace(made, key="key"))
    here.store(record("fno", [3.0, 4.0], variant="budget_5", rate=0.03))
    for kind in KINDS:
        task = () if KINDS[kind].tasks else ("--task", "cont_3")
        method = "kriging" if kind == "noise_seeds" else "all"
        code, _, err = here.plot(method, "--figure", kind, *task, "--format", "png")
        assert code == 0, err
    assert [name.partition("-")[0] for name in here.figures()] == sorted(KINDS)


def test_the_same_files_make_the_same_figures(here):
    here.keep("kriging")
    contents = []
    for _ in range(2):
        assert here.plot("kriging", "--task", "cont_3", "--frames", "0")[0] == 0
        contents.append([path.read_bytes() for path in sorted((here.root / "figures").glob("*"))])
    assert contents[0] == contents[1] and len(contents[0]) == 2


def test_another_figure_is_another_file(here):
    """What was drawn before stays as it was."""
    for method in ("kriging", "fno"):
        here.keep(method, samples=3)
    for dataset in ("navier_stokes", "kolmogorov", "wave_layer"):
        here.store(record("fno", [5.0, 6.0], dataset=dataset, rate=0.03))
    figures = (
        ("fno", "--task", "cont_3"),
        ("kriging", "--task", "cont_3"),
        ("kriging", "--task", "cont_3", "--frames", "0"),
        ("kriging", "--task", "cont_3", "--trajectory", "1"),
        ("kriging", "--task", "cont_3", "--log"),
        ("kriging,fno", "--task", "cont_3", "--figure", "spectra"),
        ("fno", "--figure", "rates", "--dataset", "kolmogorov,navier_stokes"),
        ("fno", "--figure", "rates", "--dataset", "kolmogorov,wave_layer"),
        ("fno", "--figure", "rates", "--dataset", "kolmogorov", "--task", "cont_3"),
        ("fno", "--figure", "rates", "--dataset", "kolmogorov", "--task", "cont_3", "--samples", "mean"),
    )
    for count, arguments in enumerate(figures, 1):
        code, _, err = here.plot(*arguments, "--format", "png")
        assert code == 0 and len(here.figures()) == count, (arguments, err)


def test_help_names_every_figure(capsys):
    with pytest.raises(SystemExit):
        main(["plot", "--help"])
    text = capsys.readouterr().out
    assert all(f"    {kind} " in text for kind in KINDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_documented_command_is_one(command, tmp_path, capsys):
    """It gets as far as looking for files that are not there."""
    arguments = [*shlex.split(command), "--results", str(tmp_path), "--runs", str(tmp_path)]
    parsed = parser(["plot"]).parse_args(arguments)
    assert parsed.figure in KINDS and main(arguments) == 2
    assert "python -m benchmark" in (message := capsys.readouterr().err) or "no records" in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kriging"], "--task is missing; errors is of one task, such as cont_3"),
        (["kriging", "--task", "cont_3", "--figure", "error"], "unknown figure 'error' (did you mean errors"),
        (["kriging", "--task", "cont_3", "--format", "gfi"], "unknown format 'gfi' (did you mean gif"),
        (["kriging", "--task", "cont_3", "--format", ""], "--format: expected some of png, pdf, gif, mp4"),
        (["kriging", "--task", "cont_3,cont_1"], "--task: errors is of one task, got cont_3, cont_1"),
        (["kriging", "--task", "cont_3", "--seed", "0,1"], "--seed: errors is of one seed, got 0, 1"),
        (
            ["kriging", "--task", "cont_3", "--frames", "0,x"],
            "--frames: expected whole numbers like 0,3,7 of at most 18 digits, got '0,x'",
        ),
        (["kriging", "--task", "cont_3", "--frames", "\u00b2"], "--frames: expected whole numbers"),
        (["kriging", "--task", "cont_3", "--frames", "9" * 5000], "--frames: expected whole numbers"),
        (["kriging", "--task", "cont_3", "--seed", "\u0663"], "--seed: expected whole numbers"),
        (["kriging", "--task", "cont_1", "--dataset", ","], "--dataset: expected a name, got ','"),
        (["kriging", "--task", "cont_3", "--profile", "/abs"], "unknown profile '/abs'"),
        (["kriging", "--task", "cont_3", "--profile", "*"], "unknown profile '*'"),
        (["kriging", "--task", "..", "--dataset", "*"], "unknown dataset '*'"),
        (["kriging", "--task", "cont_3", "--frames", "9"], "frames: expected some of 0 to 4, got 9"),
        (["kriging", "--task", "cont_3", "--frames", "0,1,2,3,4,5,6,7,8"], "expected some of 0 to 4, got 5, 6, 7, 8"),
        (["kriging", "--task", "cont_3", "--trajectory", "-1"], "--trajectory: expected 0 or more, got -1"),
        (["kriging", "--task", "cont_3", "--channel", "v"], "channel: expected one of w, got 'v'"),
        (["linear", "--task", "cont_3"], "make them: python -m benchmark run --method linear"),
        (["linear", "--task", "cont_3", "--figure", "cost"], "nothing to draw: linear left out"),
        (["kriging,linear", "--task", "cont_3", "--figure", "compute"], "python -m benchmark curve --method"),
        (["kriging", "--task", "cont_3", "--figure", "noise_seeds"], "kriging gives one answer"),
        (["kriging", "--task", "cont_3", "--figure", "spectra", "--format", "gif"], "only `--figure errors` moves"),
    ],
)
def test_what_cannot_be_drawn_says_why(here, arguments, message):
    here.keep("kriging")
    code, out, err = here.plot(*arguments)
    assert (code, out) == (2, "") and message in err and "Traceback" not in err
    assert here.figures() == []


def test_a_file_that_is_no_predictions_is_named(here):
    here.keep("kriging")
    path = predictions_path(here.root / "runs", predictions("kriging").cell)
    path.write_bytes(b"half a file")
    code, _, err = here.plot("kriging", "--task", "cont_3")
    assert code == 2 and str(path) in err and "--overwrite" in err


def test_records_are_only_read(here):
    here.keep("kriging")
    path = record("kriging", [5.0]).cell.path(here.root / "results")
    before = path.read_bytes()
    assert here.plot("kriging", "--task", "cont_3", "--figure", "cost", "--format", "png")[0] == 0
    assert path.read_bytes() == before and read_record(path).state == "done"
