import json
import shlex

import pytest

from benchmark.cli import main
from benchmark.cli.sweep import _spell
from benchmark.errors import UserError
from benchmark.planning.settings import SettingsError, parse_overrides
from benchmark.tools.sweep import parse_values, sweep
from tests.benchmark.running.test_cell import run
from tests.benchmark.support import TOY, toy_request


def quiet(message, fraction):
    pass


def count(path, word):
    return sum(line.startswith(word) for line in path.read_text().splitlines())


@pytest.fixture
def log(tmp_path, monkeypatch):
    monkeypatch.setenv("TOY_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def test_one_fit_serves_every_choice_and_a_later_run(tmp_path, log):
    trials = list(sweep(toy_request(tmp_path, tasks=("fwd_full", "cont_3")), {"shift": [0, 1, 100]}, quiet))
    assert [trial.choice for trial in trials] == [{"shift": 0}, {"shift": 1}, {"shift": 100}]
    assert trials[0].error < trials[1].error < trials[2].error
    assert set(trials[0].errors) == {"fwd_full", "cont_3"}
    assert count(log, "fit") == 1
    run(toy_request(tmp_path, overrides=("shift=1.5",)))
    assert count(log, "fit") == 1  # the setting is read by predict alone
    run(toy_request(tmp_path, overrides=("optimiser.rate=0.5",)))
    assert count(log, "fit") == 2


def test_the_test_set_is_never_made(tmp_path, log):
    list(sweep(toy_request(tmp_path, limit=1), {}, quiet))
    assert {path.stem for path in (tmp_path / "data").rglob("*.hdf5")} == {"train", "valid"}
    assert count(log, "predict 1 ") == 1


def test_what_the_fit_depends_on_cannot_be_varied(tmp_path):
    with pytest.raises(SettingsError, match="'steps' is no setting that its predictions alone depend on"):
        next(sweep(toy_request(tmp_path), {"steps": [1, 2]}, quiet))
    with pytest.raises(SettingsError, match="shift: expected float"):
        next(sweep(toy_request(tmp_path), {"shift": [0, "far"]}, quiet))
    assert not (tmp_path / "runs").exists()  # refused before anything was fitted


def test_what_a_method_cannot_do_is_refused(tmp_path):
    with pytest.raises(ValueError, match="it cannot look back"):
        next(sweep(toy_request(tmp_path, methods=("learn_task",), tasks=("inv_full",)), {}, quiet))
    with pytest.raises(ValueError, match="no long trajectories"):
        next(sweep(toy_request(tmp_path, datasets=("toy_long",), tasks=("long_range",)), {}, quiet))


def test_a_method_without_a_fit_may_vary_everything(tmp_path):
    request = toy_request(tmp_path, methods=("odd",))
    assert [t.choice["how"] for t in sweep(request, {"how": ["fine", "partial"]}, quiet)] == ["fine", "partial"]


def test_a_choice_that_fails_stops_no_other(tmp_path, capsys):
    request = toy_request(tmp_path, methods=("odd",))
    bad, good = sweep(request, {"how": ["nan", "fine"]}, quiet)
    assert "NaN" in bad.failure and bad.error == float("inf") and good.failure is None
    arguments = ["sweep", "--method", "odd", "--task", "fwd_full", "--dataset", "toy", "--profile", "smoke"]
    arguments += ["--plugin", str(TOY), "--runs", str(tmp_path / "runs"), "--data", str(tmp_path / "data")]
    assert main([*arguments, "--vary", "how=nan,fine"]) == 0
    assert "best on valid: --set how=fine" in capsys.readouterr().out
    assert main([*arguments, "--vary", "how=nan"]) == 1
    assert "all failed" in capsys.readouterr().out


def test_values_are_lists_of_yaml():
    assert parse_values(["a.b=1,2.5", "c=x", "d=[1, 2],[3, 4]"]) == {"a.b": [1, 2.5], "c": ["x"], "d": [[1, 2], [3, 4]]}
    for wrong in ("a", "a=", "=1", "a=[1"):
        with pytest.raises(SettingsError, match="expected key=value"):
            parse_values([wrong])


def test_the_best_is_spelled_as_a_run_takes_it():
    choice = {"a": None, "b": [1, 2], "c": "solve", "d": 0.5, "e": True}
    items = shlex.split(_spell(choice))
    assert parse_overrides(item for item in items if item != "--set") == choice


def test_the_command_prints_the_best_first(tmp_path, capsys):
    arguments = ["sweep", "--method", "learn", "--task", "fwd_full", "--dataset", "toy", "--profile", "smoke"]
    arguments += ["--plugin", str(TOY), "--runs", str(tmp_path / "runs"), "--data", str(tmp_path / "data")]
    assert main([*arguments, "--vary", "shift=3,0"]) == 0
    assert "best on valid: --set shift=0" in capsys.readouterr().out
    assert main([*arguments, "--vary", "shift=3,0", "--json"]) == 0
    trials = json.loads(capsys.readouterr().out)["trials"]
    assert [t["choice"]["shift"] for t in trials] == [0, 3] and trials[0]["error"] < trials[1]["error"]
    assert main([*arguments, "--vary", "steps=1"]) == 2


def test_samples_are_chosen_by_what_is_asked(tmp_path, capsys):
    """`learn` draws with a spread of its own; its mean is the better answer."""
    request = toy_request(tmp_path, samples=3)
    (trial,) = sweep(request, {}, quiet, by="crps")
    scores = trial.scores["fwd_full"]
    assert {"rel_l2", "rel_l2_mean", "crps", "spread_skill"} <= scores.keys()
    assert trial.error == scores["crps"] < scores["rel_l2"] and scores["rel_l2_mean"] < scores["rel_l2"]
    with pytest.raises(UserError, match="of several samples alone"):
        next(sweep(toy_request(tmp_path, samples=1), {}, quiet, by="crps"))
    with pytest.raises(UserError, match="did you mean crps"):
        next(sweep(request, {}, quiet, by="crsp"))
