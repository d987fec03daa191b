import math

import pytest

from benchmark.leaderboard import read_leaderboard
from benchmark.leaderboard.text import overview_notes
from tests.benchmark.leaderboard.synthetic import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def summaries(store):
    return {one.method: one for one in read_leaderboard(store.results, store.profile).overview.summaries}


def rankings(store):
    return {method: one.ranking for method, one in summaries(store).items()}


def test_with_all_cells_it_is_the_mean_rank(store):
    errors = {"cont_1": (2.0, 4.0, 8.0), "cont_3": (3.0, 1.0, 3.0)}
    for task, values in errors.items():
        for method, value in zip(("videopde", "fno", "shu"), values, strict=True):
            store.done(method, [value], task=task)
    found = rankings(store)
    # cont_1: ranks 1 2 3; cont_3: 2.5 1 2.5
    assert [found[m].rank for m in ("videopde", "fno", "shu")] == [1.75, 1.5, 2.75]
    ratios = [math.sqrt(1 * 3), math.sqrt(2 * 1), math.sqrt(4 * 3)]
    assert [found[m].ratio for m in ("videopde", "fno", "shu")] == pytest.approx(ratios)
    assert {(one.cells, one.met, one.competitors, one.exact) for one in found.values()} == {(2, 2, 2, 0)}


def test_a_method_with_few_cells_changes_nobody_elses(store):
    for task in ("cont_1", "cont_3", "fwd_full"):
        store.done("videopde", [1.0], task=task)
        store.done("fno", [2.0], task=task)
    before = rankings(store)
    store.done("shu", [3.0], task="cont_1")
    after = rankings(store)
    assert [before[m].rank for m in ("videopde", "fno")] == [after[m].rank for m in ("videopde", "fno")] == [1.0, 2.0]
    assert [before[m].ratio for m in ("videopde", "fno")] == [after[m].ratio for m in ("videopde", "fno")]
    assert (after["shu"].rank, after["shu"].cells, after["shu"].met) == (3.0, 1, 2)


def test_shares_are_taken_competitor_by_competitor_and_scaled_to_all(store):
    """fno beats videopde in 1 of 2 cells and loses its only one to shu; it never meets eci: 1 + 3/2 (1/2 + 1)."""
    cells = {
        "cont_1": {"videopde": 1.0, "fno": 2.0},
        "cont_3": {"videopde": 3.0, "fno": 2.0},
        "fwd_full": {"shu": 1.0, "fno": 2.0},
        "inv_full": {"eci": 1.0, "shu": 2.0},
    }
    for task, errors in cells.items():
        for method, error in errors.items():
            store.done(method, [error], task=task)
    found = rankings(store)["fno"]
    assert (found.rank, found.cells, found.met, found.competitors) == (3.25, 3, 2, 3)
    assert found.ratio == pytest.approx((2 * 1 * 2) ** (1 / 3))


def test_who_meets_nobody_has_no_rank(store):
    store.done("fno", [1.0], task="cont_1")
    store.done("shu", [1.0], task="cont_3")
    store.done("eci", [2.0], task="cont_3")
    store.done("shu", [9.0], task="fwd_full")  # alone: neither a rank nor a ratio of 1
    found = rankings(store)
    assert found["fno"] is None and (found["shu"].cells, found["shu"].rank, found["shu"].ratio) == (1, 1.0, 1.0)


def test_a_score_that_is_not_ranked_does_not_count(store):
    for method in ("videopde", "fno"):
        store.done(method, [1.0], task="cont_1")
        store.done(method, [1.0], task="cont_3")
    store.done("shu", [2.0], task="cont_1")
    store.done("shu", [2.0], task="cont_3", mask_hash="other")
    found = rankings(store)
    assert found["shu"].cells == 1 and found["shu"].rank == 3.0
    assert found["fno"].rank == 1.5  # a tie


def test_references_are_not_ranked_and_nobodys_competitors(store):
    for method, value in (("mean", 9.0), ("kriging", 0.5), ("fno", 1.0), ("shu", 2.0)):
        store.done(method, [value])
    found = rankings(store)
    assert [found[m] and (found[m].rank, found[m].ratio) for m in ("mean", "kriging", "fno")] == [None, None, (1, 1)]


def test_states_seeds_and_costs(store):
    for seed in (0, 1, 2):
        store.done("fno", [1.0], task="cont_1", seed=seed)
    store.done("fno", [1.0], task="cont_3")
    store.empty("fno", "oom", "too big", task="fwd_full")
    store.empty("fno", "unsupported", "no", task="inv_full")
    store.done("shu", [1.0], task="fwd_partial")
    found = summaries(store)
    assert found["fno"].states == {"done": 2, "failed": 1, "unsupported": 1, "missing": 1}
    assert found["fno"].seeds == (1, 3)
    assert found["fno"].costs["fit_seconds"].median == 2.0


def test_a_ratio_to_rounding_is_left_out_and_counted(store):
    store.done("fno", [0.0], task="cont_1")
    store.done("shu", [1.0], task="cont_1")
    store.done("fno", [1.0], task="cont_3")
    store.done("shu", [4.0], task="cont_3")
    found = rankings(store)
    assert found["shu"].ratio == pytest.approx(4.0) and found["shu"].exact == 1 and found["shu"].rank == 2.0
    notes = overview_notes(read_leaderboard(store.results, store.profile).overview)
    assert notes[-2] == "Cells left out of the ratio as the lowest error there is negligible: fno 1, shu 1."


def test_errors_below_rounding_are_a_tie(store):
    store.done("fno", [0.0])
    store.done("shu", [1e-7])
    found = rankings(store)
    assert [found[m].rank for m in ("fno", "shu")] == [1.5, 1.5] and found["fno"].ratio is None
