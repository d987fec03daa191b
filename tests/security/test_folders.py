"""Names and links lead nowhere else, and no file runs that was not named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmark.cli import main
from benchmark.records.cell import Cell
from benchmark.records.files import write_record
from benchmark.running.fits import discard
from tests.benchmark.leaderboard.synthetic import done
from tests.faults.process import OK, command

CELL = Cell("fno", "cont_1", "navier_stokes", "smoke", 0)
TRAP = "from pathlib import Path\nPath(__file__).with_suffix('.ran').write_text('')\n"
OUTSIDE = ("../../../outside", "/etc", "..", "a/b", "a\\b", ".hidden", "", "a\0b", "a\nb", "fno@x", "*", "~")


@pytest.fixture
def place(tmp_path, monkeypatch) -> Path:
    """Where the command line runs: records, and beside them code that nobody named."""
    monkeypatch.chdir(tmp_path)
    write_record(CELL.path(tmp_path / "results"), done(CELL, [1.0, 2.0]))
    for folder in (
        ".",
        "results",
        "results/smoke/navier_stokes/cont_1",
        "runs",
        "data",
        "plugins",
        "benchmark_plugins",
    ):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        for name in ("plugin.py", "conftest.py", "sitecustomize.py", "usercustomize.py", "setup.py", "fno-s1.py"):
            (tmp_path / folder / name).write_text(TRAP)
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        "list", "describe fno", "leaderboard --profile smoke", "leaderboard --profile smoke --format html",
        "records list",
        "run --method mean --task cont_1 --profile smoke --dry-run", "data info navier_stokes --profile smoke",
    ],
)  # fmt: skip
def test_no_code_runs_that_was_not_named(place, line, capsys):
    assert main(line.split()) == 0
    assert list(place.rglob("*.ran")) == []


def test_a_worker_runs_no_code_that_was_not_named(place):
    """With the current folder on its path, as `python -m` has it."""
    ended = command(["run", "--method", "mean", "--task", "cont_1", "--profile", "smoke"], place)
    assert ended.code == OK, ended.err
    assert list(place.rglob("*.ran")) == []


def test_code_that_is_named_runs_and_that_alone(place, capsys):
    assert main(["list", "--plugin", "plugins/plugin.py"]) == 2  # it lists nothing
    assert [path.parent.name for path in place.rglob("*.ran")] == ["plugins"]


def test_a_record_that_names_code_does_not_run_it(place, capsys):
    path = CELL.path(place / "results")
    raw = json.loads(path.read_text())
    raw["provenance"]["plugins"] = {"plugin.py": "0"}
    raw["settings"]["sources"] = {"method": str(place / "plugins" / "plugin.py")}
    path.write_text(json.dumps(raw))
    for line in ("leaderboard --profile smoke --include all", "records list"):
        main(line.split())
    assert list(place.rglob("*.ran")) == []


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("part", ["method", "task", "dataset", "profile"])
def test_no_cell_is_named_out_of_its_folder(name, part):
    with pytest.raises(ValueError, match="no cell has these names"):
        Cell.from_json({**CELL.to_json(), part: name})


@pytest.mark.parametrize("profile", ["..", "../other", "*", "../*", "/"])
def test_a_leaderboard_reads_no_other_folder(place, profile, capsys):
    secret = Cell("secret", "cont_1", "navier_stokes", "smoke", 0)
    write_record(secret.path(place / "other" / "results"), done(secret, [1.0]))
    main(["leaderboard", "--profile", profile, "--include", "all"])
    assert "secret" not in capsys.readouterr().out


def test_what_is_removed_are_records_and_never_what_a_link_leads_to(place, capsys):
    target = place / "elsewhere.json"
    target.write_text(CELL.path(place / "results").read_text())
    path = CELL.path(place / "results")
    path.unlink()
    path.symlink_to(target)
    assert main(["records", "remove", "--method", "fno", "--yes"]) == 0
    assert target.exists() and not path.is_symlink()


def test_a_record_replaces_a_link_and_not_what_it_leads_to(place):
    target = place / "elsewhere.json"
    target.write_text("mine")
    path = CELL.path(place / "results")
    path.unlink()
    path.symlink_to(target)
    write_record(path, done(CELL, [1.0]))
    assert target.read_text() == "mine" and not path.is_symlink()


def test_a_fit_that_is_thrown_away_takes_nothing_that_its_links_lead_to(place):
    kept = place / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    fit = place / "runs" / "fit"
    fit.mkdir()
    (fit / "link").symlink_to(kept)
    discard(fit)
    assert not fit.exists() and (kept / "file").read_text() == "mine"
    fit.symlink_to(kept)
    discard(fit)
    assert (kept / "file").read_text() == "mine"
