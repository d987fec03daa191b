"""A cell from Python gives what `run` records."""

import pytest

import benchmark
from benchmark.cli import main
from benchmark.errors import UserError


@pytest.fixture
def folders(tmp_path):
    return {"results": tmp_path / "results", "runs": tmp_path / "runs", "data": tmp_path / "data"}


def make(folders, method="nearest", task="cont_3", **more):
    return benchmark.case(method, task, "navier_stokes", profile="smoke", **folders, **more)


def test_its_score_is_that_of_the_record(folders):
    case = make(folders)
    method = case.fit()
    found = case.score(method.predict(case.problem(first=4), seed=0), first=4)
    assert found["rel_l2"].values == pytest.approx(case.run().headline.values, rel=1e-5)


def test_a_run_is_stored_as_by_the_command_line(folders, capsys):
    record = make(folders).run()
    request = ["run", "--method", "nearest", "--task", "cont_3", "--profile", "smoke"]
    assert main([*request, *(f"--{'output' if k == 'results' else k}={v}" for k, v in folders.items())]) == 0
    out = capsys.readouterr().out
    assert "stored (" in out and "computed now" not in out
    table = benchmark.load_records(folders["results"], "smoke")
    assert table.set_index("metric").loc["rel_l2", "mean"] == record.headline.mean


def test_problem_and_truth_are_of_the_same_trajectories_and_hide_nothing_seen(folders):
    case = make(folders)
    problem, truth = case.problem(first=2), case.truth(first=2)
    assert truth.u.shape == problem.values.shape == (2, 4, 16, 16, 1)
    assert (problem.values[problem.mask] == truth.u[problem.mask]).all()
    assert (problem.values[~problem.mask] == 0).all()


def test_a_fit_is_trained_once_and_found_again(folders):
    case = make(folders, "fno", settings={"training.steps": 2})
    with pytest.raises(UserError, match="no fit there; `python -m benchmark run` makes one"):
        case.fit(only_stored=True)
    trained = case.fit()
    again = make(folders, "fno", settings={"training.steps": 2}).fit(only_stored=True)
    assert all((value == again.state()[name]).all() for name, value in trained.state().items())


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("krigin", "cont_3", "navier_stokes"), "unknown method 'krigin'"),
        (("kriging", "cont_4", "navier_stokes"), "unknown task 'cont_4'"),
        (("kriging", "cont_3", "kolmogorow"), "unknown dataset 'kolmogorow'"),
        (("persistence", "cont_3", "navier_stokes"), "every frame is observed"),
    ],
)
def test_a_cell_that_cannot_be_is_refused(names, message):
    with pytest.raises(UserError, match=message):
        benchmark.case(*names, profile="smoke")


def test_a_setting_that_nothing_has_is_refused():
    with pytest.raises(UserError, match="unknown setting 'widht'"):
        benchmark.case("fno", "cont_3", profile="smoke", settings={"widht": 3})


def test_data_opens_without_a_method(folders):
    data = benchmark.open_data("wave_layer", "train", profile="smoke", data=folders["data"])
    assert len(data) == 16 and data[:3].u.shape == (3, 4, 16, 16, 1)
