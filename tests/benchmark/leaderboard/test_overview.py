import math

import pytest

from benchmark.leaderboard import read_leaderboard
from benchmark.leaderboard.text import shared_cells
from tests.benchmark.leaderboard.synthetic import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def summaries(store):
    overview = read_leaderboard(store.results, store.profile).overview
    return overview, {one.method: one for one in overview.summaries}


def test_ranks_and_ratios_use_only_cells_that_all_have(store):
    errors = {"cont_1": (2.0, 4.0, 8.0), "cont_3": (3.0, 1.0, 3.0)}
    for task, values in errors.items():
        for method, value in zip(("videopde", "fno", "shu"), values, strict=True):
            store.done(method, [value], task=task)
    store.done("fno", [1.0], task="fwd_full")  # the others have none: must not count
    overview, found = summaries(store)
    assert overview.shared["learned methods"] == (3, 2)
    # cont_1: ranks 1 2 3; cont_3: 2.5 1 2.5
    assert [found[m].mean_rank for m in ("videopde", "fno", "shu")] == [1.75, 1.5, 2.75]
    ratios = [math.sqrt(1 * 3), math.sqrt(2 * 1), math.sqrt(4 * 3)]
    assert [found[m].ratio for m in ("videopde", "fno", "shu")] == pytest.approx(ratios)


def test_no_shared_cell_is_said(store):
    store.done("fno", [1.0], task="cont_1")
    store.done("shu", [1.0], task="cont_3")
    overview, found = summaries(store)
    assert found["fno"].mean_rank is None and found["fno"].ratio is None
    assert shared_cells(overview) == ["Mean rank and ratio: the 2 learned methods share no cell, so there is none."]


def test_a_score_that_is_not_ranked_does_not_count_as_a_shared_cell(store):
    for method in ("videopde", "fno"):
        store.done(method, [1.0], task="cont_1")
        store.done(method, [1.0], task="cont_3")
    store.done("shu", [1.0], task="cont_1")
    store.done("shu", [1.0], task="cont_3", mask_hash="other")
    assert summaries(store)[0].shared["learned methods"] == (3, 1)


def test_references_are_ranked_among_themselves(store):
    for method, value in (("mean", 9.0), ("kriging", 3.0), ("fno", 1.0)):
        store.done(method, [value])
    _, found = summaries(store)
    assert [found[m].mean_rank for m in ("mean", "kriging", "fno")] == [2.0, 1.0, 1.0]
    assert found["mean"].ratio == pytest.approx(3.0)


def test_states_seeds_and_costs(store):
    for seed in (0, 1, 2):
        store.done("fno", [1.0], task="cont_1", seed=seed)
    store.done("fno", [1.0], task="cont_3")
    store.empty("fno", "oom", "too big", task="fwd_full")
    store.empty("fno", "unsupported", "no", task="inv_full")
    store.done("shu", [1.0], task="fwd_partial")
    _, found = summaries(store)
    assert found["fno"].states == {"done": 2, "failed": 1, "unsupported": 1, "missing": 1}
    assert found["fno"].seeds == (1, 3)
    assert found["fno"].costs["fit_seconds"].median == 2.0


def test_a_zero_error_has_a_finite_ratio(store):
    store.done("fno", [0.0])
    store.done("shu", [1.0])
    assert math.isfinite(summaries(store)[1]["shu"].ratio)
