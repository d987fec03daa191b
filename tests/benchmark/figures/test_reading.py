"""What is missing names the command that makes it."""

import json
from dataclasses import replace

import pytest

from benchmark.cli import main, parser
from benchmark.errors import UserError
from benchmark.figures.reading import Place, check_place, missing_records, predictions_of, records_of
from benchmark.records.files import write_record
from benchmark.records.predictions import predictions_path, write_predictions
from tests.benchmark.figures.made import predictions, record


@pytest.fixture
def place(tmp_path):
    return Place("cont_3", "navier_stokes", results=tmp_path / "results", runs=tmp_path / "runs")


def keep(place, method="kriging", key="key", **changes):
    p = predictions(method, key=key)
    p = replace(p, cell=replace(p.cell, **changes))
    write_predictions(predictions_path(place.runs, p.cell), p)
    made = replace(record(method, [5.0], seed=p.cell.seed, variant=p.cell.variant), key="key")
    write_record(p.cell.path(place.results), made)
    return p.cell


def command(error):
    """The arguments after `python -m benchmark` of a message."""
    return str(error.value).split("python -m benchmark ", 1)[1].split()


def test_predictions_come_in_the_order_asked_for(place):
    keep(place)
    keep(place, "linear")
    shown, notes = predictions_of(["linear", "kriging"], place)
    assert list(shown) == ["linear", "kriging"] and notes == []
    assert list(predictions_of(["all"], place)[0]) == ["kriging", "linear"]


def test_missing_predictions_name_the_run(place, tmp_path, capsys):
    with pytest.raises(UserError, match="no predictions of fno x cont_3 x navier_stokes") as error:
        predictions_of(["fno"], replace(place, profile="smoke"), seed=2)
    words = command(error)
    assert words == ["run", "--method", "fno", "--task", "cont_3", "--dataset", "navier_stokes", "--profile", "smoke",
                     "--seed", "2", "--output", str(place.results), "--runs", str(place.runs)]  # fmt: skip
    assert main([*words, "--data", str(tmp_path / "data"), "--dry-run"]) == 0, capsys.readouterr().err


def test_a_cell_that_is_done_must_run_again(place):
    cell = keep(place, variant="wide")
    changed = replace(record("kriging", [5.0], variant="wide"), changes={"nugget": 0.1, "--samples": 4})
    write_record(cell.path(place.results), changed)
    predictions_path(place.runs, cell).unlink()
    with pytest.raises(UserError) as error:
        predictions_of(["kriging@wide"], place)
    words = command(error)
    assert words[-1] == "--overwrite" and words[words.index("--name") + 1] == "wide"
    assert words[words.index("--set") + 1] == "nugget=0.1" and words[words.index("--samples") + 1] == "4"
    parser(["run"]).parse_args(words)


def test_a_budget_is_made_by_curve(place, tmp_path, capsys):
    """`run` refuses the name alone."""
    with pytest.raises(UserError) as error:
        predictions_of(["fno@budget_9"], replace(place, profile="smoke"))
    words = command(error)
    assert words[0] == "curve" and "--name" not in words and words[words.index("--budgets") + 1] == "9"
    assert main([*words, "--data", str(tmp_path / "data"), "--dry-run", "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["cell"]["variant"] == "budget_9"


def test_a_variant_has_the_settings_that_another_record_of_it_tells(place):
    changed = replace(record("fno", [5.0], "cont_1", variant="wide"), changes={"architecture.width": 64})
    write_record(changed.cell.path(place.results), changed)
    with pytest.raises(UserError) as error:
        predictions_of(["fno@wide+budget_9"], place)
    text = " ".join(command(error))
    assert "--set architecture.width=64 --name wide --budgets 9" in text and "--task cont_3" in text
    parser(["curve"]).parse_args(command(error))


def test_a_variant_that_no_record_tells_of_says_that_settings_are_wanted(place):
    with pytest.raises(UserError, match="--name wide --set KEY=VALUE"):
        predictions_of(["fno@wide"], place)
    (note,) = missing_records(records_of(["fno@wide"], place), place, (0,))
    assert "--name wide --set KEY=VALUE" in note


def test_a_trajectory_that_was_not_kept_names_the_option(place):
    keep(place)
    with pytest.raises(UserError, match="kept test trajectories 0 to 1, not 6.*--save-predictions 7 --overwrite"):
        predictions_of(["kriging"], place, trajectory=6)


def test_a_record_that_has_moved_on_is_told(place):
    keep(place, key="older")
    shown, (note,) = predictions_of(["kriging"], place)
    assert "kriging: its record has moved on (key), these predictions are of an older one (older)" in note
    assert note.endswith("--overwrite") and list(shown) == ["kriging"]


def test_predictions_without_a_record_are_drawn_with_a_word(place):
    keep(place).path(place.results).unlink()
    _, (note,) = predictions_of(["kriging"], place)
    assert "no record of it" in note


def test_a_cell_without_an_answer_says_why(place):
    made = replace(record("fno", [1.0]), state="unsupported", reason="it cannot look back")
    write_record(made.cell.path(place.results), made)
    with pytest.raises(UserError, match="fno has no predictions: its record says unsupported .it cannot look back"):
        predictions_of(["fno"], place)


def test_names_that_are_not_known_have_a_hint(place):
    with pytest.raises(UserError, match=r"no predictions of 'fnoo' \(did you mean fno.*--plugin FILE"):
        predictions_of(["fnoo"], place)
    for name, part in (("dataset", "navierstokes"), ("task", "cont3"), ("profile", "labtop")):
        with pytest.raises(UserError, match=f"unknown {name} '{part}' .did you mean"):
            check_place(replace(place, **{name: part}))


def test_missing_records_name_the_run(place):
    keep(place)
    found = records_of(["kriging", "fno"], place)
    (note,) = missing_records(found, place, (0,))
    assert [len(own) for own in found.values()] == [1, 0]
    assert note.startswith(
        "fno left out of navier_stokes cont_3: no record; make it: python -m benchmark run --method fno"
    )


def test_all_are_the_suites_own(place):
    keep(place)
    keep(place, "linear", variant="wide")
    assert list(records_of(["all"], place)) == ["kriging"] == list(predictions_of(["all"], place)[0])
