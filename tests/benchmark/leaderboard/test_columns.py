import pytest

from benchmark.leaderboard import read_leaderboard, render
from benchmark.scoring.stats import bootstrap_interval, total_interval
from tests.benchmark.leaderboard.synthetic import PROVENANCE, Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


def column(store):
    (found,) = read_leaderboard(store.results, store.profile).columns
    return found


OTHER_TRAINING = PROVENANCE["data"] | {"train": {"fingerprint": "other", "source": "generated"}}


def test_one_seed_keeps_the_interval_of_its_record(store):
    store.done("fno", [2.0, 4.0])
    entry = column(store).entries["fno"]
    assert (entry.mean, entry.low, entry.high, entry.seeds) == (3.0, pytest.approx(2.7), pytest.approx(3.3), (0,))


def test_seeds_are_pooled(store):
    store.done("fno", [2.0, 4.0, 6.0], seed=0)
    store.done("fno", [4.0, 8.0, 6.0], seed=1)
    entry = column(store).entries["fno"]
    assert entry.mean == 5.0
    assert entry.by_seed == ((2.0, 4.0, 6.0), (4.0, 8.0, 6.0))
    assert (entry.low, entry.high) == bootstrap_interval([3.0, 6.0, 6.0])  # over test trajectories
    assert entry.seed_sd == pytest.approx(2**0.5)  # of the means 4 and 6
    assert (entry.total_low, entry.total_high) == total_interval([[2.0, 4.0, 6.0], [4.0, 8.0, 6.0]])
    assert entry.seeds == (0, 1) and entry.notes == ()


def test_one_seed_shows_no_spread(store):
    store.done("fno", [2.0, 4.0])
    entry = column(store).entries["fno"]
    assert (entry.seed_sd, entry.total_low, entry.total_high) == (None, None, None)


def test_seeds_that_scatter_more_than_methods_differ_are_not_told_apart(store):
    for seed, factor in enumerate((0.8, 1.0, 1.2)):
        store.done("videopde", [factor * (2 + i) for i in range(32)], seed=seed)
        store.done("fno", [1.05 * factor * (2 + i) for i in range(32)], seed=seed)
    assert column(store).alike == {"fno"}


def test_clips_of_few_runs_do_not_tell_methods_apart(store):
    for method, error in (("videopde", 2.0), ("fno", 3.0)):
        store.done(method, [error + 0.01 * i for i in range(32)], task="cont_1")
        store.done(method, [error + 0.01 * i for i in range(32)], task="cont_3", groups=[i // 8 for i in range(32)])
    board = read_leaderboard(store.results, store.profile)
    assert {c.task: (c.alike, c.too_few) for c in board.columns} == {
        "cont_1": (frozenset(), False),
        "cont_3": (frozenset(), True),  # four runs: p = 2 / 16 at best
    }
    text = render(board, "md")
    assert "Too few test trajectories to tell learned methods apart: navier_stokes cont_3." in text


def test_negligible_errors_are_alike(store):
    store.done("fno", [0.0] * 8)
    store.done("shu", [9e-3] * 8)
    store.done("eci", [1.1e-2] * 8)
    found = column(store)
    assert found.best == {"fno", "shu"}
    assert "**<0.01** [<0.01, <0.01] |" in render(read_leaderboard(store.results, store.profile), "md")


@pytest.mark.parametrize(
    "misfit, converged, failed", [([0.5, 0.9], [1, 1], 0), ([0.5, 1.1], [1, 1], 1), ([7, 7], [0, 1], 2)]
)
def test_a_fit_at_test_time_that_misses_its_readings_is_said(store, misfit, converged, failed):
    store.done("solver", [1.0, 1.0], diagnostics={"misfit": misfit, "converged": converged})
    note = f"{failed} of 2 fits at test time did not converge, or not to the readings"
    assert column(store).entries["solver"].notes == ((note,) if failed else ())


def test_a_misfit_alone_says_nothing_of_convergence(store):
    store.done("solver", [1.0, 1.0], diagnostics={"misfit": [0.5, 7]})
    assert column(store).entries["solver"].notes == ()


def test_the_mean_of_samples_is_shown_and_ranked_on_request(store):
    store.done("fno", [3.0, 3.0])
    store.done("shu", [4.0, 4.0], mean_of_samples=[2.0, 2.0], scorer_version=2)
    store.done("fno", [3.0, 3.0], scorer_version=2)
    shown = {s: read_leaderboard(store.results, store.profile, s).columns[0] for s in ("one", "mean")}
    assert [shown[s].entries["shu"].mean for s in ("one", "mean")] == [4.0, 2.0]
    assert [shown[s].best for s in ("one", "mean")] == [{"fno"}, {"shu"}]


def test_the_first_scorer_had_another_mean(store):
    """There rel_l2_mean was the average over samples of their errors."""
    store.done("shu", [4.0], mean_of_samples=[2.0], scorer_version=1)
    (found,) = read_leaderboard(store.results, store.profile, "mean").columns
    assert found.entries["shu"].mean == 4.0


def test_a_failed_seed_is_named_beside_the_number(store):
    store.done("fno", [2.0], seed=0)
    store.empty("fno", "timeout", "over 60 s", seed=1)
    entry = column(store).entries["fno"]
    assert entry.state == "done" and entry.mean == 2.0 and entry.seeds == (0,)
    assert entry.notes == ("seed 1 timeout: over 60 s",)


def test_states_of_empty_cells(store):
    store.done("videopde", [1.0])
    for method, state in (("fno", "failed"), ("pino", "timeout"), ("shu", "oom"), ("eci", "unsupported")):
        store.empty(method, state, f"why {method}")
    store.done("zhuang", [1.0], task="cont_3")
    first = read_leaderboard(store.results, store.profile).columns[0]
    states = {method: (entry.state, entry.notes[0]) for method, entry in first.entries.items() if entry.notes}
    assert states == {
        "fno": ("failed", "failed: why fno"),
        "pino": ("timeout", "timeout: why pino"),
        "shu": ("oom", "oom: why shu"),
        "eci": ("unsupported", "unsupported: why eci"),
        "zhuang": ("missing", "missing: no record"),
    }


def test_best_and_second_are_learned_and_the_reference_stands_apart(store):
    for method, error in (("mean", 9.0), ("kriging", 1.0), ("videopde", 2.0), ("fno", 3.0), ("shu", 4.0)):
        store.done(method, [error + 0.01 * i for i in range(8)])
    found = column(store)
    assert (found.best, found.second, found.best_reference) == ({"videopde"}, {"fno"}, {"kriging"})


def test_a_beaten_reference_is_not_pointed_out(store):
    store.done("kriging", [3.0])
    store.done("fno", [2.0])
    assert column(store).best_reference == frozenset()


def test_equal_errors_share_the_first_place(store):
    for method, error in (("videopde", 2.0), ("fno", 2.0), ("shu", 4.0)):
        store.done(method, [error, error])
    assert (column(store).best, column(store).second) == ({"videopde", "fno"}, {"shu"})


def test_not_distinguishable_from_the_best(store):
    wiggle = [0.1 * (-1) ** i * (1 + i % 3) for i in range(16)]
    store.done("videopde", [2.0 + 0.01 * i for i in range(16)])
    store.done("fno", [2.01 + 0.01 * i + w for i, w in enumerate(wiggle)])
    store.done("shu", [4.0 + 0.01 * i + w for i, w in enumerate(wiggle)])
    assert column(store).alike == {"fno"}


@pytest.mark.parametrize(
    ("odd", "note"),
    [
        ({"mask_hash": "other"}, "not ranked: other masks"),
        ({"scorer_version": 2}, "not ranked: scorer version 2 instead of 1"),
        ({"noise": 0.1}, "not ranked: other task settings"),
        ({"data_fingerprint": "other"}, "not ranked: other test data"),
        ({"data": OTHER_TRAINING}, "not ranked: other training data"),
        ({"frames": [3]}, "not ranked: only frames 3 are predicted and scored"),
    ],
)
def test_a_score_on_another_basis_is_marked_and_not_ranked(store, odd, note):
    store.done("videopde", [3.0, 3.0])
    store.done("fno", [2.0, 2.0])
    store.done("eci", [1.0, 1.0], **odd)
    found = column(store)
    assert found.best == {"fno"}
    assert found.entries["eci"].notes == (note,) and found.entries["eci"].mean == 1.0


def test_another_number_of_trajectories_is_not_ranked(store):
    store.done("videopde", [3.0, 3.0])
    store.done("fno", [2.0, 2.0])
    store.done("eci", [1.0], mask_hash="of one mask, not two")
    assert column(store).entries["eci"].notes == ("not ranked: 1 test trajectories instead of 2",)


def test_what_a_method_remarks_stands_beside_its_score(store):
    store.done("fno", [2.0, 2.0], remark="an addition")
    store.done("fno", [2.2, 2.2], seed=1, remark="an addition")
    store.done("shu", [3.0, 3.0])
    entries = column(store).entries
    assert entries["fno"].notes == ("an addition",) and entries["fno"].ranked
    assert entries["shu"].notes == ()


def test_a_method_without_training_agrees_with_any_training(store):
    untrained = {"test": PROVENANCE["data"]["test"]}
    for method in ("mean", "nearest", "solver"):
        store.done(method, [3.0], data=untrained)
    store.done("fno", [2.0])
    assert all(entry.ranked for entry in column(store).entries.values())


def test_whole_videos_go_before_a_majority_of_partial_ones(store):
    store.done("videopde", [3.0])
    for method in ("fno", "pino"):
        store.done(method, [1.0], frames=[7])
    assert column(store).best == {"videopde"}


def test_partial_videos_compete_where_there_is_nothing_else(store):
    store.done("fno", [1.0], frames=[6, 7])
    store.done("pino", [2.0], frames=[6, 7])
    found = column(store)
    assert found.best == {"fno"}
    assert found.entries["pino"].notes == ("only frames 6 7 are predicted and scored",)


def test_a_seed_on_another_basis_is_left_out(store):
    store.done("videopde", [3.0])
    store.done("fno", [2.0], seed=0)
    store.done("fno", [8.0], seed=1, mask_hash="other")
    entry = column(store).entries["fno"]
    assert entry.mean == 2.0 and entry.ranked
    assert entry.notes == ("seed 1 left out: other masks",)
