"""Records as pandas tables."""

import pytest

import benchmark
from benchmark.errors import UserError
from tests.benchmark.leaderboard.synthetic import Store


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path, "smoke")
    store.done("fno", [1.0, 3.0])
    store.done("my_method", [2.0, 2.0], seed=1)
    store.empty("shu", "failed", "no")
    return store


def test_a_row_for_each_record_and_metric(store):
    table = benchmark.load_records(store.results, "smoke")
    errors = table[table.metric == "rel_l2"].set_index("method")
    assert errors.loc["fno", "mean"] == 2.0 and errors.loc["my_method", "seed"] == 1
    assert errors.loc["fno", "fit_seconds"] == 2.0 and table.dtypes["mean"].kind == "f"
    assert table[table.method == "shu"].state.tolist() == ["failed"]


def test_a_row_for_each_trajectory(store):
    values = benchmark.load_values(store.results, "smoke")
    assert values.groupby("method").value.mean().to_dict() == {"fno": 2.0, "my_method": 2.0}
    assert values.trajectory.tolist() == [0, 1, 0, 1]
    assert benchmark.load_values(store.results, "smoke", "vrmse").value.max() == pytest.approx(0.03)


def test_no_records_is_said(tmp_path):
    with pytest.raises(UserError, match="no records there; run some cells first"):
        benchmark.load_records(tmp_path, "smoke")
    with pytest.raises(UserError, match="no records there; run some cells first"):
        benchmark.load_values(tmp_path, "smoke")


def test_a_metric_that_no_record_has_is_said(store):
    with pytest.raises(UserError, match="no record there has the metric 'rel_l3' .did you mean rel_l2"):
        benchmark.load_values(store.results, "smoke", "rel_l3")


def test_names_are_handed_out_and_others_refused():
    assert set(benchmark.__all__) <= set(dir(benchmark))
    assert all(getattr(benchmark, name) for name in benchmark.__all__ if name != "plot")
    with pytest.raises(AttributeError, match="no attribute 'cases'"):
        _ = benchmark.cases
